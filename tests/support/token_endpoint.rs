//! A token endpoint that exchanges tokens (RFC 8693), in the test's own process. It gives `exchanged-SUB-NUMBER` for a token
//! of SUB, and remembers what it was shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use super::listener;

#[derive(Clone, Debug)]
pub struct TokenEndpoint {
    pub url: String,
    state: Arc<EndpointState>,
}

#[derive(Debug, Default)]
struct EndpointState {
    seen: Mutex<Vec<TokenRequest>>,
    refusal: Mutex<Option<&'static str>>,
}

/// A request for a token.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    pub form: HashMap<String, String>,
    pub authorization: Option<String>,
}

impl TokenEndpoint {
    pub async fn start() -> Self {
        let (listener, origin) = listener::bind().await;
        let endpoint = TokenEndpoint { url: format!("{origin}/token"), state: Arc::default() };
        let answering = endpoint.clone();
        listener::serve(listener, move |request| {
            let endpoint = answering.clone();
            async move { Some(endpoint.answer(&request)) }
        });
        endpoint
    }

    /// Refuses every token from now on, with this error code.
    pub fn refuse(&self, code: Option<&'static str>) {
        *lock(&self.state.refusal) = code;
    }

    /// What it was asked for so far.
    pub fn seen(&self) -> Vec<TokenRequest> {
        lock(&self.state.seen).clone()
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<Body> {
        let authorization = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let form: HashMap<String, String> = url::form_urlencoded::parse(request.body()).into_owned().collect();
        let subject = form.get("subject_token").cloned().unwrap_or_default();
        let mut seen = lock(&self.state.seen);
        seen.push(TokenRequest { form, authorization: authorization.map(str::to_owned) });
        if let Some(code) = *lock(&self.state.refusal) {
            return listener::json(400, &json!({"error": code, "error_description": "the-reason-of-the-idp"}));
        }
        let token = format!("exchanged-{}-{}", sub(&subject), seen.len());
        listener::json(
            200,
            &json!({"access_token": token, "token_type": "Bearer", "expires_in": 600,
                "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}),
        )
    }
}

/// Whose token it is.
fn sub(token: &str) -> String {
    let payload = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok()).unwrap_or_default();
    let claims: Value = serde_json::from_slice(&payload).unwrap_or_default();
    claims["sub"].as_str().unwrap_or("nobody").to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
