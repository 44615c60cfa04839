//! The scopes that published items require.

use glob::Pattern;

use crate::{ItemKind, Principal};

/// The scopes that the use of some items needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeRule {
    /// A tool, a prompt or a resource.
    pub kind: ItemKind,
    /// The published names or URIs.
    pub pattern: Pattern,
    pub scopes: Vec<String>,
}

/// All rules about scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeRules(Vec<ScopeRule>);

impl ScopeRules {
    pub fn new(rules: Vec<ScopeRule>) -> Self {
        ScopeRules(rules)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The scopes that the use of an item needs, each once.
    pub fn needed(&self, kind: ItemKind, name: &str) -> Vec<String> {
        let kind = if kind == ItemKind::ResourceTemplate { ItemKind::Resource } else { kind };
        let mut needed: Vec<String> = Vec::new();
        for rule in self.0.iter().filter(|rule| rule.kind == kind && rule.pattern.matches(name)) {
            for scope in &rule.scopes {
                if !needed.contains(scope) {
                    needed.push(scope.clone());
                }
            }
        }
        needed
    }

    /// Why a request is refused that needs these scopes.
    pub fn refusal(needed: &[String]) -> String {
        format!("this requires the {} {}", if needed.len() == 1 { "scope" } else { "scopes" }, needed.join(" "))
    }

    /// The scopes that the use of an item needs, if the user lacks one of them. The local user has no token and needs none.
    pub fn lacking(&self, principal: &Principal, kind: ItemKind, name: &str) -> Option<Vec<String>> {
        if self.0.is_empty() || principal.is_local() {
            return None;
        }
        let needed = self.needed(kind, name);
        needed.iter().any(|scope| !principal.scopes.contains(scope)).then_some(needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: ItemKind, pattern: &str, scopes: &[&str]) -> ScopeRule {
        ScopeRule {
            kind,
            pattern: Pattern::new(pattern).unwrap(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        }
    }

    #[test]
    fn an_item_needs_the_scopes_of_all_rules_that_name_it() {
        let rules = ScopeRules::new(vec![
            rule(ItemKind::Tool, "delete_*", &["write", "delete"]),
            rule(ItemKind::Tool, "*_repo", &["repo", "write"]),
            rule(ItemKind::Resource, "file:///*", &["files"]),
        ]);
        assert_eq!(rules.needed(ItemKind::Tool, "delete_repo"), ["write", "delete", "repo"]);
        assert_eq!(rules.needed(ItemKind::Prompt, "delete_repo"), [""; 0]);
        assert_eq!(rules.needed(ItemKind::ResourceTemplate, "file:///a/b"), ["files"]);
        let with = |scopes: &[&str]| {
            let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            Principal::named("ann").with(|user| user.scopes = scopes)
        };
        let lacking = |who: &Principal| rules.lacking(who, ItemKind::Tool, "delete_repo");
        assert_eq!(lacking(&with(&["write", "repo"])).map(|all| all.len()), Some(3), "all of them at once");
        assert_eq!(lacking(&with(&["write", "repo", "delete", "other"])), None);
        assert_eq!(lacking(&Principal::local("ann")), None);
        assert!(lacking(&Principal::anonymous()).is_some());
    }
}
