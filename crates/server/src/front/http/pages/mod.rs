//! The pages on which people log in to their own accounts: plain HTML without scripts. A page never believes its address:
//! whoever opens it proves who they are in that browser, at the issuer whose tokens the proxy accepts, and the account is
//! connected to that person. GET changes nothing; forms are sent with POST.

mod accounts;
mod callbacks;
mod cookies;
mod flows;
mod html;
mod limits;
mod reply;
mod sign_ins;
mod visit;

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::HttpFront;
use proxy_config::Serve;
use proxy_wire::http::{HttpReply, PageRequest};
use reply::{PageError, with_headers};
use visit::Visit;

/// Where the pages are.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    /// `serve.publicUrl`. Every address is made from it, and never from what a request says.
    base: String,
    /// Its scheme, host and port.
    origin: String,
    /// `serve.path`, without a slash at its end.
    path: String,
    /// Whether browsers come by HTTPS.
    is_secure: bool,
}

/// What a path is for. Names of servers are as the path writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageRoute<'a> {
    Accounts,
    Account(&'a str),
    AccountCallback(&'a str),
    SignInCallback,
}

/// The maximum length of a server's name as a path writes it: it is remembered while somebody signs in.
const MAX_SEGMENT: usize = 512;

impl Pages {
    /// `None` without a public URL: then nobody can sign in.
    pub(super) fn new(serve: &Serve) -> Option<Self> {
        let base = serve.public_url.clone()?;
        let origin = url::Url::parse(&base).ok()?.origin().ascii_serialization();
        let path = serve.path.trim_end_matches('/').to_owned();
        let is_secure = base.starts_with("https://");
        Some(Pages { base, origin, path, is_secure })
    }

    fn route<'a>(&self, path: &'a str) -> Option<PageRoute<'a>> {
        let rest = path.strip_prefix(self.path.as_str())?.strip_prefix('/')?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let parts: Vec<&str> = rest.split('/').collect();
        if parts.iter().any(|part| part.len() > MAX_SEGMENT) {
            return None;
        }
        match parts[..] {
            ["connect"] => Some(PageRoute::Accounts),
            ["connect", server] if !server.is_empty() => Some(PageRoute::Account(server)),
            ["connect", server, "callback"] if !server.is_empty() => Some(PageRoute::AccountCallback(server)),
            ["sign-in", "callback"] => Some(PageRoute::SignInCallback),
            _ => None,
        }
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.route(path).is_some()
    }

    /// The address of the page about all accounts.
    fn accounts(&self) -> String {
        format!("{}/connect", self.base)
    }

    /// The address of the page about one, whose name is written as in a path.
    fn account(&self, server: &str) -> String {
        format!("{}/connect/{server}", self.base)
    }

    fn sign_in_callback(&self) -> String {
        format!("{}/sign-in/callback", self.base)
    }
}

/// Answers a request for a page.
pub(super) async fn answer(front: &Arc<HttpFront>, pages: &Pages, request: PageRequest) -> HttpReply {
    let Some(route) = pages.route(&request.path) else { return with_headers(PageError::NOT_FOUND.reply()) };
    let answered = async {
        let visit = Visit::begin(front, pages, &request).await?;
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        match route {
            PageRoute::Accounts if is_read => visit.show_accounts().await,
            PageRoute::Account(server) if is_read => visit.show_account(server).await,
            PageRoute::AccountCallback(server) if request.method == Method::GET => {
                visit.finish_log_in(server, &request.query).await
            }
            PageRoute::SignInCallback if request.method == Method::GET => visit.finish_sign_in(&request.query).await,
            PageRoute::Accounts if request.method == Method::POST => visit.submit(None, &request).await,
            PageRoute::Account(server) if request.method == Method::POST => visit.submit(Some(server), &request).await,
            _ => Err(PageError::new(StatusCode::METHOD_NOT_ALLOWED, "This page cannot be used in this way.")),
        }
    };
    with_headers(answered.await.unwrap_or_else(|error| error.reply()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_page() {
        let serve = Serve { public_url: Some("https://edge/public/mcp".to_owned()), ..Serve::default() };
        let pages = Pages::new(&serve).unwrap();
        assert_eq!(pages.route("/mcp/connect"), Some(PageRoute::Accounts));
        assert_eq!(pages.route("/mcp/connect/"), Some(PageRoute::Accounts));
        assert_eq!(pages.route("/mcp/connect/my%20crm"), Some(PageRoute::Account("my%20crm")));
        assert_eq!(pages.route("/mcp/connect/crm/callback"), Some(PageRoute::AccountCallback("crm")));
        assert_eq!(pages.route("/mcp/sign-in/callback"), Some(PageRoute::SignInCallback));
        for other in ["/mcp", "/connect", "/mcpconnect", "/mcp/connect//callback", "/mcp/connect/a/b", "/mcp/sign-in"] {
            assert_eq!(pages.route(other), None, "{other}");
        }
        assert_eq!(pages.account("crm"), "https://edge/public/mcp/connect/crm");
        assert!(Pages::new(&Serve::default()).is_none());
    }
}
