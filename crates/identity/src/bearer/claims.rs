//! Checks the claims of a token.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::claim_values::{Claims, seconds, texts};
use super::error::TokenError;
use super::resource::Resource;
use proxy_config::IssuerConfig;

/// Where issuers put the ID of the client, the standard ones first.
const CLIENT_CLAIMS: [&str; 4] = ["client_id", "azp", "cid", "appid"];

/// How strict the claims are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Demands {
    pub(super) issuer: bool,
    pub(super) audience: bool,
    pub(super) expiry: bool,
}

impl Demands {
    /// What a JWT must have.
    pub(super) const JWT: Demands = Demands { issuer: true, audience: true, expiry: true };
}

/// What the claims say of where and how long a token counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Checked {
    /// When it expires, including the allowed clock skew; `None` if it has no expiry time.
    pub(super) expires: Option<SystemTime>,
    /// The profiles for which alone it is; `None` if it is for the whole proxy.
    pub(super) profiles: Option<Arc<[String]>>,
}

/// Checks the claims of a token.
pub(super) fn check(
    claims: &Claims,
    issuer: &IssuerConfig,
    resource: &Resource,
    demands: Demands,
    now: SystemTime,
) -> Result<Checked, TokenError> {
    let refuse = |why| Err(TokenError::Invalid(why));
    match claims.get("iss") {
        None if !demands.issuer => {}
        Some(Value::String(named)) if *named == issuer.issuer => {}
        _ => return refuse("the issuer of the token is not accepted"),
    }
    let profiles = match claims.get("aud") {
        None if !demands.audience => None,
        audience => {
            let named = audience.and_then(texts).unwrap_or_default();
            let is_ours = |name: &String| resource.is_audience(name) || issuer.audiences.contains(name);
            if named.iter().any(is_ours) {
                None
            } else {
                let profiles = named.iter().filter_map(|name| resource.profile_of_audience(name));
                let profiles: Arc<[String]> = profiles.map(str::to_owned).collect();
                if profiles.is_empty() {
                    return refuse("the token is not for this server (aud)");
                }
                Some(profiles)
            }
        }
    };
    let skew = issuer.clock_skew;
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => match seconds(value) {
            Some(seconds) => Ok(Some(UNIX_EPOCH + Duration::from_secs(seconds))),
            None => Err(TokenError::Invalid("the token has an invalid time")),
        },
    };
    let expires = match time("exp")? {
        Some(expires) => Some(expires + skew),
        None if demands.expiry => return refuse("the token has no expiry time (exp)"),
        None => None,
    };
    if expires.is_some_and(|expires| now >= expires) {
        return refuse("the token has expired");
    }
    for name in ["nbf", "iat"] {
        if time(name)?.is_some_and(|begin| begin > now + skew) {
            return refuse("the token is not valid yet");
        }
    }
    if claims.get("sub").and_then(Value::as_str).is_none_or(str::is_empty) {
        return refuse("the token does not name a user (sub)");
    }
    // Bound to a key that its holder would have to prove.
    if claims.contains_key("cnf") {
        return refuse("the token is bound to a key and cannot be used as a bearer token");
    }
    let is_known = |client: &str| issuer.clients.iter().any(|known| known == client);
    if !issuer.clients.is_empty() && !client(claims).is_some_and(is_known) {
        return refuse("the client of the token is not accepted");
    }
    Ok(Checked { expires, profiles })
}

/// The client that a token was given to.
pub(super) fn client(claims: &Claims) -> Option<&str> {
    CLIENT_CLAIMS.iter().find_map(|name| claims.get(*name)?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn outcome(change: impl FnOnce(&mut Value)) -> Result<Option<u64>, String> {
        let checked = checked(change)?;
        Ok(checked.expires.map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_secs()))
    }

    fn checked(change: impl FnOnce(&mut Value)) -> Result<Checked, String> {
        let mut claims = json!({
            "iss": "https://a", "aud": "https://h/mcp", "exp": NOW + 100, "sub": "ann", "azp": "cli",
        });
        change(&mut claims);
        let Value::Object(claims) = claims else { panic!("no object") };
        let issuer = IssuerConfig {
            audiences: vec!["api".to_owned()],
            clients: vec!["cli".to_owned()],
            ..IssuerConfig::new("https://a")
        };
        let resource = Resource::public("https://h/mcp");
        let now = UNIX_EPOCH + Duration::from_secs(NOW);
        check(&claims, &issuer, &resource, Demands::JWT, now).map_err(|error| error.to_string())
    }

    fn passes(change: impl FnOnce(&mut Value)) -> bool {
        outcome(change).is_ok()
    }

    #[test]
    fn a_token_counts_until_it_expires_by_a_clock_that_may_be_late() {
        assert_eq!(outcome(|_| ()), Ok(Some(NOW + 160)));
        assert!(passes(|claims| claims["exp"] = json!(NOW - 59)));
        assert_eq!(outcome(|claims| claims["exp"] = json!(NOW - 61)), Err("the token has expired".to_owned()));
        assert!(!passes(|claims| drop(claims.as_object_mut().unwrap().remove("exp"))));
        assert!(!passes(|claims| claims["exp"] = json!("soon")));
        for name in ["nbf", "iat"] {
            assert!(passes(|claims| claims[name] = json!(NOW + 59)), "{name}");
            assert!(!passes(|claims| claims[name] = json!(NOW + 61)), "{name}");
        }
    }

    #[test]
    fn a_token_is_for_this_server_and_of_this_issuer() {
        for audience in [json!("https://h/mcp/"), json!(["x", "https://h/mcp"]), json!("api")] {
            assert!(passes(|claims| claims["aud"] = audience.clone()), "{audience}");
        }
        for audience in [json!("https://h/other"), json!(["x"]), json!([]), json!(7), json!("api/"), Value::Null] {
            assert!(!passes(|claims| claims["aud"] = audience.clone()), "{audience}");
        }
        for issuer in [json!("https://a/"), json!("https://b"), json!(["https://a"])] {
            assert!(!passes(|claims| claims["iss"] = issuer.clone()), "{issuer}");
        }
    }

    #[test]
    fn a_token_for_a_profile_is_for_that_profile_alone() {
        let profiles = |audience: Value| {
            let checked = checked(|claims| claims["aud"] = audience).unwrap();
            checked.profiles.map(|profiles| profiles.to_vec())
        };
        assert_eq!(profiles(json!("https://h/mcp/a")), Some(vec!["a".to_owned()]));
        let several = json!(["https://h/mcp/a", "x", "https://h/mcp/b/"]);
        assert_eq!(profiles(several), Some(vec!["a".to_owned(), "b".to_owned()]));
        for whole in
            [json!("https://h/mcp"), json!(["https://h/mcp/a", "api"]), json!(["https://h/mcp/a", "https://h/mcp"])]
        {
            assert_eq!(profiles(whole.clone()), None, "{whole}");
        }
    }

    #[test]
    fn a_token_names_its_user_and_its_client_and_is_bound_to_no_key() {
        for sub in [json!(""), json!(7), Value::Null] {
            assert!(!passes(|claims| claims["sub"] = sub.clone()), "{sub}");
        }
        assert!(!passes(|claims| claims["cnf"] = json!({"jkt": "x"})));
        assert!(!passes(|claims| claims["azp"] = json!("other")));
        assert!(!passes(|claims| claims["client_id"] = json!("other")), "the standard claim decides");
        assert!(!passes(|claims| drop(claims.as_object_mut().unwrap().remove("azp"))));
    }
}
