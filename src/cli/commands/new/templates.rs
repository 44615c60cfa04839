//! The files that `proxy new` writes. `NAME` stands for the name that the user chose.

/// A script and its test.
pub(super) struct Template {
    script: &'static str,
    test: &'static str,
}

pub(super) const POLICY: Template =
    Template { script: include_str!("templates/policy.star"), test: include_str!("templates/policy_test.star") };

/// The extension to begin with: a tool, a resource and a prompt.
pub(super) const EXTENSION: Template =
    Template { script: include_str!("templates/extension.star"), test: include_str!("templates/extension_test.star") };

pub(super) const TOOL: Template =
    Template { script: include_str!("templates/tool.star"), test: include_str!("templates/tool_test.star") };

pub(super) const RESOURCE: Template =
    Template { script: include_str!("templates/resource.star"), test: include_str!("templates/resource_test.star") };

pub(super) const PROMPT: Template =
    Template { script: include_str!("templates/prompt.star"), test: include_str!("templates/prompt_test.star") };

pub(super) const TEST_OF_POLICY: &str = include_str!("templates/test_of_policy.star");
pub(super) const TEST_OF_EXTENSION: &str = include_str!("templates/test_of_extension.star");
pub(super) const TEST_OF_PRESET: &str = include_str!("templates/test_of_preset.star");

/// The lines that replace [`PERMISSIONS_LINE`] in every extension.
const PERMISSIONS: &str = include_str!("templates/permissions.txt");
const PERMISSIONS_LINE: &str = "        # PERMISSIONS\n";

impl Template {
    pub(super) fn script(&self, name: &str) -> String {
        filled(&self.script.replace(PERMISSIONS_LINE, PERMISSIONS), name)
    }

    pub(super) fn test(&self, name: &str) -> String {
        filled(self.test, name)
    }
}

/// The text with this name in place of the placeholder.
pub(super) fn filled(text: &str, name: &str) -> String {
    text.replace("NAME", name)
}
