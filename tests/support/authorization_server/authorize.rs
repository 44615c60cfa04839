//! The authorization endpoint: a person who agrees at once, or does not.

use axum::body::Body;
use http::Response;
use url::Url;

use super::books::Code;
use super::{Approval, AuthorizationServer, Seen};
use crate::support::listener;

impl AuthorizationServer {
    pub(super) fn authorize(&self, request: &Seen) -> Response<Body> {
        let settings = self.settings();
        let (Some(client), Some(redirect_uri)) = (request.get("client_id"), request.get("redirect_uri")) else {
            return listener::text(400, "a request without client or redirect URI");
        };
        let mut books = self.books();
        let is_document = settings.client_documents && client.starts_with("https://");
        // A client that was registered by hand may use any port on loopback.
        let known = is_document
            || books.clients.get(client).is_some_and(|client| {
                client.redirect_uris.is_empty() || client.redirect_uris.iter().any(|uri| uri == redirect_uri)
            });
        if !known {
            return listener::text(400, "an unknown client or redirect URI");
        }
        let (Some(challenge), Some("S256")) = (request.get("code_challenge"), request.get("code_challenge_method"))
        else {
            return listener::text(400, "a request without PKCE");
        };
        let Ok(mut back) = Url::parse(redirect_uri) else { return listener::text(400, "a bad redirect URI") };
        let scopes = request.get("scope").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let code = Code {
            client: client.to_owned(),
            redirect_uri: redirect_uri.to_owned(),
            challenge: challenge.to_owned(),
            scopes,
            resource: request.get("resource").map(str::to_owned),
        };
        let text = books.secret("code");
        books.codes.insert(text.clone(), code);
        drop(books);
        let state = request.get("state").unwrap_or_default();
        let mut pairs = back.query_pairs_mut();
        match settings.approval {
            Approval::Denied | Approval::DeniedByWrongIssuer => {
                pairs.append_pair("error", "access_denied").append_pair("error_description", "the-person-said-no");
            }
            Approval::NoCode => {}
            _ => {
                pairs.append_pair("code", &text);
            }
        }
        match settings.approval {
            Approval::WrongState => {
                pairs.append_pair("state", "of-somebody-else");
            }
            Approval::NoState => {}
            _ => {
                pairs.append_pair("state", state);
            }
        }
        match settings.approval {
            Approval::WrongIssuer | Approval::DeniedByWrongIssuer => {
                pairs.append_pair("iss", "https://somebody-else.example");
            }
            Approval::NoIssuer => {}
            _ => {
                pairs.append_pair("iss", &self.claimed_issuer());
            }
        }
        drop(pairs);
        let builder = Response::builder().status(302).header("location", back.as_str());
        builder.body(Body::empty()).expect("a response")
    }
}
