//! Lists of tools that a client uses or hides. A tool that is hidden there stays hidden.

use super::Importer;
use super::members::EntryMembers;

/// The tools of a server that are published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// Only these; `None` for all.
    pub only: Option<Vec<String>>,
    /// Names or globs.
    pub exclude: Vec<String>,
}

impl ToolSelection {
    pub fn is_everything(&self) -> bool {
        self.only.is_none() && self.exclude.is_empty()
    }

    pub(super) fn hide(&mut self, pattern: String) {
        if !self.exclude.contains(&pattern) {
            self.exclude.push(pattern);
        }
    }
}

const ONLY: [&str; 3] = ["includeTools", "enabled_tools", "enabledTools"];
const EXCLUDED: [&str; 3] = ["excludeTools", "disabled_tools", "disabledTools"];
/// goose uses all tools if the list is empty.
const ONLY_IF_ANY: &str = "available_tools";

impl Importer<'_> {
    pub(super) fn tools(&mut self, members: &mut EntryMembers) -> ToolSelection {
        let mut selection = ToolSelection::default();
        while let Some(member) = members.take(&EXCLUDED) {
            self.strings(&member).into_iter().for_each(|name| selection.hide(name));
        }
        while let Some(member) = members.take(&[ONLY[0], ONLY[1], ONLY[2], ONLY_IF_ANY]) {
            let names = self.strings(&member);
            if names.is_empty() && member.name == ONLY_IF_ANY {
                continue;
            }
            // Gemini CLI also writes `name(arguments)`.
            let names = names.iter().map(|name| name.split('(').next().unwrap_or_default().to_owned());
            // Here a glob would publish more than the name does there.
            let (names, globs): (Vec<String>, Vec<String>) =
                names.partition(|name| !name.is_empty() && !name.contains(['*', '?', '[']));
            for glob in globs {
                let glob = glob.escape_debug();
                let path = &member.path;
                self.warn(format!("ignored `{glob}` in `{path}`: it is not a tool name"), member.key);
            }
            selection.only = Some(match selection.only.take() {
                None => names,
                Some(before) => before.into_iter().filter(|name| names.contains(name)).collect(),
            });
        }
        selection
    }
}
