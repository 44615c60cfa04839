//! The token endpoint with all its grants, and revocation.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Response;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::books::Refresh;
use super::{AuthorizationServer, Seen, refusal};
use crate::support::listener;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ASSERTION: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

type Refused = Response<Body>;

impl AuthorizationServer {
    pub(super) fn token(&self, request: &Seen) -> Response<Body> {
        self.remember_secrets(request);
        let answer = match request.kind.as_str() {
            "authorization_code" => self.exchange_code(request),
            "refresh_token" => self.refresh(request),
            "client_credentials" | ASSERTION => self.log_in_directly(request),
            EXCHANGE => self.exchange_token(request),
            _ => Err(refusal(400, "unsupported_grant_type")),
        };
        answer.map_or_else(|refused| refused, |tokens| listener::json(200, &tokens))
    }

    /// What a client shows here must be seen nowhere else.
    fn remember_secrets(&self, request: &Seen) {
        let secret = ["code_verifier", "client_assertion", "assertion", "subject_token", "client_secret"];
        let shown = secret.iter().filter_map(|name| request.get(name)).map(str::to_owned);
        self.books().secrets.extend(shown);
    }

    /// The client of a request, if it proves to be that as it was agreed.
    fn client_of(&self, request: &Seen) -> Result<String, Refused> {
        let basic = request.authorization.as_deref().and_then(basic_credentials);
        let posted = request.get("client_secret").map(str::to_owned);
        let method = match (&basic, &posted) {
            (Some(_), _) => "client_secret_basic",
            (None, Some(_)) => "client_secret_post",
            (None, None) => "none",
        };
        let (id, secret) = match basic {
            Some((id, secret)) => (id, Some(secret)),
            None => (request.get("client_id").unwrap_or_default().to_owned(), posted),
        };
        if self.settings().client_documents && id.starts_with("https://") && secret.is_none() {
            return Ok(id);
        }
        let books = self.books();
        let proved = books.clients.get(&id).is_some_and(|client| client.secret == secret && client.method == method);
        if proved { Ok(id) } else { Err(refusal(401, "invalid_client")) }
    }

    fn exchange_code(&self, request: &Seen) -> Result<Value, Refused> {
        let client = self.client_of(request)?;
        let code = request.get("code").and_then(|code| self.books().codes.remove(code));
        let code = code.ok_or_else(|| refusal(400, "invalid_grant"))?;
        let verifier = request.get("code_verifier").unwrap_or_default();
        let proved = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)) == code.challenge;
        let same = code.client == client && request.get("redirect_uri") == Some(code.redirect_uri.as_str());
        if !proved || !same || request.get("resource") != code.resource.as_deref() {
            return Err(refusal(400, "invalid_grant"));
        }
        let family = self.books().new_family();
        Ok(self.tokens(&client, &code.scopes, code.resource, family, true))
    }

    fn refresh(&self, request: &Seen) -> Result<Value, Refused> {
        let client = self.client_of(request)?;
        let rotates = self.settings().rotates;
        let shown = request.get("refresh_token").unwrap_or_default();
        let found = self.books().use_refresh(shown, rotates).map_err(|_| refusal(400, "invalid_grant"))?;
        let asked: Vec<_> = request.get("scope").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        if found.client != client || request.get("resource") != found.resource.as_deref() {
            return Err(refusal(400, "invalid_grant"));
        }
        if asked.iter().any(|scope| !found.scopes.contains(scope)) {
            return Err(refusal(400, "invalid_scope"));
        }
        Ok(self.tokens(&client, &found.scopes, found.resource, found.family, rotates))
    }

    /// Grants without a person: the client's own, or somebody else's word for the user.
    fn log_in_directly(&self, request: &Seen) -> Result<Value, Refused> {
        let client = match request.get("client_assertion") {
            Some(assertion) => self.client_of_assertion(assertion)?,
            None => self.client_of(request)?,
        };
        if request.kind == ASSERTION && !request.get("assertion").is_some_and(|given| given.starts_with("id-jag-")) {
            return Err(refusal(400, "invalid_grant"));
        }
        let scopes: Vec<_> = request.get("scope").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let family = self.books().new_family();
        let mut answer = self.tokens(&client, &scopes, None, family, false);
        if let Some(members) = answer.as_object_mut() {
            members.remove("refresh_token");
        }
        Ok(answer)
    }

    /// The signature is for others to verify; the claims are looked at.
    fn client_of_assertion(&self, assertion: &str) -> Result<String, Refused> {
        let claims = assertion.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        let claims: Value = claims.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let (issuer, subject) = (claims["iss"].as_str().unwrap_or_default(), claims["sub"].as_str());
        let audience =
            claims["aud"].as_str().map(str::to_owned).or_else(|| claims["aud"][0].as_str().map(str::to_owned));
        let good = Some(issuer) == subject
            && audience == Some(self.issuer())
            && claims["jti"].is_string()
            && claims["exp"].as_u64() <= claims["iat"].as_u64().map(|issued| issued + 300);
        if good { Ok(issuer.to_owned()) } else { Err(refusal(401, "invalid_client")) }
    }

    /// The first hop of the enterprise flow: this server as the identity provider.
    fn exchange_token(&self, request: &Seen) -> Result<Value, Refused> {
        self.client_of(request)?;
        let wanted = [
            ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ];
        let complete = ["subject_token", "audience", "resource"].iter().all(|name| request.get(name).is_some());
        if !complete || wanted.iter().any(|(name, value)| request.get(name) != Some(value)) {
            return Err(refusal(400, "invalid_request"));
        }
        let settings = self.settings();
        Ok(json!({
            "access_token": self.books().secret("id-jag"),
            "issued_token_type": settings.issued_token_type,
            "token_type": settings.exchanged_token_type,
        }))
    }

    fn tokens(&self, client: &str, scopes: &[String], resource: Option<String>, family: u64, refresh: bool) -> Value {
        let settings = self.settings();
        let granted: Vec<String> = match &settings.grants_only {
            Some(only) => scopes.iter().filter(|scope| only.contains(&scope.as_str())).cloned().collect(),
            None => scopes.to_vec(),
        };
        let mut books = self.books();
        let mut answer = json!({"token_type": "Bearer"});
        answer["access_token"] = json!(books.new_access(family, &granted, settings.lifetime));
        if let Some(lifetime) = settings.lifetime {
            answer["expires_in"] = json!(lifetime);
        }
        if granted != scopes {
            answer["scope"] = json!(granted.join(" "));
        }
        if refresh && settings.gives_refresh_tokens {
            answer["refresh_token"] = json!(books.new_refresh(Refresh::new(client, &granted, resource, family)));
        }
        answer
    }

    pub(super) fn revoke(&self, request: &Seen) -> Response<Body> {
        if let Err(refused) = self.client_of(request) {
            return refused;
        }
        self.books().revoke(request.get("token").unwrap_or_default());
        listener::text(200, "")
    }
}

/// RFC 6749, 2.3.1: both parts are encoded as in forms.
fn basic_credentials(header: &str) -> Option<(String, String)> {
    let decoded = STANDARD.decode(header.strip_prefix("Basic ")?).ok()?;
    let (id, secret) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    let plain = |part: &str| {
        let pair = format!("x={part}");
        url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned())
    };
    Some((plain(id)?, plain(secret)?))
}
