//! Builds the user that an operator names on the command line, as if that user had sent a token.

use std::fmt;

use serde_json::Value;

use super::claim_values::Claims;
use super::notices::Notices;
use super::user::user;
use proxy_base::diagnostic::nearest;
use proxy_config::{Authentication, IssuerConfig, Token};
use proxy_json::canonical;
use proxy_model::{NamedUser, Principal};

/// Claims that have their own field in a [`Principal`], or that describe the token instead of its user.
const OWN_FIELDS: [&str; 10] = ["sub", "iss", "aud", "exp", "nbf", "iat", "groups", "email", "name", "scope"];

/// A user of `auth.tokens`, a user of an issuer, or a user of whom only the name is known. The user has all
/// `requiredScopes` unless the claims list scopes. The error says what to write instead.
pub fn named_user(authentication: &Authentication, named: &NamedUser) -> Result<Principal, String> {
    let NamedUser { sub, claims } = named;
    if let Some(token) = authentication.tokens.iter().find(|token| token.sub == *sub) {
        return match claims.is_empty() {
            true => Ok(Token::principal(token)),
            false => {
                Err(format!("`{sub}` is a user of `auth.tokens`, which already defines their claims: remove --claims"))
            }
        };
    }
    let Some(issuer) = issuer_of(authentication, named)? else {
        if !authentication.issuers.is_empty() && !claims.is_empty() {
            return Err(format!(
                "no issuer has a user `{sub}`: name the issuer by its prefix, or by `iss` in the claims"
            ));
        }
        return Ok(without_issuer(sub, claims));
    };
    let mut claims = claims.clone();
    claims.insert("sub".to_owned(), sub.strip_prefix(&*issuer.prefix).unwrap_or(sub).into());
    let required = &authentication.required_scopes;
    if !claims.contains_key("scope") && !claims.contains_key("scp") {
        claims.insert("scope".to_owned(), required.join(" ").into());
    }
    let principal = user(&claims, issuer, &Notices::default());
    match required.iter().find(|scope| !principal.scopes.contains(scope)) {
        Some(scope) => Err(format!("a token without the scope `{scope}` is refused (`auth.requiredScopes`)")),
        None => Ok(principal),
    }
}

/// A name that no request can come under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchUser {
    pub problem: String,
    /// What was probably meant.
    pub hint: String,
}

impl fmt::Display for NoSuchUser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.problem, self.hint)
    }
}

/// Why no client can be this user: the name is not that of a token, and no issuer gives it to anybody. `None` if one can.
pub fn no_such_user(authentication: &Authentication, sub: &str) -> Option<NoSuchUser> {
    let Authentication { tokens, issuers, .. } = authentication;
    let is_known = tokens.iter().any(|token| token.sub == sub);
    if is_known || issuers.iter().any(|issuer| sub.starts_with(&*issuer.prefix)) {
        return None;
    }
    let problem = match (issuers.is_empty(), tokens.is_empty()) {
        (true, true) => format!("there is no user `{sub}`: without `auth`, the proxy does not tell users apart"),
        (true, false) => format!("there is no user `{sub}` in `auth.tokens`"),
        (false, _) => format!("there is no user `{sub}`: names of the issuer's users begin with its `prefix`"),
    };
    let meant: Vec<String> = if issuers.is_empty() {
        nearest(sub, tokens.iter().map(|token| token.sub.as_str())).map(str::to_owned).into_iter().collect()
    } else {
        issuers.iter().map(|issuer| format!("{}{sub}", issuer.prefix)).collect()
    };
    let question = if meant.is_empty() { String::new() } else { format!("did you mean `{}`? ", meant.join("` or `")) };
    let hint = format!("{question}`proxy login --list` shows the names of people who are logged in");
    Some(NoSuchUser { problem, hint })
}

/// The issuer that the claims or the prefix name, or else the issuer without a prefix.
fn issuer_of<'a>(
    authentication: &'a Authentication,
    NamedUser { sub, claims }: &NamedUser,
) -> Result<Option<&'a IssuerConfig>, String> {
    let issuers = &authentication.issuers;
    if let Some(named) = claims.get("iss") {
        let found = issuers.iter().find(|issuer| *named == issuer.issuer);
        return found.map(Some).ok_or_else(|| {
            let known: Vec<String> = issuers.iter().map(|issuer| format!("`{}`", issuer.issuer)).collect();
            match known.is_empty() {
                true => format!("the config has no issuer {named} (`auth.issuers`)"),
                false => format!("the config has no issuer {named}, only {}", known.join(", ")),
            }
        });
    }
    let prefixed = issuers.iter().find(|issuer| !issuer.prefix.is_empty() && sub.starts_with(&*issuer.prefix));
    Ok(prefixed.or_else(|| issuers.iter().find(|issuer| issuer.prefix.is_empty())))
}

/// A user where the config has no issuer: claims are read as most issuers write them.
fn without_issuer(sub: &str, claims: &Claims) -> Principal {
    let mut with_sub = claims.clone();
    with_sub.insert("sub".to_owned(), sub.into());
    let read = user(&with_sub, &IssuerConfig::new(""), &Notices::default());
    let rest: Claims = claims
        .iter()
        .filter(|(name, _)| !OWN_FIELDS.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    read.with(|user| {
        user.who = Principal::named(sub).who.clone();
        user.claims = canonical(&Value::Object(rest)).into();
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(config: &str, sub: &str, claims: Value) -> Result<Principal, String> {
        let (config, _) = proxy_config::load_text(std::path::Path::new("proxy.yaml"), config, &|_| None).unwrap();
        let Value::Object(claims) = claims else { panic!("no object") };
        named_user(&config.auth, &NamedUser { sub: sub.to_owned(), claims })
    }

    const ISSUERS: &str = "{serve: {publicUrl: 'https://h/mcp'}, auth: {requiredScopes: [mcp],
        tokens: [{token: a-token-of-24-characters, sub: ci, groups: [bots]}],
        issuers: [{issuer: 'https://a', prefix: 'a:', claims: [team]}, {issuer: 'https://b', prefix: 'b:'}]}}";

    #[test]
    fn a_user_of_an_issuer_has_what_a_token_with_these_claims_would_give() {
        let claims = json!({"groups": ["ops"], "email": "x@y", "team": "red", "other": 1});
        let ann = named(ISSUERS, "a:ann", claims).unwrap();
        assert_eq!((ann.sub(), ann.issuer(), &*ann.email), ("a:ann", "https://a", "x@y"));
        assert_eq!((&*ann.groups, &*ann.scopes), (&["ops".to_owned()][..], &["mcp".to_owned()][..]));
        assert_eq!(&*ann.claims, r#"{"team":"red"}"#);
        let by_issuer = named(ISSUERS, "ann", json!({"iss": "https://b"})).unwrap();
        assert_eq!((by_issuer.sub(), by_issuer.issuer()), ("b:ann", "https://b"));
    }

    #[test]
    fn a_user_of_a_token_is_the_one_of_the_config() {
        assert_eq!(*named(ISSUERS, "ci", json!({})).unwrap().groups, ["bots".to_owned()]);
        let error = named(ISSUERS, "ci", json!({"groups": ["ops"]})).unwrap_err();
        assert!(error.contains("remove --claims"), "{error}");
    }

    #[test]
    fn what_no_token_could_say_is_an_error() {
        let error = named(ISSUERS, "ann", json!({"groups": ["ops"]})).unwrap_err();
        assert!(error.contains("no issuer has a user `ann`"), "{error}");
        let error = named(ISSUERS, "a:ann", json!({"scope": "other"})).unwrap_err();
        assert!(error.contains("without the scope `mcp`"), "{error}");
        let error = named(ISSUERS, "ann", json!({"iss": "https://c"})).unwrap_err();
        assert!(error.contains("only `https://a`, `https://b`"), "{error}");
    }

    #[test]
    fn a_name_that_nobody_can_have_is_known_as_such() {
        let missing = |config: &str, sub: &str| {
            let (config, _) = proxy_config::load_text(std::path::Path::new("proxy.yaml"), config, &|_| None).unwrap();
            no_such_user(&config.auth, sub).map(|unknown| unknown.to_string())
        };
        for sub in ["ci", "a:ann", "b:ann"] {
            assert_eq!(missing(ISSUERS, sub), None, "{sub}");
        }
        let told = missing(ISSUERS, "ann").unwrap();
        assert!(told.contains("there is no user `ann`") && told.contains("did you mean `a:ann` or `b:ann`?"), "{told}");
        let without_prefix = "{serve: {publicUrl: 'https://h/mcp'}, auth: {issuers: [{issuer: 'https://a'}]}}";
        assert_eq!(missing(without_prefix, "ann"), None);
        let tokens = "auth: {tokens: [{token: a-token-of-24-characters, sub: deploy}]}";
        let told = missing(tokens, "deplpy").unwrap();
        assert!(
            told.contains("no user `deplpy` in `auth.tokens`") && told.contains("did you mean `deploy`?"),
            "{told}"
        );
        assert!(missing("{}", "ann").unwrap().contains("does not tell users apart"));
    }

    #[test]
    fn without_issuers_claims_are_read_as_most_issuers_write_them() {
        let ann = named("{}", "ann", json!({"groups": ["ops"], "scope": "a b", "team": "red"})).unwrap();
        assert_eq!((ann.sub(), ann.issuer(), ann.scopes.len()), ("ann", "", 2));
        assert_eq!((&*ann.groups, &*ann.claims), (&["ops".to_owned()][..], r#"{"team":"red"}"#));
        assert_eq!(named("{}", "zoe", json!({})).unwrap(), Principal::named("zoe"));
    }
}
