//! `proxy login SERVER`: from the first request to the saved authorization.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::callback::{CallbackPort, ResultPage, Verdict};
use super::probe::{self, Demand};
use super::redirect::Redirect;
use super::wait::{self, LogInAnswer};
use super::{LoginArgs, audit, failure, say, source};
use crate::cli::age::age;
use crate::cli::commands::browser::Browser;
use crate::cli::failure::CommandFailure;
use crate::cli::{output, setup, spinner};
use proxy_base::control::instances;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{AuthConfig, ServerConfig, duration, is_scope};
use proxy_identity::bearer::no_such_user;
use proxy_identity::oauth::{Challenge, LogInError, LogInReport, LogInRequest, LogInState, LogIns, PendingLogIn};
use proxy_model::Who;
use proxy_model::operator_api::AccountChangeKind;

/// The maximum duration of a login.
const MAX_WAIT: Duration = Duration::from_secs(10 * 60);

/// One login, from the arguments and the config.
struct Attempt<'a> {
    name: &'a str,
    server: &'a ServerConfig,
    /// Whose account it will be; `None` for everybody's.
    who: Option<Who>,
    log_ins: Arc<LogIns>,
    scopes: &'a [String],
    port: Option<u16>,
    opens_browser: bool,
    timeout: Duration,
}

pub(super) fn run(args: &LoginArgs, name: &str) -> Result<(), CommandFailure> {
    let timeout = duration(&args.timeout)
        .filter(|time| !time.is_zero())
        .ok_or_else(|| CommandFailure::usage(format!("invalid duration `{}`: write it as 90s or 5m", args.timeout)))?;
    if timeout > MAX_WAIT {
        return Err(CommandFailure::usage("`--timeout` is at most 10m: the address is not valid for longer"));
    }
    if let Some(scope) = args.scopes.iter().find(|scope| !is_scope(scope)) {
        let problem =
            format!("`--scope`: `{scope}` is not a valid scope: scopes contain no spaces, quotes or backslashes");
        return Err(CommandFailure::usage_with_hint(problem, "repeat `--scope` for each scope"));
    }
    let loaded = args.source.load()?;
    let server = source::find(&loaded, name)?;
    source::by_a_person(name, server)?;
    let runtime = setup::runtime()?;
    let _entered = runtime.enter();
    if let (Some(_), Some(sub)) = (server.personal(), &args.as_user)
        && let Some(unknown) = no_such_user(&loaded.config.auth, sub)
    {
        return Err(CommandFailure::usage_with_hint(unknown.problem, &unknown.hint));
    }
    let attempt = Attempt {
        name,
        server,
        who: source::account(&loaded.config, name, server, args.as_user.as_deref())?,
        log_ins: super::log_ins(&loaded.config),
        scopes: &args.scopes,
        port: args.port,
        opens_browser: !args.no_browser,
        timeout,
    };
    let is_logged_in = runtime.block_on(async {
        let outcome = tokio::select! {
            outcome = attempt.run() => outcome,
            _ = tokio::signal::ctrl_c() => {
                Err(CommandFailure::failed(Diagnostic::error("the login was cancelled: no authorization was saved")))
            }
        };
        attempt.log_ins.drain().await;
        outcome
    })?;
    if let (true, Some(who)) = (is_logged_in, &attempt.who) {
        audit::note(&loaded.config, &[audit::change(name, who, AccountChangeKind::Connected)]);
    }
    Ok(())
}

impl Attempt<'_> {
    /// Whether there is a log-in now; false if the server needs none.
    async fn run(&self) -> Result<bool, CommandFailure> {
        let port = self.bind().await?;
        let label = format!("connecting to {}", self.name);
        let asked = spinner::with(&label, probe::ask(&self.log_ins, self.name, self.server)).await?;
        let challenge = match asked {
            Demand::LogIn(challenge) => Some(challenge),
            Demand::Nothing if !self.is_wanted().await? => {
                self.not_needed();
                return Ok(false);
            }
            Demand::Nothing => None,
            Demand::Unknown(reason) => {
                let problem = format!("server `{}` is not available: {reason}", self.name);
                return Err(CommandFailure::failed(Diagnostic::error(problem)));
            }
        };
        let lets_everybody_in = challenge.is_none();
        let pending = match self.begin(challenge, port.redirect_uri()).await {
            // The server required no authorization, and has no authorization metadata either.
            Err(LogInError::Metadata(_)) if lets_everybody_in && self.scopes.is_empty() => {
                self.not_needed();
                return Ok(false);
            }
            pending => pending.map_err(|error| failure(&error))?,
        };
        let report = self.wait_for(pending, port).await?;
        super::outdate_lists(self.name, self.server);
        self.show(&report);
        Ok(true)
    }

    /// The requested port, or the registered one, or any.
    async fn bind(&self) -> Result<CallbackPort, CommandFailure> {
        let configured = match &self.server.auth {
            Some(AuthConfig::OAuth(auth)) => Some(auth.redirect_port).filter(|port| *port != 0),
            _ => None,
        };
        if let Some(port) = self.port.or(configured) {
            return CallbackPort::bind(port).await.map_err(|error| {
                let problem = Diagnostic::error(format!("cannot listen on 127.0.0.1:{port}: {error}"));
                let hint = match self.port {
                    Some(_) => "another program may use it: choose another `--port`",
                    None => "another program may use it: choose another `auth.redirectPort`, or `--port`",
                };
                CommandFailure::failed(problem.hint(hint))
            });
        }
        let registered = self.log_ins.registered_port(self.name, self.server, self.who.as_ref()).await;
        let registered = registered.map_err(|error| failure(&error))?;
        // Some authorization servers compare the port. If it is taken, the client is registered once more.
        if let Some(port) = registered
            && let Ok(bound) = CallbackPort::bind(port).await
        {
            return Ok(bound);
        }
        Ok(CallbackPort::bind(0).await?)
    }

    /// Whether the user wants to log in although the server has not asked for it: because of the arguments, the config, or a
    /// refused call.
    async fn is_wanted(&self) -> Result<bool, CommandFailure> {
        if !self.scopes.is_empty() || self.server.auth.is_some() {
            return Ok(true);
        }
        let known = self.log_ins.describe(self.name, self.server).await.map_err(|error| failure(&error))?;
        Ok(known.state == LogInState::LogInNeeded || !known.wanted_scopes.is_empty())
    }

    fn not_needed(&self) {
        output::out(&format!("server `{}` requires no authorization", self.name));
    }

    async fn begin(&self, challenge: Option<Challenge>, redirect_uri: String) -> Result<PendingLogIn, LogInError> {
        // The same client is used on the page on which people log in.
        let page = self.server.personal().and_then(|accounts| accounts.page_redirect(self.name));
        let more_redirect_uris = page.into_iter().collect();
        let request = LogInRequest { challenge, redirect_uri, more_redirect_uris, scopes: self.scopes.to_vec() };
        let label = format!("asking {} for its authorization server", self.name);
        spinner::with(&label, self.log_ins.begin(self.name, self.server, self.who.as_ref(), request)).await
    }

    /// Sends the user to the authorization server, and waits for the answer.
    async fn wait_for(&self, mut pending: PendingLogIn, port: CallbackPort) -> Result<LogInReport, CommandFailure> {
        let url = pending.authorization_url().to_owned();
        let Some(redirect) = Redirect::of(pending.redirect_uri(), &url) else {
            return Err(CommandFailure::failed(Diagnostic::error("the authorization request has no `state`")));
        };
        let mut callbacks = port.listen(redirect.clone());
        say(&format!("to log in to `{}`, open this address in a browser:", self.name));
        // Whole and on a line of its own, so that it can be copied.
        output::err(&output::one_line(&url));
        say("waiting for the browser; if it runs on another machine, paste the address that it was redirected to");
        let browser = self.opens_browser.then(|| Browser::open(&url));
        let answer = wait::answer(&redirect, &mut callbacks, browser, self.timeout).await?;
        let finished = spinner::with("fetching the tokens", pending.finish(answer.url())).await;
        if let LogInAnswer::Browser(callback) = answer {
            callback.answer(self.page(&finished)).await;
        }
        finished.map_err(|error| failure(&error))
    }

    fn page(&self, finished: &Result<LogInReport, LogInError>) -> ResultPage {
        match finished {
            Ok(_) => {
                let text = format!("The proxy can now use the server {}.", self.name);
                ResultPage { verdict: Verdict::LoggedIn, text }
            }
            Err(error) => ResultPage { verdict: Verdict::Failed, text: error.to_string() },
        }
    }

    fn show(&self, report: &LogInReport) {
        let scopes = if report.scopes.is_empty() { "not specified".to_owned() } else { report.scopes.join(", ") };
        let person = self.who.as_ref().map(|who| format!(" for {}", who.sub)).unwrap_or_default();
        let mut lines = vec![
            format!("logged in to `{}`{person}", self.name),
            format!("  issuer: {}", report.issuer),
            format!("  scopes: {scopes}"),
        ];
        if !report.denied_scopes.is_empty() {
            lines.push(format!("  not granted: {}", report.denied_scopes.join(", ")));
        }
        lines.push(format!("  expires: {}", expiry(report.expires_at, report.refreshable)));
        for line in lines {
            output::out(&output::one_line(&line));
        }
        let running = instances(&setup::control_folder()).unwrap_or_default();
        if !running.is_empty() {
            say("a running `proxy serve` with this config picks up the authorization by itself");
        }
    }
}

/// When an authorization expires, and whether it is renewed before that.
fn expiry(at: Option<SystemTime>, refreshable: bool) -> String {
    let left = at.map(|at| at.duration_since(SystemTime::now()).unwrap_or_default().as_secs());
    match (left, refreshable) {
        (Some(seconds), true) => format!("in {}, renewed before that", age(seconds)),
        (Some(seconds), false) => format!("in {}; then somebody must log in again", age(seconds)),
        (None, true) => "unknown; renewed when needed".to_owned(),
        (None, false) => "unknown".to_owned(),
    }
}
