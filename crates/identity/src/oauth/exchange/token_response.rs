//! Reads the response of a token endpoint.

use oauth2::TokenResponse;
use oauth2::basic::{BasicTokenResponse, BasicTokenType};
use serde_json::{Map, Value, json};

use crate::oauth::terms::Grant;
use proxy_model::Secret;

/// A token that can be shown as a bearer token; `None` for another document.
pub(super) fn granted(document: &Value) -> Option<Grant> {
    let token: BasicTokenResponse = serde_json::from_value(normalized(document)).ok()?;
    let is_bearer = *token.token_type() == BasicTokenType::Bearer;
    if token.access_token().secret().is_empty() || !is_bearer {
        return None;
    }
    let scopes = token.scopes().map(|scopes| scopes.iter().map(|scope| scope.to_string()).collect());
    Some(Grant {
        access_token: Secret::new(token.access_token().secret()),
        refresh_token: token.refresh_token().map(|token| Secret::new(token.secret())),
        expires_in: token.expires_in(),
        scopes,
    })
}

/// The tokens of a response, as RFC 6749 has them; another document as it is. Some servers write the lifetime as text,
/// scopes as a list, or leave the type out.
pub(crate) fn normalized(document: &Value) -> Value {
    let Some(members) = document.as_object().filter(|members| members.contains_key("access_token")) else {
        return document.clone();
    };
    let mut tokens: Map<String, Value> = members.clone();
    tokens.retain(|_, value| !value.is_null());
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
    Value::Object(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_token_responses_are_brought_into_form() {
        let odd = json!({"access_token": "a", "expires_in": "3600", "scope": ["x", "y"], "refresh_token": ""});
        let expected = json!({"access_token": "a", "expires_in": 3600, "scope": "x y", "token_type": "bearer"});
        assert_eq!(normalized(&odd), expected);
        let jag = json!({"access_token": "a", "issued_token_type": "t", "token_type": "bearer"});
        assert_eq!(normalized(&jag)["token_type"], "N_A");
        let other = json!({"error": "invalid_grant", "detail": 1});
        assert_eq!(normalized(&other), other);
    }

    #[test]
    fn only_a_bearer_token_is_granted() {
        assert!(granted(&json!({"access_token": "a", "token_type": "BEARER"})).is_some());
        for other in [json!({"access_token": ""}), json!({"access_token": "a", "token_type": "mac"}), json!([])] {
            assert_eq!(granted(&other), None, "{other}");
        }
    }
}
