//! What is changed in the requests that rmcp makes, and in the responses before it reads them.

use std::mem;

use http::header::CONTENT_TYPE;
use http::{Request, Response};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::oauth::terms::AuthMethod;
use proxy_model::Secret;

/// The members of a token response that are read. Others, such as an ID token, rmcp would show in its log.
const TOKEN_MEMBERS: [&str; 7] =
    ["access_token", "token_type", "expires_in", "refresh_token", "scope", "issued_token_type", "resource"];

/// What is replaced in requests.
#[derive(Debug, Default)]
pub(crate) struct Rewrite {
    /// rmcp writes the URL of the server as it normalizes it; `None` to send no `resource`.
    pub(crate) resource: Option<String>,
    /// rmcp logs the code that it is given, so it is given another.
    pub(crate) code: Option<Secret>,
    /// rmcp registers public clients only.
    pub(crate) method: Option<AuthMethod>,
    /// The authorization server of the Python SDK looks for it in the form even if the header names the client.
    pub(crate) client_id: Option<String>,
    /// What was sent and must not be shown, even if the server repeats it.
    pub(crate) secrets: Vec<Secret>,
}

impl Rewrite {
    pub(crate) fn request(&self, request: &mut Request<Vec<u8>>) {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if kind.starts_with("application/x-www-form-urlencoded") {
            let body = mem::take(request.body_mut());
            *request.body_mut() = self.form(&body).into_bytes();
        } else if kind.starts_with("application/json")
            && let (Some(method), Ok(Value::Object(mut body))) = (self.method, serde_json::from_slice(request.body()))
        {
            body.insert("token_endpoint_auth_method".to_owned(), json!(method.as_str()));
            *request.body_mut() = Value::Object(body).to_string().into_bytes();
        }
    }

    fn form(&self, body: &[u8]) -> String {
        let has = |wanted: &str| form_urlencoded::parse(body).any(|(name, _)| name == wanted);
        let mut form = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(body) {
            match (&*name, &self.code) {
                ("resource", _) => {
                    form.extend_pairs(self.resource.iter().map(|resource| ("resource", resource)));
                }
                ("code", Some(code)) => {
                    form.append_pair("code", code.reveal());
                }
                _ => {
                    form.append_pair(&name, &value);
                }
            }
        }
        if let Some(client_id) = self.client_id.as_ref().filter(|_| !has("client_id")) {
            form.append_pair("client_id", client_id);
        }
        form.finish()
    }

    /// The authorization URL that rmcp has made, with the right `resource`.
    pub(crate) fn authorization_url(&self, url: &mut url::Url) {
        let kept: Vec<(String, String)> =
            url.query_pairs().filter(|(name, _)| name != "resource").map(|(n, v)| (n.into(), v.into())).collect();
        let mut pairs = url.query_pairs_mut();
        pairs.clear().extend_pairs(kept);
        if let Some(resource) = &self.resource {
            pairs.append_pair("resource", resource);
        }
    }
}

/// Brings a response into the form that rmcp reads, and returns the whole document.
pub(crate) fn response(response: &mut Response<Vec<u8>>) -> Value {
    let document: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    if let Value::Object(members) = &document {
        if members.contains_key("access_token") {
            *response.body_mut() = Value::Object(tokens(members)).to_string().into_bytes();
        } else if members.contains_key("client_id") && !members.get("redirect_uris").is_some_and(Value::is_array) {
            // A registration that does not repeat what was registered.
            let mut members = members.clone();
            members.insert("redirect_uris".to_owned(), json!([]));
            *response.body_mut() = Value::Object(members).to_string().into_bytes();
        }
    }
    document
}

/// The tokens of a response. Some servers write the lifetime as text, scopes as a list, or leave the type out.
fn tokens(members: &Map<String, Value>) -> Map<String, Value> {
    let known = members.iter().filter(|(name, value)| TOKEN_MEMBERS.contains(&name.as_str()) && !value.is_null());
    let mut tokens: Map<String, Value> = known.map(|(name, value)| (name.clone(), value.clone())).collect();
    let seconds = match tokens.get("expires_in") {
        Some(Value::String(text)) => text.trim().parse::<u64>().ok(),
        Some(value) => value.as_u64().or_else(|| value.as_f64().filter(|seconds| *seconds >= 0.0).map(|s| s as u64)),
        None => None,
    };
    match seconds {
        Some(seconds) => tokens.insert("expires_in".to_owned(), json!(seconds)),
        None => tokens.remove("expires_in"),
    };
    if let Some(Value::Array(scopes)) = tokens.get("scope") {
        let text: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
        let text = text.join(" ");
        tokens.insert("scope".to_owned(), json!(text));
    }
    // Empty texts are absent ones.
    for name in ["refresh_token", "scope"] {
        if tokens.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
            tokens.remove(name);
        }
    }
    let is_jag = tokens.contains_key("issued_token_type");
    match tokens.get("token_type").and_then(Value::as_str) {
        None => tokens.insert("token_type".to_owned(), json!("bearer")),
        // The type of an ID-JAG is not that of an access token, whatever the server calls it.
        Some(_) if is_jag => tokens.insert("token_type".to_owned(), json!("N_A")),
        Some(_) => None,
    };
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_request_has_the_resource_and_the_code_that_it_should() {
        let form = "grant_type=authorization_code&code=stand-in&resource=https%3A%2F%2Fh%2F&client_id=c";
        let request = || {
            let request = Request::post("https://as/t").header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            request.body(form.as_bytes().to_vec()).unwrap()
        };
        let rewritten = |rewrite: Rewrite| {
            let mut request = request();
            rewrite.request(&mut request);
            String::from_utf8(request.into_body()).unwrap()
        };
        let code = Some(Secret::new("a&b"));
        assert_eq!(
            rewritten(Rewrite { resource: Some("https://h".into()), code, ..Rewrite::default() }),
            "grant_type=authorization_code&code=a%26b&resource=https%3A%2F%2Fh&client_id=c"
        );
        assert_eq!(rewritten(Rewrite::default()), "grant_type=authorization_code&code=stand-in&client_id=c");
    }

    #[test]
    fn an_authorization_url_has_the_resource_that_it_should() {
        let mut url = url::Url::parse("https://as/a?tenant=1&scope=a+b&resource=https%3A%2F%2Fh%2F").unwrap();
        Rewrite { resource: Some("https://h".into()), ..Rewrite::default() }.authorization_url(&mut url);
        assert_eq!(url.as_str(), "https://as/a?tenant=1&scope=a+b&resource=https%3A%2F%2Fh");
        Rewrite::default().authorization_url(&mut url);
        assert_eq!(url.as_str(), "https://as/a?tenant=1&scope=a+b");
    }

    #[test]
    fn a_registration_asks_for_the_method_that_the_server_has() {
        let request = Request::post("https://as/r").header(CONTENT_TYPE, "application/json");
        let mut request = request.body(br#"{"token_endpoint_auth_method":"none","x":1}"#.to_vec()).unwrap();
        Rewrite { method: Some(AuthMethod::Post), ..Rewrite::default() }.request(&mut request);
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        assert_eq!(body, json!({"token_endpoint_auth_method": "client_secret_post", "x": 1}));
    }

    #[test]
    fn odd_token_responses_are_brought_into_form() {
        let read = |document: Value| {
            let mut answer = Response::new(document.to_string().into_bytes());
            response(&mut answer);
            serde_json::from_slice::<Value>(answer.body()).unwrap()
        };
        let odd = json!({"access_token": "a", "expires_in": "3600", "scope": ["x", "y"], "id_token": "s3cret",
            "refresh_token": ""});
        assert_eq!(read(odd), json!({"access_token": "a", "expires_in": 3600, "scope": "x y", "token_type": "bearer"}));
        let jag = json!({"access_token": "a", "issued_token_type": "t", "token_type": "bearer"});
        assert_eq!(read(jag.clone())["token_type"], "N_A");
        let silent = json!({"client_id": "c"});
        assert_eq!(read(silent), json!({"client_id": "c", "redirect_uris": []}));
        let other = json!({"error": "invalid_grant", "detail": 1});
        assert_eq!(read(other.clone()), other);
    }
}
