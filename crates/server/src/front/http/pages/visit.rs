//! A request for a page: in which browser it was made, and who has signed in there.

use std::net::IpAddr;
use std::sync::Arc;

use ::http::header::{ORIGIN, SET_COOKIE};
use ::http::{HeaderMap, StatusCode};
use subtle::ConstantTimeEq;

use super::Pages;
use super::cookies::{Cookie, digest, new_value};
use super::flows::{FlowError, PageStore};
use super::reply::PageError;
use crate::front::http::HttpFront;
use proxy_config::{IssuerConfig, PersonalAccounts, ServerConfig};
use proxy_engine::gateway::Gateway;
use proxy_identity::oauth::LogIns;
use proxy_model::{Principal, Secret};
use proxy_wire::http::{HttpReply, PageRequest};

pub(super) struct Visit<'a> {
    pub(super) front: &'a Arc<HttpFront>,
    pub(super) pages: &'a Pages,
    pub(super) peer: Option<IpAddr>,
    /// The cookie that marks the browser.
    browser: Secret,
    /// Whether the browser has just got it.
    is_new_browser: bool,
    /// The sign-in that has begun in it, sealed.
    pub(super) sign_in: Option<Secret>,
    /// The cookie of whoever has signed in, and who it is.
    pub(super) person: Option<(Secret, Principal)>,
}

/// A server at which the person may have an account.
pub(super) struct Account {
    pub(super) name: String,
    pub(super) config: ServerConfig,
    pub(super) accounts: PersonalAccounts,
    /// The name as a path writes it.
    pub(super) segment: String,
}

impl<'a> Visit<'a> {
    pub(super) async fn begin(
        front: &'a Arc<HttpFront>,
        pages: &'a Pages,
        request: &PageRequest,
    ) -> Result<Self, PageError> {
        let read = |cookie: Cookie| cookie.read(&request.headers, pages.is_secure);
        let known = read(Cookie::Flow);
        let is_new_browser = known.is_none();
        let browser = match known {
            Some(browser) => browser,
            None => new_value().map_err(|_| FlowError::Random)?,
        };
        let sign_in = read(Cookie::SignIn);
        let mut visit = Visit { front, pages, peer: request.peer, browser, is_new_browser, sign_in, person: None };
        if let Some(cookie) = read(Cookie::Person) {
            let person = visit.store().person(&cookie).await?;
            // Somebody whose issuer is no longer accepted is nobody.
            let accepts = |principal: &Principal| front.accepts(&principal.who);
            visit.person = person.filter(accepts).map(|principal| (cookie, principal));
        }
        Ok(visit)
    }

    pub(super) fn gateway(&self) -> &'a Arc<Gateway> {
        self.front.gateway()
    }

    pub(super) fn log_ins(&self) -> &'a Arc<LogIns> {
        self.gateway().log_ins()
    }

    pub(super) fn store(&self) -> PageStore<'a> {
        PageStore { store: self.gateway().calls().store.clone(), sealer: self.front.sealer() }
    }

    pub(super) fn principal(&self) -> Option<&Principal> {
        self.person.as_ref().map(|(_, principal)| principal)
    }

    /// What is kept of the browser's cookie.
    pub(super) fn browser(&self) -> String {
        digest("browser", self.browser.reveal())
    }

    /// Whether a visit elsewhere has begun in this browser.
    pub(super) fn is_in(&self, browser: &str) -> bool {
        !self.is_new_browser && bool::from(self.browser().as_bytes().ct_eq(browser.as_bytes()))
    }

    /// What a form of this browser, and of this person, has to bring.
    pub(super) fn csrf(&self) -> String {
        let person = self.person.as_ref().map_or("", |(cookie, _)| cookie.reveal());
        digest("csrf", &format!("{}\n{person}", self.browser.reveal()))
    }

    /// Checks that a form was sent by a page of this proxy, in this browser.
    pub(super) fn check_form(&self, headers: &HeaderMap, csrf: &str) -> Result<(), PageError> {
        let refused = || PageError::new(StatusCode::FORBIDDEN, "This form was sent by another page.");
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => {}
            (Some(origin), None) if origin.as_bytes().eq_ignore_ascii_case(self.pages.origin.as_bytes()) => {}
            _ => return Err(refused()),
        }
        if self.is_new_browser {
            let text = "Your browser sent no cookie, or an old one. Allow cookies for this page, and load it again.";
            return Err(PageError::new(StatusCode::BAD_REQUEST, text));
        }
        if bool::from(self.csrf().as_bytes().ct_eq(csrf.as_bytes())) {
            return Ok(());
        }
        if self.person.is_some() {
            return Err(refused());
        }
        let text = "This form was sent by another page, or you are no longer signed in. Load the page again.";
        Err(PageError::new(StatusCode::FORBIDDEN, text))
    }

    /// The answer, with the cookie of a browser that had none.
    pub(super) fn marked(&self, reply: HttpReply) -> HttpReply {
        if self.is_new_browser { self.remembered(reply) } else { reply }
    }

    /// The answer, with the browser's cookie for another while.
    pub(super) fn remembered(&self, reply: HttpReply) -> HttpReply {
        match Cookie::Flow.set(&self.browser, self.pages.is_secure) {
            Some(cookie) => reply.with_header(SET_COOKIE, cookie),
            None => reply,
        }
    }

    /// The issuers with which people sign in here.
    pub(super) fn issuers(&self) -> Vec<IssuerConfig> {
        self.front.sign_in_issuers()
    }

    /// The servers at which this person may have an account.
    pub(super) fn accounts(&self, principal: &Principal) -> Vec<Account> {
        let servers = self.gateway().personal_servers();
        let accounts = servers.into_iter().filter_map(|(name, config)| {
            let accounts = config.personal()?.clone();
            let page = accounts.page(&name)?;
            let segment = page.rsplit('/').next()?.to_owned();
            Some(Account { name, config, accounts, segment })
        });
        accounts.filter(|account| self.may_have(principal, account)).collect()
    }

    /// The server whose name a path writes like this, if this person may have an account there.
    pub(super) fn account(&self, principal: &Principal, segment: &str) -> Result<Account, PageError> {
        let found = self.accounts(principal).into_iter().find(|account| account.segment == segment);
        found.ok_or(PageError::NOT_FOUND)
    }

    fn may_have(&self, principal: &Principal, account: &Account) -> bool {
        let signs_in = account.accounts.signing_in.iter().any(|issuer| issuer == principal.issuer());
        let tool = PersonalAccounts::tool_name(&account.name);
        signs_in
            && self
                .front
                .everywhere(principal)
                .iter()
                .any(|principal| self.gateway().may_log_in(principal, &account.name, &tool))
    }
}
