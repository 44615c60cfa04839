//! An issuer of tokens in the test's own process: it rotates its keys, answers about opaque tokens, and misbehaves by order
//! of the test.

mod sign_in;
mod signing_key;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use super::listener;

pub use self::sign_in::{SIGN_IN_CODE, SIGNED_IN};
pub use self::signing_key::{SigningKey, unsigned};

/// The audience of its tokens.
pub const AUDIENCE: &str = "api://proxy";

/// What it does instead of handing out its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IssuerFault {
    Down,
    TooLarge,
    /// Never answers.
    Silent,
    RedirectTo(&'static str),
}

#[derive(Clone, Debug)]
pub struct Issuer {
    pub url: String,
    state: Arc<IssuerState>,
}

#[derive(Debug, Default)]
struct IssuerState {
    published: Mutex<Vec<Value>>,
    current: Mutex<Option<Arc<SigningKey>>>,
    fault: Mutex<Option<IssuerFault>>,
    key_fetches: AtomicUsize,
    metadata_fetches: AtomicUsize,
    opaque: Mutex<HashMap<String, Value>>,
    questions: AtomicUsize,
    hesitates: AtomicBool,
    /// How often it was shown a code.
    code_requests: AtomicUsize,
    broods: AtomicBool,
    /// The codes, each with its person until it is redeemed.
    signed_in: Mutex<Vec<(String, Option<sign_in::SignedIn>)>>,
    /// The people that were removed.
    forgotten: Mutex<Vec<String>>,
}

impl Issuer {
    pub async fn start() -> Self {
        let (listener, url) = listener::bind().await;
        let issuer = Issuer { url, state: Arc::default() };
        issuer.rotate(SigningKey::new("ES256"));
        let answering = issuer.clone();
        listener::serve(listener, move |request| {
            let issuer = answering.clone();
            async move { issuer.answer(&request).await }
        });
        issuer
    }

    /// Signs with another key from now on, and publishes it beside the others.
    pub fn rotate(&self, key: SigningKey) {
        self.publish(key.jwk());
        *lock(&self.state.current) = Some(Arc::new(key));
    }

    /// Publishes something beside its keys.
    pub fn publish(&self, jwk: Value) {
        lock(&self.state.published).push(jwk);
    }

    pub fn key(&self) -> Arc<SigningKey> {
        lock(&self.state.current).clone().expect("it has a key")
    }

    pub fn set_fault(&self, fault: Option<IssuerFault>) {
        *lock(&self.state.fault) = fault;
    }

    /// Makes it think for a while about tokens that it does not know.
    pub fn hesitate(&self) {
        self.state.hesitates.store(true, Ordering::SeqCst);
    }

    /// Makes it never answer whoever shows a code that it does not know.
    pub fn brood(&self) {
        self.state.broods.store(true, Ordering::SeqCst);
    }

    /// How often it was shown a code.
    pub fn code_requests(&self) -> usize {
        self.state.code_requests.load(Ordering::SeqCst)
    }

    /// Removes a person: from now on nobody signs in with this name.
    pub fn forget(&self, sub: &str) {
        lock(&self.state.forgotten).push(sub.to_owned());
    }

    /// How often its keys were asked for.
    pub fn key_fetches(&self) -> usize {
        self.state.key_fetches.load(Ordering::SeqCst)
    }

    /// How often its metadata were asked for.
    pub fn metadata_fetches(&self) -> usize {
        self.state.metadata_fetches.load(Ordering::SeqCst)
    }

    /// How often it was asked about a token.
    pub fn questions(&self) -> usize {
        self.state.questions.load(Ordering::SeqCst)
    }

    /// The claims of a good token of this user.
    pub fn claims(&self, sub: &str) -> Value {
        let now = now();
        json!({"iss": self.url, "aud": AUDIENCE, "sub": sub, "iat": now, "exp": now + 600})
    }

    /// A good token of this user.
    pub fn token(&self, sub: &str) -> String {
        self.token_with(sub, json!({}))
    }

    /// A good token, with other claims; null removes one.
    pub fn token_with(&self, sub: &str, changes: Value) -> String {
        let key = self.key();
        key.sign(&key.header(), &changed(self.claims(sub), changes))
    }

    /// A token that only the issuer can read.
    pub fn add_opaque(&self, token: &str, answer: Value) {
        lock(&self.state.opaque).insert(token.to_owned(), answer);
    }

    async fn answer(&self, request: &Request<Bytes>) -> Option<Response<Body>> {
        let fault = lock(&self.state.fault).clone();
        match request.uri().path() {
            "/.well-known/oauth-authorization-server" => {
                self.state.metadata_fetches.fetch_add(1, Ordering::SeqCst);
                if fault == Some(IssuerFault::Down) {
                    return Some(listener::text(503, "down"));
                }
                let document = json!({
                    "issuer": self.url,
                    "jwks_uri": format!("{}/keys", self.url),
                    "authorization_endpoint": format!("{}/authorize", self.url),
                    "token_endpoint": format!("{}/token", self.url),
                    "scopes_supported": ["openid"],
                    "authorization_response_iss_parameter_supported": true,
                });
                Some(listener::json(200, &document))
            }
            "/authorize" => Some(self.authorize(request)),
            "/token" => {
                self.state.code_requests.fetch_add(1, Ordering::SeqCst);
                let answer = self.token_for_code(request);
                if answer.status().is_success() || !self.state.broods.load(Ordering::SeqCst) {
                    return Some(answer);
                }
                std::future::pending().await
            }
            "/keys" => {
                self.state.key_fetches.fetch_add(1, Ordering::SeqCst);
                match fault {
                    None => Some(listener::json(200, &json!({"keys": *lock(&self.state.published)}))),
                    Some(IssuerFault::Down) => Some(listener::text(503, "down")),
                    Some(IssuerFault::TooLarge) => {
                        Some(listener::json(200, &json!({"keys": [], "x": "y".repeat(2 << 20)})))
                    }
                    Some(IssuerFault::Silent) => std::future::pending().await,
                    Some(IssuerFault::RedirectTo(place)) => {
                        let mut redirect = listener::text(302, "");
                        redirect.headers_mut().insert("location", place.parse().expect("a header"));
                        Some(redirect)
                    }
                }
            }
            "/introspect" => {
                self.state.questions.fetch_add(1, Ordering::SeqCst);
                if fault.is_some() {
                    return Some(listener::text(500, "down"));
                }
                // `door:secret-of-the-door`
                let is_known = request.headers()["authorization"] == "Basic ZG9vcjpzZWNyZXQtb2YtdGhlLWRvb3I=";
                if !is_known {
                    return Some(listener::text(401, "who are you?"));
                }
                let form: HashMap<String, String> = url::form_urlencoded::parse(request.body()).into_owned().collect();
                let found = lock(&self.state.opaque).get(&form["token"]).cloned();
                if found.is_none() && self.state.hesitates.load(Ordering::SeqCst) {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                }
                Some(listener::json(200, &found.unwrap_or(json!({"active": false}))))
            }
            _ => Some(listener::text(404, "")),
        }
    }
}

/// Claims with changes; null removes one.
pub fn changed(mut claims: Value, changes: Value) -> Value {
    let (Value::Object(known), Value::Object(changes)) = (&mut claims, changes) else { panic!("objects") };
    for (name, value) in changes {
        match value {
            Value::Null => drop(known.remove(&name)),
            value => drop(known.insert(name, value)),
        }
    }
    claims
}

/// The time in seconds, as tokens have it.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
