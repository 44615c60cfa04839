//! Dynamic client registration, RFC 7591.

use axum::body::Body;
use http::Response;
use serde_json::{Value, json};

use super::books::Client;
use super::{AuthorizationServer, Registration, refusal};
use crate::support::listener;

impl AuthorizationServer {
    pub(super) fn register_client(&self, body: &[u8]) -> Response<Body> {
        let settings = self.settings();
        let Ok(declared) = serde_json::from_slice::<Value>(body) else {
            return refusal(400, "invalid_client_metadata");
        };
        let method = match settings.registration {
            Registration::Public => "none",
            Registration::Basic | Registration::EmptySecret => "client_secret_basic",
            Registration::Post => "client_secret_post",
            Registration::Refused | Registration::Absent => return refusal(400, "invalid_redirect_uri"),
        };
        let redirect_uris = declared["redirect_uris"].as_array().into_iter().flatten();
        let redirect_uris: Vec<_> = redirect_uris.filter_map(|uri| uri.as_str().map(str::to_owned)).collect();
        if redirect_uris.is_empty() {
            return refusal(400, "invalid_redirect_uri");
        }
        let mut books = self.books();
        let secret = match settings.registration {
            Registration::Basic | Registration::Post => Some(books.secret("client-secret")),
            _ => None,
        };
        // No two servers give the same ID: it is known where a client belongs.
        let port = self.url.rsplit(':').next().unwrap_or_default();
        let id = format!("client-{port}-{}", books.clients.len() + 1);
        let mut answer = json!({"client_id": id, "redirect_uris": redirect_uris});
        answer["token_endpoint_auth_method"] = json!(method);
        if settings.registration == Registration::EmptySecret {
            answer["client_secret"] = json!("");
            answer["token_endpoint_auth_method"] = json!("none");
        }
        if let Some(secret) = &secret {
            answer["client_secret"] = json!(secret);
            answer["client_secret_expires_at"] = json!(settings.secret_expires_at);
        }
        let method = if secret.is_some() { method } else { "none" };
        books.clients.insert(id, Client { secret, method, redirect_uris, declared });
        listener::json(201, &answer)
    }
}
