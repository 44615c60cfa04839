//! `proxy serve`: serves the configured servers on stdio or HTTP.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::admin::ControlApi;
use crate::author::check::unpublished;
use crate::author::published::PublishedFile;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, LoadedConfig, SourceArgs};
use crate::cli::{logging, server_log, table};
use crate::config::Config;
use crate::control::ControlSocket;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Endpoint, Gateway, GatewayOptions, Reread};
use crate::model::{BackendKind, BackendView, ItemKind, Principal, Status};
use crate::process::descriptors;
use crate::server::{HttpFront, Identity, Server, serve_stdio};
use crate::wire::http::Listener;
use crate::wire::standard_streams;

/// How long requests in progress may take to finish at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// What a person reads who runs `proxy serve` to see what happens.
const WAITING: &str = "waiting for an MCP client on standard input: add `proxy serve` to the config of your client,\n\
                       or use `proxy serve --http` to listen on a port. Ctrl-C ends the proxy.";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Serve on HTTP instead of stdio [default address: `serve.http` of the config]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    http: Option<Option<String>>,
    /// Allow unauthenticated access from other machines
    #[arg(long, requires = "http")]
    insecure: bool,
}

pub(super) fn run(args: ServeArgs) -> Result<(), CommandFailure> {
    let loaded = args.source.load()?;
    logging::apply_server_levels(&loaded.config);
    let options = GatewayOptions { sole_client: args.http.is_none(), ..setup::options(loaded.bundled)? };
    let runtime = setup::runtime()?;
    let outcome = runtime.block_on(serve(args, loaded, options));
    // A thread may still block in a read of standard input; do not wait for it.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: ServeArgs, loaded: LoadedConfig, options: GatewayOptions) -> Result<(), CommandFailure> {
    let started = Instant::now();
    let config = loaded.config;
    let listener = match &args.http {
        Some(address) => Some(bind(&config, address.as_deref(), args.insecure).await?),
        None => None,
    };
    if loaded.bundled {
        logging::status(
            "no config file found: serving the built-in extensions. `proxy init` writes a proxy.yaml for your own \
             servers,\n`proxy init --from FILE` imports the config of your client.",
        );
    }
    descriptors::raise_limit();
    let gateway = Arc::new(Gateway::start(&config, &options).map_err(CommandFailure::config)?);
    let has_terminal = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    if let Some(Err(problem)) = config.audit.as_ref().map(|audit| gateway.start_audit(audit, !has_terminal)) {
        gateway.stop().await;
        return Err(CommandFailure::failed(problem));
    }
    let source = args.source;
    let reread: Reread = Arc::new(move || {
        let loaded = source.load().map_err(|failure| failure.into_parts().1)?;
        logging::apply_server_levels(&loaded.config);
        Ok(loaded.config)
    });
    tokio::spawn(Arc::clone(&gateway).follow_files(config.clone(), reread));
    let record = PublishedFile::of(&config, options.cache_folder.as_deref());
    if let Some(record) = record.clone() {
        tokio::spawn(record.follow(gateway.watch()));
    }
    let key_error =
        |error: getrandom::Error| CommandFailure::failed(Diagnostic::error(format!("cannot generate keys: {error}")));
    let server = Server::new(Arc::clone(&gateway), &config.serve.state_keys).map_err(key_error)?;
    gateway.set_endpoint(endpoint(&config, listener.as_ref())?);
    let _control = control(&gateway, &server, &config, Identity::local_user(&options.variables));
    let stdio = listener.is_none();
    let front = async {
        match listener {
            Some(listener) => serve_http(&config, server, listener).await,
            None => {
                if std::io::stdin().is_terminal() {
                    logging::status(WAITING);
                }
                let (input, output) = standard_streams();
                let principal = Identity::local_user(&options.variables);
                let cap = usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX);
                serve_stdio(server, principal, input, output, cap).await;
                first_run(&gateway).await
            }
        }
    };
    let outcome = tokio::select! {
        outcome = front => outcome,
        failure = fatal_error(&gateway, started) => Err(failure),
        outcome = stdio_shutdown(stdio) => outcome,
    };
    // The last surface may be newer than the saved one.
    if let (Some(record), Some(surface)) = (record, gateway.watch().borrow().surface.clone()) {
        record.save(&surface);
    }
    gateway.stop().await;
    outcome
}

/// Where clients reach the proxy.
fn endpoint(config: &Config, listener: Option<&Listener>) -> Result<Endpoint, CommandFailure> {
    Ok(match listener {
        Some(listener) => Endpoint {
            transport: "http",
            address: Some(format!("http://{}{}", listener.address()?, config.serve.path)),
        },
        None => Endpoint { transport: "stdio", address: None },
    })
}

/// Opens the control socket. The proxy works without it.
fn control(gateway: &Arc<Gateway>, server: &Server, config: &Config, local: Principal) -> Option<ControlSocket> {
    let folder = setup::control_folder();
    match ControlSocket::listen(&folder) {
        Ok((socket, listener)) => {
            let asked = Arc::clone(gateway);
            let logs = Arc::new(move |name: &str| server_log::of_server(name, &asked.snapshot().backends));
            let api = ControlApi::new(gateway, server, local, logs, folder);
            tokio::spawn(api.serve(listener, usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX)));
            Some(socket)
        }
        Err(error) => {
            tracing::warn!(%error, "cannot open the control socket: other commands will not see this instance");
            None
        }
    }
}

/// Reports an error of the first script run, even if the client disconnected before it could see the error.
async fn first_run(gateway: &Gateway) -> Result<(), CommandFailure> {
    match tokio::time::timeout(DRAIN_TIMEOUT, gateway.shared()).await {
        Ok(Err(error)) => Err(CommandFailure::from(error.as_ref())),
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// Completes only with a fatal error: the script cannot run, or a required server is not available.
async fn fatal_error(gateway: &Gateway, started: Instant) -> CommandFailure {
    let first = async {
        match gateway.shared().await {
            Ok(_) => {
                gateway.first_lists().await;
                print_summary(gateway);
                gateway.servers_settled().await;
                print_servers(gateway, started);
                std::future::pending().await
            }
            Err(error) => CommandFailure::from(error.as_ref()),
        }
    };
    let required = async {
        match gateway.required_servers().await {
            Ok(()) => std::future::pending().await,
            Err(diagnostic) => CommandFailure::failed(diagnostic),
        }
    };
    tokio::select! {
        failure = first => failure,
        failure = required => failure,
    }
}

/// Prints a summary of what is served.
fn print_summary(gateway: &Gateway) {
    let snapshot = gateway.snapshot();
    let surface = gateway.watch().borrow().surface.clone();
    let tools = surface.as_ref().map_or(0, |surface| surface.listed(ItemKind::Tool));
    let up = snapshot.backends.iter().filter(|backend| backend.status == Status::Ready).count();
    let all = snapshot.backends.len();
    let servers = if up == all {
        table::count(all, "server")
    } else {
        format!("{} ({up} up so far)", table::count(all, "server"))
    };
    logging::status(&format!("ready: {} of {servers}", table::count(tools, "tool")));
    if let Some(surface) = surface {
        logging::problems(&unpublished(&surface, &snapshot));
    }
}

/// Prints how the start of the servers ended.
fn print_servers(gateway: &Gateway, started: Instant) {
    let snapshot = gateway.snapshot();
    let servers = || snapshot.backends.iter().filter(|backend| backend.kind != BackendKind::Extension);
    let (waiting, failed): (Vec<_>, Vec<_>) =
        servers().filter(|server| server.status != Status::Ready).partition(|server| server.status == Status::Login);
    let names = |servers: &[&Arc<BackendView>]| servers.iter().map(|server| server.name.to_string()).collect();
    let missing = MissingServers { failed: names(&failed), waiting: names(&waiting) };
    if let Some(line) = servers_line(servers().count(), &missing, started.elapsed()) {
        logging::status(&line);
    }
}

/// The servers that are not up, by name.
#[derive(Default)]
struct MissingServers {
    failed: Vec<String>,
    /// Those that wait for a log-in.
    waiting: Vec<String>,
}

impl MissingServers {
    fn describe(&self) -> String {
        let names = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if !self.failed.is_empty() {
            parts.push(format!("{} failed", names(&self.failed)));
        }
        if !self.waiting.is_empty() {
            let verb = if self.waiting.len() == 1 { "waits" } else { "wait" };
            parts.push(format!("{} {verb} for a log-in", names(&self.waiting)));
        }
        parts.join("; ")
    }
}

fn servers_line(all: usize, missing: &MissingServers, time: Duration) -> Option<String> {
    let up = all.saturating_sub(missing.failed.len() + missing.waiting.len());
    let (missing, seconds) = (missing.describe(), time.as_secs_f32());
    Some(match (all, up) {
        (0, _) => return None,
        (1, 1) => format!("the server is up ({seconds:.1} s)"),
        (1, _) => format!("the server is not up; {missing}"),
        (_, 0) => format!("none of the {all} servers is up; {missing}"),
        _ if up == all => format!("all {all} servers are up ({seconds:.1} s)"),
        (_, 1) => format!("1 of {all} servers is up; {missing}"),
        _ => format!("{up} of {all} servers are up; {missing}"),
    })
}

async fn bind(config: &Config, address: Option<&str>, insecure: bool) -> Result<Listener, CommandFailure> {
    let address = &with_host(address.unwrap_or(&config.serve.http));
    let cap = usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX);
    let bound = Listener::bind(address, &config.serve.path, &config.serve.allowed_origins, cap).await;
    let listener = bound.map_err(|error| CommandFailure::usage(format!("cannot listen on `{address}`: {error}")))?;
    let actual: SocketAddr = listener.address()?;
    if !actual.ip().is_loopback() && config.tokens.is_empty() && !insecure {
        let diagnostic = Diagnostic::error(format!("`{address}` is reachable from other machines without authentication"))
            .hint("set `auth.tokens` in the config, listen on 127.0.0.1, or pass --insecure if a reverse proxy authenticates clients");
        return Err(diagnostic.into());
    }
    Ok(listener)
}

/// Completes a bare port to a loopback address.
fn with_host(address: &str) -> String {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    }
}

async fn serve_http(config: &Config, server: Server, listener: Listener) -> Result<(), CommandFailure> {
    logging::status(&format!("listening on http://{}{}", listener.address()?, config.serve.path));
    let front = HttpFront::new(server, &config.serve);
    let stop = CancellationToken::new();
    let mut serving = std::pin::pin!(listener.serve(Arc::clone(&front), stop.clone()));
    tokio::select! {
        () = &mut serving => return Ok(()),
        () = shutdown_signal() => {}
    }
    stop.cancel();
    front.begin_shutdown();
    if tokio::time::timeout(DRAIN_TIMEOUT, &mut serving).await.is_err() {
        tracing::warn!("shutdown timed out: some requests were not finished");
    }
    front.end_sessions().await;
    Ok(())
}

async fn shutdown_signal() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Completes on a shutdown signal on stdio; over HTTP, `serve_http` handles the signal.
async fn stdio_shutdown(stdio: bool) -> Result<(), CommandFailure> {
    if stdio {
        shutdown_signal().await;
        return Ok(());
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_the_start_says_which_servers_failed() {
        let line = |all, failed: &[&str]| {
            let failed = failed.iter().map(ToString::to_string).collect();
            let missing = MissingServers { failed, ..MissingServers::default() };
            servers_line(all, &missing, Duration::from_millis(13_400)).unwrap_or_default()
        };
        assert_eq!(line(18, &[]), "all 18 servers are up (13.4 s)");
        assert_eq!(line(18, &["a", "b"]), "16 of 18 servers are up; `a`, `b` failed");
        assert_eq!(line(2, &["a"]), "1 of 2 servers is up; `a` failed");
        assert_eq!(line(2, &["a", "b"]), "none of the 2 servers is up; `a`, `b` failed");
        assert_eq!([line(1, &[]), line(1, &["a"])], ["the server is up (13.4 s)", "the server is not up; `a` failed"]);
        assert_eq!(line(0, &[]), "");
    }

    #[test]
    fn servers_that_wait_for_a_log_in_have_not_failed() {
        let line = |failed: &[&str], waiting: &[&str]| {
            let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
            let missing = MissingServers { failed: names(failed), waiting: names(waiting) };
            servers_line(4, &missing, Duration::ZERO).unwrap_or_default()
        };
        assert_eq!(line(&[], &["a"]), "3 of 4 servers are up; `a` waits for a log-in");
        assert_eq!(line(&["x"], &["a", "b"]), "1 of 4 servers is up; `x` failed; `a`, `b` wait for a log-in");
    }
}
