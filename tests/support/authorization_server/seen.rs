//! The requests that an authorization server got.

use bytes::Bytes;
use http::Request;
use tokio::sync::watch;
use url::form_urlencoded;

use crate::support::patience::within;
use crate::support::stderr_log::StderrLog;

#[derive(Clone, Debug)]
pub struct Seen {
    /// `metadata`, `register`, `authorize`, `revoke`, the grant type of a token request, or `unknown`.
    pub kind: String,
    pub path: String,
    /// Of the query and of the form.
    pub parameters: Vec<(String, String)>,
    pub authorization: Option<String>,
}

impl Seen {
    pub(super) fn new(request: &Request<Bytes>, issuer_path: &str) -> Self {
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default().as_bytes();
        let mut parameters: Vec<_> = form_urlencoded::parse(query).into_owned().collect();
        let form =
            request.headers().get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"application/x"));
        if form {
            parameters.extend(form_urlencoded::parse(request.body()).into_owned());
        }
        let grant = parameters.iter().find(|(name, _)| name == "grant_type").map(|(_, value)| value.as_str());
        let kind = match path.strip_prefix(issuer_path).unwrap_or(&path) {
            _ if path.contains("/.well-known/") => "metadata",
            "/register" => "register",
            "/authorize" => "authorize",
            "/revoke" => "revoke",
            "/token" => grant.unwrap_or("token without a grant type"),
            _ => "unknown",
        };
        let authorization = request.headers().get("authorization");
        let authorization = authorization.and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self { kind: kind.to_owned(), path, parameters, authorization }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug)]
pub struct SeenRequests(watch::Sender<Vec<Seen>>);

impl Default for SeenRequests {
    fn default() -> Self {
        Self(watch::channel(Vec::new()).0)
    }
}

impl SeenRequests {
    pub(super) fn add(&self, seen: Seen) {
        self.0.send_modify(|all| all.push(seen));
    }

    /// All of this kind so far.
    pub fn of(&self, kind: &str) -> Vec<Seen> {
        self.0.borrow().iter().filter(|seen| seen.kind == kind).cloned().collect()
    }

    pub fn count(&self, kind: &str) -> usize {
        self.of(kind).len()
    }

    /// The last of this kind.
    pub fn last(&self, kind: &str) -> Seen {
        self.of(kind).pop().unwrap_or_else(|| panic!("there was no request `{kind}`, but {:?}", self.kinds()))
    }

    /// The kinds of all requests, in their order.
    pub fn kinds(&self) -> Vec<String> {
        self.0.borrow().iter().map(|seen| seen.kind.clone()).collect()
    }

    /// Waits until there were so many of this kind.
    pub async fn times(&self, kind: &str, count: usize, log: &StderrLog) {
        let mut all = self.0.subscribe();
        let enough = |all: &Vec<Seen>| all.iter().filter(|seen| seen.kind == kind).count() >= count;
        let waited = within(&format!("{count} requests `{kind}`"), log, all.wait_for(enough)).await;
        waited.expect("the sender lives");
    }
}
