//! What an API says about credentials. The config sets them; this only tells what is missing.

use std::collections::{HashMap, HashSet};

use crate::credential::{Credential, Given};
use crate::document::{Documents, Node, NodeMap};
use crate::operation::{FoundOperation, ParameterPlace};

/// How many alternatives are compared with the config, and how many schemes of each. Honest descriptions have a few.
const MAX_ALTERNATIVES: usize = 100;
const MAX_SCHEMES: usize = 20;

/// The security schemes of a description, and in which combinations requests need them.
#[derive(Clone, Debug, Default)]
pub struct Security {
    schemes: HashMap<String, Credential>,
    /// The parameters that they are. The names of headers are in lower case.
    parameters: HashSet<(ParameterPlace, String)>,
    /// What the API as a whole needs.
    whole: Alternatives,
    /// What operations need that say so themselves, and how many they are.
    of_operations: Vec<(Alternatives, usize)>,
}

/// The names of schemes: one of these lists is needed, with all its schemes. Empty if nothing is needed.
type Alternatives = Vec<Vec<String>>;

fn alternatives(security: Option<&Node>) -> Alternatives {
    let alternatives = security.and_then(Node::list).unwrap_or_default().iter().filter_map(Node::map);
    let names = |alternative: &NodeMap| alternative.keys().take(MAX_SCHEMES).map(str::to_owned).collect();
    alternatives.take(MAX_ALTERNATIVES).map(names).collect()
}

/// What operations need that say so themselves, and how many need the same.
fn needs(operations: &[FoundOperation<'_>]) -> Vec<(Alternatives, usize)> {
    let mut needs: Vec<(Alternatives, usize)> = Vec::new();
    let mut by_content: HashMap<Alternatives, usize> = HashMap::new();
    // Many paths may refer to one path item, so what is known is not read again for each.
    let mut by_node: HashMap<*const Node, usize> = HashMap::new();
    for own in operations.iter().filter_map(|operation| operation.place.node.get("security")) {
        let at = *by_node.entry(std::ptr::from_ref(own)).or_insert_with(|| {
            let own = alternatives(Some(own));
            *by_content.entry(own.clone()).or_insert_with(|| {
                needs.push((own, 0));
                needs.len() - 1
            })
        });
        needs[at].1 += 1;
    }
    needs
}

fn parameter_of(scheme: &Credential) -> Option<(ParameterPlace, String)> {
    match scheme {
        Credential::Header(name) => Some((ParameterPlace::Header, name.to_ascii_lowercase())),
        Credential::Query(name) => Some((ParameterPlace::Query, name.clone())),
        Credential::Cookie(name) => Some((ParameterPlace::Cookie, name.clone())),
        _ => None,
    }
}

impl Security {
    pub(crate) fn read(documents: &Documents, operations: &[FoundOperation<'_>]) -> Self {
        let root = documents.root();
        let components = root.get("components").and_then(|components| components.get("securitySchemes"));
        let mut schemes = HashMap::new();
        if let Some(named) = components {
            for (name, node) in named.node.map().into_iter().flat_map(|map| map.iter()) {
                let scheme = documents.object(named.at(node)).ok().and_then(Credential::read);
                schemes.extend(scheme.map(|scheme| (name.to_owned(), scheme)));
            }
        }
        let parameters = schemes.values().filter_map(parameter_of).collect();
        let whole = alternatives(root.node.get("security"));
        Security { schemes, parameters, whole, of_operations: needs(operations) }
    }

    /// Whether a parameter is a credential, which the config sets and not the model.
    pub(crate) fn sets(&self, place: ParameterPlace, name: &str) -> bool {
        let name = if place == ParameterPlace::Header { name.to_ascii_lowercase() } else { name.to_owned() };
        self.parameters.contains(&(place, name))
    }

    /// The names of the credentials that stand in this place.
    pub(crate) fn names(&self, place: ParameterPlace) -> HashSet<String> {
        let there = self.parameters.iter().filter(|(known, _)| *known == place);
        there.map(|(_, name)| name.clone()).collect()
    }

    /// What the API asks for and the config does not have, for people; `None` if nothing is missing.
    pub fn missing(&self, given: &Given) -> Option<String> {
        let scheme = |name: &String| self.schemes.get(name);
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
