//! The client capabilities that let servers ask for input: elicitation, sampling and roots.

use serde_json::{Map, Value, json};

/// The declared capabilities of a client as flags. Clients with equal abilities may share a connection to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Abilities {
    /// Elicitation with forms.
    pub form: bool,
    /// Elicitation with URLs.
    pub url: bool,
    pub sampling: bool,
    pub sampling_tools: bool,
    pub sampling_context: bool,
    pub roots: bool,
    /// Notifications about changed roots.
    pub roots_changes: bool,
}

impl Abilities {
    pub const NONE: Abilities = Abilities {
        form: false,
        url: false,
        sampling: false,
        sampling_tools: false,
        sampling_context: false,
        roots: false,
        roots_changes: false,
    };

    /// All that can be declared on a connection that several clients share.
    pub const ALL_SHARED: Abilities = Abilities {
        form: true,
        url: true,
        sampling: true,
        sampling_tools: true,
        sampling_context: true,
        roots: false,
        roots_changes: false,
    };

    /// What a server is told that is met on one connection for all clients (`capabilities: shared`).
    pub const DECLARED_FOR_ALL: Abilities = Abilities { form: true, url: true, sampling: true, ..Abilities::NONE };

    /// Reads the capabilities that a client declared.
    pub fn read(capabilities: &Value) -> Self {
        let elicitation = capabilities.get("elicitation").filter(|value| value.is_object());
        let names = |mode: &str| elicitation.is_some_and(|modes| modes.get(mode).is_some());
        let sampling = capabilities.get("sampling").filter(|value| value.is_object());
        let has = |part: &str| sampling.is_some_and(|sampling| sampling.get(part).is_some());
        let roots = capabilities.get("roots").filter(|value| value.is_object());
        Abilities {
            // Without a mode it means forms, the only mode of the first revision with elicitation.
            form: elicitation.is_some() && (names("form") || !names("url")),
            url: names("url"),
            sampling: sampling.is_some(),
            sampling_tools: has("tools"),
            sampling_context: has("context"),
            roots: roots.is_some(),
            roots_changes: roots.is_some_and(|roots| roots.get("listChanged") == Some(&Value::Bool(true))),
        }
    }

    pub fn any(self) -> bool {
        self != Abilities::default()
    }

    /// Whether a client can answer anything that scripts ask.
    pub fn answers_scripts(self) -> bool {
        self.form || self.url || self.roots
    }

    /// The abilities to declare on a connection shared by several clients: all but roots, which are private to a user.
    pub fn shared(self) -> Self {
        Abilities { roots: false, roots_changes: false, ..self }
    }

    /// The abilities on which the lists of a server may depend.
    pub fn listed(self) -> Self {
        Abilities { sampling_context: false, roots_changes: false, ..self }
    }

    /// Whether `other` has all of these abilities.
    pub fn is_subset_of(self, other: Self) -> bool {
        self.and(other) == self
    }

    pub fn count(self) -> usize {
        let Abilities { form, url, sampling, sampling_tools, sampling_context, roots, roots_changes } = self;
        let all = [form, url, sampling, sampling_tools, sampling_context, roots, roots_changes];
        all.into_iter().filter(|has| *has).count()
    }

    /// The abilities that both have.
    pub fn and(self, other: Self) -> Self {
        Abilities {
            form: self.form && other.form,
            url: self.url && other.url,
            sampling: self.sampling && other.sampling,
            sampling_tools: self.sampling_tools && other.sampling_tools,
            sampling_context: self.sampling_context && other.sampling_context,
            roots: self.roots && other.roots,
            roots_changes: self.roots_changes && other.roots_changes,
        }
    }

    /// The capabilities object to declare to a server.
    pub fn to_capabilities(self) -> Value {
        let mut capabilities = Map::new();
        let object = |parts: &[(&str, bool)]| -> Value {
            parts
                .iter()
                .filter(|(_, has)| *has)
                .map(|(name, _)| ((*name).to_owned(), json!({})))
                .collect::<Map<_, _>>()
                .into()
        };
        if self.form || self.url {
            capabilities.insert("elicitation".to_owned(), object(&[("form", self.form), ("url", self.url)]));
        }
        if self.sampling {
            let parts = [("tools", self.sampling_tools), ("context", self.sampling_context)];
            capabilities.insert("sampling".to_owned(), object(&parts));
        }
        if self.roots {
            let roots = if self.roots_changes { json!({"listChanged": true}) } else { json!({}) };
            capabilities.insert("roots".to_owned(), roots);
        }
        Value::Object(capabilities)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_declares_is_what_a_server_is_told() {
        for capabilities in [
            json!({}),
            json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}),
            json!({"elicitation": {"url": {}}, "sampling": {"context": {}}}),
        ] {
            assert_eq!(Abilities::read(&capabilities).to_capabilities(), capabilities);
        }
    }

    #[test]
    fn elicitation_without_modes_means_forms() {
        let abilities = Abilities::read(&json!({"elicitation": {}, "roots": {"listChanged": true}}));
        assert_eq!(abilities, Abilities { form: true, roots: true, roots_changes: true, ..Abilities::default() });
        assert!(!Abilities::read(&json!({"elicitation": {"url": {}}})).form);
        assert!(!Abilities::read(&json!({"elicitation": true, "sampling": null})).any());
    }
}
