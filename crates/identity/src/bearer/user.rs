//! Builds the user from the claims of a verified token.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::claim_values::{Claims, find, texts};
use super::claims::client;
use super::notices::Notices;
use proxy_config::IssuerConfig;
use proxy_json::{canonical, digest};
use proxy_model::{Principal, PrincipalData, Realm, Who};

/// The user of checked claims. Lists are sorted, because an issuer may send them in any order.
pub(super) fn user(claims: &Claims, issuer: &IssuerConfig, notices: &Notices) -> Principal {
    let sub = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
    let sub: Arc<str> = format!("{}{sub}", issuer.prefix).into();
    let odd = |claim: &str| notices.odd_claim(&issuer.issuer, claim);
    let text = |claim: &str| -> Arc<str> {
        match find(claims, claim) {
            None => "".into(),
            Some(Value::String(text)) => text.as_str().into(),
            Some(_) => {
                odd(claim);
                "".into()
            }
        }
    };
    let groups = match find(claims, &issuer.groups_claim) {
        None => {
            if omits_groups(claims, &issuer.groups_claim) {
                notices.groups_omitted(&issuer.issuer, &sub);
            }
            Vec::new()
        }
        Some(value) => texts(value).unwrap_or_else(|| {
            odd(&issuer.groups_claim);
            Vec::new()
        }),
    };
    let listed: Map<String, Value> =
        issuer.claims.iter().filter_map(|name| Some((name.clone(), find(claims, name)?.clone()))).collect();
    Principal::from(PrincipalData {
        who: Who { realm: Realm::Issuer(issuer.issuer.as_str().into()), sub },
        email: text(&issuer.email_claim),
        name: text(&issuer.name_claim),
        groups: sorted(groups).into(),
        claims: canonical(&Value::Object(listed)).into(),
        scopes: sorted(scopes(claims)).into(),
        client_id: client(claims).unwrap_or_default().into(),
        rights: rights(claims).into(),
    })
}

/// Claims about the rights of a token's holder and how they logged in. Servers may use them for authorization, so tokens that
/// differ in one of these claims do not share an exchanged token.
const RIGHTS: [&str; 13] = [
    "acr",
    "act",
    "amr",
    "aud",
    "authorization_details",
    "entitlements",
    "groups",
    "permissions",
    "realm_access",
    "resource_access",
    "roles",
    "tenant",
    "tid",
];

fn rights(claims: &Claims) -> String {
    let named: Map<String, Value> =
        RIGHTS.iter().filter_map(|name| Some(((*name).to_owned(), in_order(claims.get(*name)?)))).collect();
    if named.is_empty() { String::new() } else { digest(&Value::Object(named)) }
}

/// The value with sorted lists of texts: an issuer may send them in any order.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Array(items) => match texts(value) {
            Some(texts) => sorted(texts).into(),
            None => items.iter().map(in_order).collect(),
        },
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), in_order(member))).collect(),
        other => other.clone(),
    }
}

/// The scopes of a token: `scope` (RFC 9068), or `scp` as Entra and Okta write it; one text or a list.
fn scopes(claims: &Claims) -> Vec<String> {
    let named = ["scope", "scp"].iter().filter_map(|name| claims.get(*name)).filter_map(texts).flatten();
    named.flat_map(|text| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Whether the issuer says that there are groups which do not fit into the token, as Entra does.
fn omits_groups(claims: &Claims, groups_claim: &str) -> bool {
    let elsewhere = claims.get("_claim_names").and_then(|names| names.get(groups_claim)).is_some();
    elsewhere || claims.get("hasgroups").is_some_and(|flag| *flag == Value::Bool(true) || *flag == "true")
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(claims: Value, issuer: &IssuerConfig) -> (Principal, Notices) {
        let notices = Notices::default();
        let Value::Object(claims) = claims else { panic!("no object") };
        (user(&claims, issuer, &notices), notices)
    }

    #[test]
    fn a_renewed_token_gives_the_same_user() {
        let issuer =
            IssuerConfig { prefix: "corp:".into(), claims: vec!["team".into()], ..IssuerConfig::new("https://a") };
        let token = |exp: u64, groups: Value| {
            json!({"sub": "ann", "email": "a@b.c", "name": "Ann", "groups": groups, "exp": exp, "jti": exp.to_string(),
                "team": {"b": 1, "a": 2}, "secret": "x", "scope": "read write"})
        };
        let (first, _) = read(token(1, json!(["ops", "dev"])), &issuer);
        let (second, _) = read(token(2, json!(["dev", "ops", "ops"])), &issuer);
        assert_eq!(first, second);
        assert_eq!((first.sub(), first.issuer(), &*first.email), ("corp:ann", "https://a", "a@b.c"));
        assert_eq!(*first.groups, ["dev".to_owned(), "ops".to_owned()]);
        assert_eq!(*first.scopes, ["read".to_owned(), "write".to_owned()]);
        assert_eq!(&*first.claims, r#"{"team":{"a":2,"b":1}}"#, "only what is listed");
        let (moved, _) = read(token(1, json!(["dev"])), &issuer);
        assert!(moved != first && moved.who == first.who);
    }

    #[test]
    fn scopes_and_groups_are_where_the_issuer_puts_them() {
        let issuer = IssuerConfig { groups_claim: "realm_access.roles".into(), ..IssuerConfig::new("https://a") };
        let (keycloak, _) = read(json!({"sub": "a", "realm_access": {"roles": ["r"]}, "scp": ["x", "y z"]}), &issuer);
        assert_eq!((keycloak.groups.len(), keycloak.scopes.len()), (1, 3));
    }

    #[test]
    fn groups_that_were_left_out_are_counted_and_nobody_gets_them() {
        let issuer = IssuerConfig::new("https://a");
        for claims in [json!({"sub": "a", "_claim_names": {"groups": "src1"}}), json!({"sub": "a", "hasgroups": true})]
        {
            let (entra, notices) = read(claims, &issuer);
            assert!(entra.groups.is_empty());
            assert_eq!((notices.omitted_groups(), notices.odd_claims()), (1, 0));
        }
        let (odd, notices) = read(json!({"sub": "a", "groups": {"x": 1}, "email": 7}), &issuer);
        assert!(odd.groups.is_empty() && odd.email.is_empty());
        assert_eq!((notices.omitted_groups(), notices.odd_claims()), (0, 2));
    }
}
