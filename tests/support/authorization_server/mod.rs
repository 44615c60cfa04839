//! An authorization server in the test's own process. It approves at once, revokes a log-in whose refresh token is shown
//! twice, remembers every request, and misbehaves by order of the test.

mod authorize;
mod books;
mod fault;
mod metadata;
mod registration;
mod seen;
mod settings;
mod token;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};

use self::books::Books;
use super::listener;

pub use self::fault::{Fault, Hold};
pub use self::seen::{Seen, SeenRequests};
pub use self::settings::{Approval, MetadataPlace, Registration, Settings};

#[derive(Clone, Debug)]
pub struct AuthorizationServer {
    /// Its origin.
    pub url: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    settings: Mutex<Settings>,
    books: Mutex<Books>,
    faults: Mutex<VecDeque<(String, Fault)>>,
    seen: SeenRequests,
}

impl AuthorizationServer {
    pub async fn start() -> Self {
        Self::with(|_| ()).await
    }

    pub async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let (listener, url) = listener::bind().await;
        let server = Self { url, shared: Arc::default() };
        server.set(change);
        let answering = server.clone();
        listener::serve(listener, move |request| {
            let server = answering.clone();
            async move { server.answer(request).await }
        });
        server
    }

    pub fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut lock(&self.shared.settings));
    }

    fn settings(&self) -> Settings {
        lock(&self.shared.settings).clone()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        lock(&self.shared.books)
    }

    pub fn issuer(&self) -> String {
        format!("{}{}", self.url, self.settings().issuer_path)
    }

    /// What it says of itself.
    fn claimed_issuer(&self) -> String {
        self.settings().claimed_issuer.unwrap_or_else(|| self.issuer())
    }

    /// A client that was registered by hand, with this secret.
    pub fn register(&self, id: &str, secret: Option<&str>) {
        let method = match (secret, self.settings().registration) {
            (None, _) => "none",
            (Some(_), Registration::Post) => "client_secret_post",
            (Some(_), _) => "client_secret_basic",
        };
        let secret = secret.map(str::to_owned);
        let client = books::Client {
            secret: secret.clone(),
            method,
            redirect_uris: Vec::new(),
            declared: serde_json::Value::Null,
        };
        let mut books = self.books();
        books.secrets.extend(secret);
        books.clients.insert(id.to_owned(), client);
    }

    /// What the next request of this kind meets. Kinds: `metadata`, `register`, `authorize`, `revoke`, and the grant type
    /// of a token request.
    pub fn next(&self, kind: &str, fault: Fault) {
        lock(&self.shared.faults).push_back((kind.to_owned(), fault));
    }

    /// Holds the next request of this kind before anything is done.
    pub fn hold(&self, kind: &str) -> Hold {
        let hold = Hold::new();
        self.next(kind, Fault::HoldRequest(hold.clone()));
        hold
    }

    /// Holds the answer to the next request of this kind, when everything is done.
    pub fn hold_answer(&self, kind: &str) -> Hold {
        let hold = Hold::new();
        self.next(kind, Fault::HoldAnswer(hold.clone()));
        hold
    }

    /// Takes back a fault that was ordered and has not happened; says whether there was one.
    pub fn withdraw(&self, kind: &str) -> bool {
        self.take_fault(kind).is_some()
    }

    pub fn seen(&self) -> &SeenRequests {
        &self.shared.seen
    }

    /// The scopes of an access token that is good.
    pub fn scopes_of(&self, token: &str) -> Option<Vec<String>> {
        self.books().scopes_of(token)
    }

    /// Ends all access tokens: they are refused from now on, and the refresh tokens are good.
    pub fn end_access_tokens(&self) {
        self.books().end_access_tokens();
    }

    /// Ends all log-ins, as an administrator does.
    pub fn end_log_ins(&self) {
        self.books().end_log_ins();
    }

    /// How many refresh tokens were shown twice.
    pub fn reuses(&self) -> usize {
        self.books().reuses
    }

    /// What clients have said of themselves.
    pub fn declared(&self) -> Vec<serde_json::Value> {
        self.books().clients.values().map(|client| client.declared.clone()).collect()
    }

    /// The newest token of a kind, `access` or `refresh`.
    pub fn newest(&self, kind: &str) -> String {
        let books = self.books();
        let found = books.secrets.iter().rev().find(|secret| secret.starts_with(kind));
        found.unwrap_or_else(|| panic!("no {kind} token was made")).clone()
    }

    /// Every secret that was made or shown here.
    pub fn secrets(&self) -> Vec<String> {
        self.books().secrets.clone()
    }

    async fn answer(&self, request: Request<Bytes>) -> Option<Response<Body>> {
        let seen = Seen::new(&request, self.settings().issuer_path);
        self.shared.seen.add(seen.clone());
        let fault = self.take_fault(&seen.kind);
        match fault {
            Some(Fault::Status(status)) => return Some(listener::text(status, "out of order")),
            Some(Fault::Error(error)) => return Some(refusal(400, error)),
            Some(Fault::Reset) => return None,
            Some(Fault::HoldRequest(ref hold)) => hold.wait().await,
            Some(Fault::AnswerLost | Fault::HoldAnswer(_)) | None => {}
        }
        let response = match seen.kind.as_str() {
            "metadata" => self.metadata(&seen.path),
            "register" => self.register_client(request.body()),
            "authorize" => self.authorize(&seen),
            "revoke" => self.revoke(&seen),
            "unknown" => listener::text(404, "not found"),
            _ => self.token(&seen),
        };
        match fault {
            Some(Fault::AnswerLost) => return None,
            Some(Fault::HoldAnswer(hold)) => hold.wait().await,
            _ => {}
        }
        Some(response)
    }

    fn take_fault(&self, kind: &str) -> Option<Fault> {
        let mut faults = lock(&self.shared.faults);
        let at = faults.iter().position(|(wanted, _)| wanted == kind)?;
        faults.remove(at).map(|(_, fault)| fault)
    }
}

/// An error of OAuth.
fn refusal(status: u16, error: &str) -> Response<Body> {
    listener::json(status, &serde_json::json!({"error": error, "error_description": "said by the test"}))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with this lock")
}
