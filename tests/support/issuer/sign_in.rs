//! People who sign in at the issuer: it knows them by a cookie of their browser, and asks nothing.

use std::collections::HashMap;

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::json;
use sha2::{Digest, Sha256};
use url::Url;

use super::{Issuer, lock};
use crate::support::listener;

/// The cookie that says who sits at a browser.
pub const SIGNED_IN: &str = "who";

/// A person who was sent back with a code.
#[derive(Clone, Debug)]
pub(super) struct SignedIn {
    sub: String,
    redirect_uri: String,
    challenge: String,
    resource: Option<String>,
}

impl Issuer {
    /// Sends whoever sits at the browser back with a code.
    pub(super) fn authorize(&self, request: &Request<Bytes>) -> Response<Body> {
        let query = request.uri().query().unwrap_or_default();
        let asked: HashMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let cookies = request.headers().get("cookie").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut pairs = cookies.split("; ").filter_map(|pair| pair.split_once('='));
        let Some((_, sub)) = pairs.find(|(name, _)| *name == SIGNED_IN) else { return listener::text(403, "who?") };
        let Ok(mut back) = Url::parse(&asked["redirect_uri"]) else { return listener::text(400, "a bad redirect URI") };
        if lock(&self.state.forgotten).iter().any(|forgotten| forgotten == sub) {
            back.query_pairs_mut().append_pair("error", "access_denied").append_pair("state", &asked["state"]);
            back.query_pairs_mut().append_pair("iss", &self.url);
            return redirect_to(&back);
        }
        let mut codes = lock(&self.state.signed_in);
        let code = format!("code-{}-{}", codes.len() + 1, SIGN_IN_CODE);
        codes.push((
            code.clone(),
            Some(SignedIn {
                sub: sub.to_owned(),
                redirect_uri: asked["redirect_uri"].clone(),
                challenge: asked["code_challenge"].clone(),
                resource: asked.get("resource").cloned(),
            }),
        ));
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &asked["state"]);
        back.query_pairs_mut().append_pair("iss", &self.url);
        redirect_to(&back)
    }

    /// Gives a token for a code, once.
    pub(super) fn token_for_code(&self, request: &Request<Bytes>) -> Response<Body> {
        let asked: HashMap<String, String> = url::form_urlencoded::parse(request.body()).into_owned().collect();
        let mut codes = lock(&self.state.signed_in);
        let known = codes.iter_mut().find(|(code, _)| *code == asked["code"]).and_then(|(_, person)| person.take());
        let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(&asked["code_verifier"]));
        let fits = |person: &SignedIn| person.challenge == verifier && person.redirect_uri == asked["redirect_uri"];
        let Some(person) = known.filter(fits) else { return listener::json(400, &json!({"error": "invalid_grant"})) };
        let token = self.token_with(&person.sub, json!({"aud": person.resource, "client_id": "pages"}));
        listener::json(200, &json!({"access_token": token, "token_type": "Bearer", "expires_in": 600}))
    }

    /// How many of the codes were redeemed.
    pub fn redeemed_codes(&self) -> usize {
        lock(&self.state.signed_in).iter().filter(|(_, person)| person.is_none()).count()
    }
}

fn redirect_to(address: &Url) -> Response<Body> {
    let mut redirect = listener::text(302, "");
    redirect.headers_mut().insert("location", address.as_str().parse().expect("a header"));
    redirect
}

/// A part of every code, to be looked for where it must not be.
pub const SIGN_IN_CODE: &str = "secret-sign-in-code";
