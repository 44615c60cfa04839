//! `cedar`: the policies that decide who may use what.

use std::path::PathBuf;

use indexmap::IndexMap;

use crate::sections::server::ServerConfig;
use crate::syntax::reader::ValueReader;
use proxy_base::diagnostic::Location;

/// Where the policies are, and the entity names they use.
#[derive(Clone, Debug, PartialEq)]
pub struct Cedar {
    /// Files or globs; at least one.
    pub policies: Vec<PolicyPath>,
    pub entities: Option<PolicyPath>,
    /// `MCP::"NAME"` is above all servers.
    pub name: String,
    /// The type of the groups of a principal.
    pub group_type: String,
    pub place: Location,
}

/// A file or glob that the section names.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyPath {
    pub written: String,
    /// The path joined to the folder of the config.
    pub path: PathBuf,
    pub place: Location,
}

pub(crate) fn read_cedar(reader: &ValueReader, servers: &IndexMap<String, ServerConfig>) -> Option<Cedar> {
    let mut fields = reader.fields()?;
    let path = |item: &ValueReader| {
        let written = item.word()?;
        Some(PolicyPath { path: item.folder().join(&written), written, place: item.place() })
    };
    let listed = fields.get("policies");
    let policies = listed.as_ref().and_then(|list| list.list(path));
    let entities = fields.read("entities", path);
    let (mut name, mut group_type) = ("proxy".to_owned(), "THVGroup".to_owned());
    let named = fields.get("name");
    if let Some(word) = named.as_ref().and_then(ValueReader::word) {
        name = word;
    }
    let typed = fields.get("groupType");
    if let Some(word) = typed.as_ref().and_then(ValueReader::word) {
        group_type = word;
    }
    fields.finish();
    let place = reader.place();
    if servers.contains_key(&name) {
        let at = named.as_ref().unwrap_or(reader);
        let problem = at.problem(&format!("`{name}` is also a server name, so `MCP::\"{name}\"` would be ambiguous"));
        at.report(problem.hint("choose another name, or rename the server"));
    }
    if !is_type(&group_type) {
        let at = typed.as_ref().unwrap_or(reader);
        at.report(at.problem("must be the name of an entity type, such as `THVGroup` or `Company::Team`"));
    }
    let Some(policies) = policies else {
        if listed.is_none() {
            reader.report(reader.problem("missing key `policies`, such as `[policies/*.cedar]`"));
        }
        return None;
    };
    if policies.is_empty() {
        let at = listed.as_ref().unwrap_or(reader);
        let problem = at.problem("is empty, which would deny everything");
        at.report(problem.hint("name a policy file, or remove the section `cedar`"));
        return None;
    }
    Some(Cedar { policies, entities, name, group_type, place })
}

/// Whether a text is the name of a type: identifiers separated by `::`.
fn is_type(name: &str) -> bool {
    name.split("::").all(|part| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{errors, loaded};

    #[test]
    fn everything_can_be_set() {
        let config = loaded("cedar: {policies: [policies/*.cedar], entities: e.json, name: all, groupType: Co::Team}");
        let cedar = config.cedar.unwrap();
        assert_eq!(cedar.policies[0].path, config.folder.join("policies/*.cedar"));
        assert_eq!(cedar.entities.unwrap().written, "e.json");
        assert_eq!((cedar.name.as_str(), cedar.group_type.as_str()), ("all", "Co::Team"));
        let defaults = loaded("cedar: {policies: [a.cedar]}").cedar.unwrap();
        assert_eq!((defaults.name.as_str(), defaults.group_type.as_str()), ("proxy", "THVGroup"));
        assert!(loaded("").cedar.is_none());
    }

    #[test]
    fn what_cannot_work_is_told_with_the_cure() {
        assert_eq!(
            errors("cedar: {policies: []}"),
            [
                "1:19 `cedar.policies`: is empty, which would deny everything (name a policy file, or remove the section `cedar`)"
            ]
        );
        assert_eq!(
            errors("cedar: {entities: e}"),
            ["1:8 `cedar`: missing key `policies`, such as `[policies/*.cedar]`"]
        );
        let found = errors("mcpServers: {proxy: {command: x}}\ncedar: {policies: [a], groupType: a-b}");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`proxy` is also a server"), "{found:?}");
        assert!(found[1].contains("`cedar.groupType`: must be the name of an entity type"), "{found:?}");
    }
}
