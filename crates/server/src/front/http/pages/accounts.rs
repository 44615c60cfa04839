//! The pages about accounts: what a person sees of them, and the forms.

use ::http::StatusCode;
use ::http::header::SET_COOKIE;

use super::cookies::Cookie;
use super::flows::Flow;
use super::html::{button, escaped, page, paragraph};
use super::limits;
use super::reply::{PageError, not_signed_in, see_other};
use super::sign_ins::OpenSignIn;
use super::visit::{Account, Visit};
use crate::replicas::ForwardedPrincipal;
use proxy_identity::oauth::{LogInRequest, SignInRequest};
use proxy_model::Principal;
use proxy_telemetry::audit::AccountEvent;
use proxy_wire::http::{HttpReply, PageRequest};

/// The first port for log-ins by `proxy login` with the client that a page registers: any that is free may be used, and the
/// same one is tried again.
const FIRST_PORT: u16 = 49_152;

/// Who somebody is, for people: the name that scripts see, and what else the issuer says.
pub(super) fn shown(principal: &Principal) -> String {
    let more: Vec<&str> = [&*principal.name, &*principal.email].into_iter().filter(|text| !text.is_empty()).collect();
    if more.is_empty() { principal.sub().to_owned() } else { format!("{} ({})", principal.sub(), more.join(", ")) }
}

impl Visit<'_> {
    fn ok(&self, title: &str, body: &str) -> HttpReply {
        self.marked(HttpReply::page(StatusCode::OK, page(title, body)))
    }

    /// A form of this page.
    fn form(&self, address: &str, label: &str, fields: &[(&str, &str)]) -> String {
        let csrf = self.csrf();
        let fields: Vec<(&str, &str)> = fields.iter().copied().chain([("csrf", csrf.as_str())]).collect();
        button(address, label, &fields)
    }

    /// What everybody sees who has not signed in, whatever the address names.
    fn sign_in_page(&self, address: &str) -> HttpReply {
        let issuers = self.issuers();
        let buttons: String = issuers
            .iter()
            .map(|issuer| {
                let label = match issuers.len() {
                    1 => "Sign in".to_owned(),
                    _ => format!("Sign in with {}", issuer.issuer),
                };
                self.form(address, &label, &[("do", "sign-in"), ("issuer", &issuer.issuer)])
            })
            .collect();
        let text = "Sign in first. An account that you connect here is connected to you, and is used for your requests \
                    only.";
        self.ok("Your accounts", &format!("{}{buttons}", paragraph(text)))
    }

    fn who(&self, principal: &Principal, address: &str) -> String {
        let not_me = self.form(address, "Sign out", &[("do", "sign-out")]);
        format!("<div class=\"who\">You are <strong>{}</strong>. {not_me}</div>", escaped(&shown(principal)))
    }

    /// `/connect`: all accounts of the person.
    pub(super) async fn show_accounts(&self) -> Result<HttpReply, PageError> {
        let address = self.pages.accounts();
        let Some(principal) = self.principal() else { return Ok(self.sign_in_page(&address)) };
        let mut items = String::new();
        for account in self.accounts(principal) {
            let is_connected = self.log_ins().is_connected(&account.name, &account.config, &principal.who).await?;
            let name = escaped(&account.name);
            let link = self.pages.account(&account.segment);
            let state = if is_connected { "connected" } else { "not connected" };
            items.push_str(&format!("<li><a href=\"{}\">{name}</a>: {state}</li>", escaped(&link)));
        }
        let list = if items.is_empty() {
            paragraph("There is no server at which you could connect an account.")
        } else {
            format!("<ul>{items}</ul>")
        };
        Ok(self.ok("Your accounts", &format!("{}{list}", self.who(principal, &address))))
    }

    /// `/connect/NAME`: one account of the person.
    pub(super) async fn show_account(&self, segment: &str) -> Result<HttpReply, PageError> {
        let address = self.pages.account(segment);
        let Some(principal) = self.principal() else { return Ok(self.sign_in_page(&address)) };
        let account = self.account(principal, segment)?;
        let is_connected = self.log_ins().is_connected(&account.name, &account.config, &principal.who).await?;
        Ok(self.account_page(principal, &account, is_connected))
    }

    fn account_page(&self, principal: &Principal, account: &Account, is_connected: bool) -> HttpReply {
        let address = self.pages.account(&account.segment);
        let about = if account.accounts.about.is_empty() {
            String::new()
        } else {
            paragraph(&format!("About {}: {}", account.name, account.accounts.about))
        };
        let body = if is_connected {
            let text = format!("Your account at {} is connected.", account.name);
            let again = self.form(&address, "Connect another account", &[("do", "connect")]);
            let end = self.form(&address, "Disconnect", &[("do", "disconnect")]);
            format!("{}{about}{again}{end}", paragraph(&text))
        } else {
            let text = format!(
                "Connect your own account at {}. It will be used for requests of {} only. If that is not you, sign out.",
                account.name,
                principal.sub()
            );
            format!("{}{about}{}", paragraph(&text), self.form(&address, "Connect", &[("do", "connect")]))
        };
        let all = format!("<p><a href=\"{}\">All accounts</a></p>", escaped(&self.pages.accounts()));
        self.ok(&account.name, &format!("{}{body}{all}", self.who(principal, &address)))
    }

    /// A form of one of these pages.
    pub(super) async fn submit(&self, segment: Option<&str>, request: &PageRequest) -> Result<HttpReply, PageError> {
        let fields: Vec<(String, String)> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        let field = |name: &str| fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        self.check_form(&request.headers, field("csrf"))?;
        let person = self.principal().map(|principal| ForwardedPrincipal::from(principal).digest());
        let admitted = limits::admits_form(&self.store().store, person.as_deref(), self.peer).await;
        if !admitted.map_err(super::flows::FlowError::from)? {
            return Err(PageError::too_many());
        }
        match (field("do"), self.principal(), segment) {
            ("sign-in", _, _) => self.begin_sign_in(segment, field("issuer")).await,
            ("sign-out", _, _) => self.sign_out(segment).await,
            ("connect", Some(principal), Some(segment)) => self.begin_log_in(principal, segment).await,
            ("disconnect", Some(principal), Some(segment)) => self.disconnect(principal, segment).await,
            _ => Err(PageError::new(StatusCode::BAD_REQUEST, "The form is incomplete. Load the page again.")),
        }
    }

    /// Sends the browser to the issuer.
    async fn begin_sign_in(&self, segment: Option<&str>, issuer: &str) -> Result<HttpReply, PageError> {
        let issuers = self.issuers();
        let issuer = issuers.iter().find(|known| known.issuer == issuer).ok_or(PageError::NOT_FOUND)?;
        let required_scopes = self.front.required_scopes();
        let request = SignInRequest {
            issuer,
            resource: &self.pages.base,
            required_scopes: &required_scopes,
            redirect_uri: &self.pages.sign_in_callback(),
        };
        let begun = self.log_ins().begin_sign_in(request).await;
        let (address, parked) = begun.inspect_err(|error| not_signed_in(&issuer.issuer, error))?;
        let open = OpenSignIn::begin(segment, parked).sealed(self.front.sealer(), &self.browser())?;
        // The browser has to bring its cookies back.
        let reply = self.remembered(see_other(&address)?);
        Ok(match Cookie::SignIn.set(&open, self.pages.is_secure) {
            Some(cookie) => reply.with_header(SET_COOKIE, cookie),
            None => reply,
        })
    }

    async fn sign_out(&self, segment: Option<&str>) -> Result<HttpReply, PageError> {
        if let Some((cookie, _)) = &self.person {
            self.store().forget(cookie).await?;
        }
        let back = segment.map_or_else(|| self.pages.accounts(), |segment| self.pages.account(segment));
        let reply = see_other(&back)?;
        Ok(match Cookie::Person.remove(self.pages.is_secure) {
            Some(cookie) => reply.with_header(SET_COOKIE, cookie),
            None => reply,
        })
    }

    /// Sends the browser to the authorization server of a server.
    async fn begin_log_in(&self, principal: &Principal, segment: &str) -> Result<HttpReply, PageError> {
        let account = self.account(principal, segment)?;
        let log_ins = self.log_ins();
        let redirect_uri = account.accounts.page_redirect(&account.name).ok_or(PageError::NOT_FOUND)?;
        let request = LogInRequest {
            challenge: log_ins.challenge(&account.config).await,
            redirect_uri,
            more_redirect_uris: vec![local_redirect(&account)],
            scopes: Vec::new(),
        };
        let pending = log_ins.begin(&account.name, &account.config, Some(&principal.who), request).await?;
        let address = pending.authorization_url().to_owned();
        let parked = pending.park();
        let state = parked.state().clone();
        let person = ForwardedPrincipal::from(principal);
        let flow = Flow { browser: self.browser(), server: account.segment, person, parked };
        self.store().begin(&state, &flow).await?;
        // The browser has to bring its cookie back.
        Ok(self.remembered(see_other(&address)?))
    }

    async fn disconnect(&self, principal: &Principal, segment: &str) -> Result<HttpReply, PageError> {
        let account = self.account(principal, segment)?;
        let report = self.log_ins().log_out(&account.name, &account.config, Some(&principal.who), false).await?;
        if report.was_logged_in {
            self.front.audit_account(AccountEvent::Disconnected, principal, &account.name, None);
        }
        for problem in &report.problems {
            tracing::warn!(server = account.name, "{problem}");
        }
        see_other(&self.pages.account(segment))
    }
}

/// Where `proxy login` comes back to with the client of the entry.
fn local_redirect(account: &Account) -> String {
    let configured = match &account.config.auth {
        Some(proxy_config::AuthConfig::OAuth(oauth)) => oauth.redirect_port,
        _ => 0,
    };
    let sum = account.name.bytes().fold(0u16, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let port = if configured == 0 { FIRST_PORT + sum % (u16::MAX - FIRST_PORT) } else { configured };
    format!("http://127.0.0.1:{port}/callback")
}
