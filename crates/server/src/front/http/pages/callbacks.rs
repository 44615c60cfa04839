//! The returns from elsewhere: from the issuer, and from the authorization servers of servers. Anybody can send a browser to
//! these addresses, so nothing in them counts before it is clear that the visit began in this browser.

use std::borrow::Cow;

use ::http::StatusCode;
use ::http::header::SET_COOKIE;

use super::accounts::shown;
use super::cookies::{Cookie, new_value};
use super::flows::{Flow, FlowError};
use super::html::{escaped, page, paragraph};
use super::limits;
use super::reply::{PageError, not_signed_in, see_other};
use super::sign_ins::OpenSignIn;
use super::visit::Visit;
use proxy_model::Principal;
use proxy_telemetry::audit::AccountEvent;
use proxy_wire::http::HttpReply;

/// The only `state` of an address.
fn state_in(query: &str) -> Result<Cow<'_, str>, PageError> {
    let mut states = url::form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "state");
    match (states.next(), states.next()) {
        (Some((_, state)), None) => Ok(state),
        _ => Err(PageError::another_browser()),
    }
}

impl Visit<'_> {
    /// The log-in that ends now: it began in this browser, and ends once.
    async fn returned(&self, query: &str) -> Result<Flow, PageError> {
        let state = state_in(query)?;
        let flow = self.store().take(&state).await?.ok_or_else(PageError::another_browser)?;
        if self.is_in(&flow.browser) { Ok(flow) } else { Err(PageError::another_browser()) }
    }

    /// `/sign-in/callback`: the issuer has sent a person back. The code that comes with it is good for one use.
    pub(super) async fn finish_sign_in(&self, query: &str) -> Result<HttpReply, PageError> {
        let state = state_in(query)?;
        let cookie = self.sign_in.as_ref().ok_or_else(PageError::another_browser)?;
        let open = OpenSignIn::opened(self.front.sealer(), &self.browser(), cookie, &state);
        let OpenSignIn { server, parked, .. } = open.ok_or_else(PageError::another_browser)?;
        // Each return makes the proxy ask the issuer.
        let admitted = limits::admits_return(&self.store().store, self.peer).await;
        if !admitted.map_err(FlowError::from)? {
            return Err(PageError::too_many());
        }
        let issuers = self.issuers();
        let issuer = issuers.iter().find(|issuer| issuer.issuer == parked.issuer());
        let issuer = issuer.ok_or_else(PageError::another_browser)?;
        let callback = format!("{}?{query}", self.pages.sign_in_callback());
        let log_ins = self.log_ins();
        let place = log_ins.sign_in_place()?;
        // The browser may keep its cookie. Another return with it would make the proxy ask the issuer again.
        if !self.store().ends_sign_in(&state).await? {
            return Err(PageError::another_browser());
        }
        let finished = log_ins.finish_sign_in(place, issuer, &parked, &callback).await;
        let token = finished.inspect_err(|error| not_signed_in(&issuer.issuer, error))?;
        let principal = self.front.verified_person(&token, self.peer).await.map_err(|why| {
            tracing::warn!(issuer = issuer.issuer, "somebody could not sign in: {why}");
            PageError::new(
                StatusCode::BAD_GATEWAY,
                format!("{} gave a token that is not accepted here: {why}.", issuer.issuer),
            )
        })?;
        // A new one: what was there before may have been planted.
        let cookie = new_value().map_err(|_| FlowError::Random)?;
        self.store().remember(&cookie, &principal).await?;
        let back = server.map_or_else(|| self.pages.accounts(), |server| self.pages.account(&server));
        let is_secure = self.pages.is_secure;
        let cookies = [Cookie::Person.set(&cookie, is_secure), Cookie::SignIn.remove(is_secure)];
        let reply = see_other(&back)?;
        Ok(cookies.into_iter().flatten().fold(reply, |reply, cookie| reply.with_header(SET_COOKIE, cookie)))
    }

    /// `/connect/NAME/callback`: the authorization server has sent a person back. Each server has an address of its own, so
    /// that no authorization server can pass off another's answer as its own.
    pub(super) async fn finish_log_in(&self, segment: &str, query: &str) -> Result<HttpReply, PageError> {
        let Flow { server, person, parked, .. } = self.returned(query).await?;
        if server != segment {
            return Err(PageError::another_browser());
        }
        let principal = Principal::from(person);
        if !self.front.accepts(&principal.who) {
            return Err(PageError::NOT_FOUND);
        }
        let account = self.account(&principal, segment)?;
        let redirect_uri = account.accounts.page_redirect(&account.name).ok_or(PageError::NOT_FOUND)?;
        let log_ins = self.log_ins();
        let mut pending = log_ins.resume(&account.name, &account.config, Some(&principal.who), parked).await?;
        let finished = pending.finish(&format!("{redirect_uri}?{query}")).await;
        let report = finished.inspect_err(|error| {
            let why = error.to_string();
            self.front.audit_account(AccountEvent::Refused, &principal, &account.name, Some(&why));
            tracing::info!(server = account.name, user = principal.sub(), "an account could not be connected: {why}");
        })?;
        self.front.audit_account(AccountEvent::Connected, &principal, &account.name, None);
        tracing::info!(server = account.name, user = principal.sub(), "an account was connected");
        let text =
            format!("Your account at {} is connected as {}. You can close this page.", account.name, shown(&principal));
        let ends = if report.refreshable {
            String::new()
        } else {
            paragraph("It cannot be renewed: when it expires, you have to connect it again.")
        };
        let all = format!("<p><a href=\"{}\">All accounts</a></p>", escaped(&self.pages.accounts()));
        let body = format!("{}{ends}{all}", paragraph(&text));
        Ok(HttpReply::page(StatusCode::OK, page("Connected", &body)))
    }
}
