//! What an API says about credentials. The config sets them; this only tells what is missing.

use crate::document::{Documents, Node, Place};
use crate::operation::{FoundOperation, ParameterPlace};

/// Credentials that an API expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A key in a header with this name.
    Header(String),
    /// A key in the query, under this name.
    Query(String),
    Cookie(String),
    /// The header `Authorization` with this scheme, such as `Basic` or `Bearer`.
    Authorization(String),
    OAuth,
    OpenIdConnect,
    ClientCertificate,
}

impl Credential {
    fn read(scheme: Place<'_>) -> Option<Self> {
        let node = scheme.node;
        let name = || node.text_of("name").map(str::to_owned);
        Some(match (node.text_of("type")?, node.text_of("in")) {
            ("apiKey", Some("header")) => Credential::Header(name()?),
            ("apiKey", Some("query")) => Credential::Query(name()?),
            ("apiKey", Some("cookie")) => Credential::Cookie(name()?),
            ("http", _) => Credential::Authorization(capitalized(node.text_of("scheme")?)),
            ("oauth2", _) => Credential::OAuth,
            ("openIdConnect", _) => Credential::OpenIdConnect,
            ("mutualTLS", _) => Credential::ClientCertificate,
            _ => return None,
        })
    }

    /// Whether the config has it, by the headers that it sends with each request and the query of its URL.
    fn is_given(&self, given: &Given) -> bool {
        let has_header = |name: &str| given.headers.iter().any(|header| header.eq_ignore_ascii_case(name));
        match self {
            Credential::Header(name) => has_header(name),
            Credential::Query(name) => given.query.contains(name),
            Credential::Cookie(_) => has_header("cookie"),
            Credential::Authorization(_) | Credential::OAuth | Credential::OpenIdConnect => {
                given.has_auth || has_header("authorization")
            }
            // Set up outside of the proxy.
            Credential::ClientCertificate => true,
        }
    }

    /// How to configure it.
    fn hint(&self) -> String {
        match self {
            Credential::Header(name) => format!("a key in the header `{name}` (`headers: {{{name}: ...}}`)"),
            Credential::Query(name) => format!("a key in the query (`url: https://...?{name}=...`)"),
            Credential::Cookie(name) => format!("the cookie `{name}` (`headers: {{Cookie: {name}=...}}`)"),
            Credential::Authorization(scheme) => {
                format!("`{scheme}` authorization (`headers: {{Authorization: {scheme} ...}}`)")
            }
            Credential::OAuth => "an OAuth token (`auth`, or the header `Authorization`)".to_owned(),
            Credential::OpenIdConnect => "an OpenID Connect token (`auth`, or the header `Authorization`)".to_owned(),
            Credential::ClientCertificate => "a client certificate".to_owned(),
        }
    }
}

fn capitalized(scheme: &str) -> String {
    let mut characters = scheme.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The credentials that a config has.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The names of headers that are sent with each request.
    pub headers: Vec<String>,
    /// The names in the query of the URL.
    pub query: Vec<String>,
    /// Whether there is an `auth`.
    pub has_auth: bool,
}

/// The security schemes of a description, and in which combinations requests need them.
#[derive(Clone, Debug, Default)]
pub struct Security {
    schemes: Vec<(String, Credential)>,
    /// What the API as a whole needs.
    whole: Alternatives,
    /// What operations need that say so themselves, and how many they are.
    of_operations: Vec<(Alternatives, usize)>,
}

/// The names of schemes: one of these lists is needed, with all its schemes. Empty if nothing is needed.
type Alternatives = Vec<Vec<String>>;

fn alternatives(node: &Node) -> Alternatives {
    let alternatives = node.items_of("security").iter().filter_map(Node::map);
    alternatives.map(|names| names.keys().map(str::to_owned).collect()).collect()
}

impl Security {
    pub(crate) fn read(documents: &Documents, operations: &[FoundOperation<'_>]) -> Self {
        let root = documents.root();
        let components = root.get("components").and_then(|components| components.get("securitySchemes"));
        let mut schemes = Vec::new();
        if let Some(named) = components {
            for (name, node) in named.node.map().into_iter().flat_map(|map| map.iter()) {
                let scheme = documents.object(named.at(node)).ok().and_then(Credential::read);
                schemes.extend(scheme.map(|scheme| (name.to_owned(), scheme)));
            }
        }
        let mut of_operations: Vec<(Alternatives, usize)> = Vec::new();
        for own in operations.iter().map(|operation| alternatives(operation.place.node)) {
            match of_operations.iter_mut().find(|(known, _)| *known == own) {
                Some((_, number)) => *number += 1,
                None => of_operations.push((own, 1)),
            }
        }
        Security { schemes, whole: alternatives(root.node), of_operations }
    }

    /// Whether a parameter is a credential, which the config sets and not the model.
    pub(crate) fn sets(&self, place: ParameterPlace, name: &str) -> bool {
        self.schemes.iter().any(|(_, scheme)| match (scheme, place) {
            (Credential::Header(key), ParameterPlace::Header) => key.eq_ignore_ascii_case(name),
            (Credential::Query(key), ParameterPlace::Query) | (Credential::Cookie(key), ParameterPlace::Cookie) => {
                key == name
            }
            _ => false,
        })
    }

    /// The names of the credentials that stand in this place.
    pub(crate) fn names(&self, place: ParameterPlace) -> Vec<String> {
        let name = |scheme: &Credential| match (scheme, place) {
            (Credential::Query(name), ParameterPlace::Query) | (Credential::Cookie(name), ParameterPlace::Cookie) => {
                Some(name.clone())
            }
            _ => None,
        };
        self.schemes.iter().filter_map(|(_, scheme)| name(scheme)).collect()
    }

    /// What the API asks for and the config does not have, for people; `None` if nothing is missing.
    pub fn missing(&self, given: &Given) -> Option<String> {
        let scheme = |name: &String| self.schemes.iter().find(|(known, _)| known == name).map(|(_, scheme)| scheme);
        let is_given = |alternative: &Vec<String>| {
            alternative.iter().all(|name| scheme(name).is_none_or(|scheme| scheme.is_given(given)))
        };
        let is_missing = |needed: &Alternatives| !needed.is_empty() && !needed.iter().any(is_given);
        let hints = |needed: &Alternatives| {
            let hints = needed.iter().map(|alternative| {
                let hints = alternative.iter().filter_map(scheme).map(Credential::hint);
                hints.collect::<Vec<_>>().join(" with ")
            });
            hints.collect::<Vec<_>>().join(", or ")
        };
        if is_missing(&self.whole) {
            return Some(format!("the API asks for credentials that the config does not have: {}", hints(&self.whole)));
        }
        let unmet = || self.of_operations.iter().filter(|(needed, _)| is_missing(needed));
        let (needed, _) = unmet().max_by_key(|(_, number)| *number)?;
        let (number, ask) = match unmet().map(|(_, number)| number).sum() {
            1 => (1, "operation asks"),
            number => (number, "operations ask"),
        };
        Some(format!("{number} {ask} for credentials that the config does not have: {}", hints(needed)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document::read_value;
    use crate::notes::Notes;
    use crate::operation::operations;

    #[test]
    fn it_says_which_credentials_are_missing() {
        let description = json!({
            "security": [{"key": [], "app": []}, {"token": []}],
            "components": {"securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "app": {"type": "apiKey", "in": "query", "name": "app"},
                "token": {"type": "http", "scheme": "bearer"},
                "strange": {"type": "none"},
            }},
        });
        let documents = Documents::new("api.yaml", read_value(&description).unwrap(), &());
        let security = Security::read(&documents, &[]);
        let missing = security.missing(&Given::default()).unwrap();
        assert!(missing.contains("header `X-Key`") && missing.contains("?app="), "{missing}");
        assert!(missing.contains(", or `Bearer` authorization"), "{missing}");
        let key = Given { headers: vec!["x-key".to_owned()], ..Given::default() };
        assert!(security.missing(&key).is_some(), "both are needed");
        assert_eq!(security.missing(&Given { query: vec!["app".to_owned()], ..key }), None);
        assert_eq!(security.missing(&Given { has_auth: true, ..Given::default() }), None);
        assert!(security.sets(ParameterPlace::Header, "x-KEY") && security.sets(ParameterPlace::Query, "app"));
        assert!(!security.sets(ParameterPlace::Query, "X-Key"));
    }

    #[test]
    fn operations_that_say_themselves_what_they_need_are_counted() {
        let own = json!({"get": {"security": [{"key": []}]}});
        let description = json!({
            "paths": {"/a": own, "/b": own, "/open": {"get": {"security": []}}, "/anonymous": {"get": {"security": [{}]}}},
            "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
        });
        let documents = Documents::new("api.yaml", read_value(&description).unwrap(), &());
        let security = Security::read(&documents, &operations(&documents, &Notes::default()));
        assert_eq!(
            security.missing(&Given::default()).unwrap(),
            "2 operations ask for credentials that the config does not have: a key in the header `X-Key` (`headers: \
             {X-Key: ...}`)"
        );
        assert_eq!(security.missing(&Given { headers: vec!["X-Key".to_owned()], ..Given::default() }), None);
    }

    #[test]
    fn an_api_that_asks_for_nothing_misses_nothing() {
        let documents = Documents::new("api.yaml", read_value(&json!({"security": [{}]})).unwrap(), &());
        assert_eq!(Security::read(&documents, &[]).missing(&Given::default()), None);
    }
}
