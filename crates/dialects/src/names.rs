//! Short names of tools, and the way back.

use std::collections::HashMap;

use serde_json::json;

use super::dialect::Dialect;
use super::dialect_tool::DialectTool;

/// How many digits of the digest a short name has.
const DIGITS: usize = 8;

/// The name of a tool or property in a client's list: its beginning, `_`, and digits of the digest of what it stands for.
/// It depends on nothing else, so every process gives the same name to every caller.
pub(crate) fn short(name: &str, max: usize, of: &serde_json::Value) -> String {
    let digest = proxy_json::digest(of);
    let beginning = name.chars().map(plain).take(max.saturating_sub(DIGITS + 1));
    beginning.chain(['_']).chain(digest.chars().take(DIGITS)).collect()
}

/// The short name of a tool; `None` if its own name is short enough.
pub(crate) fn short_name(dialect: &Dialect, tool: &DialectTool<'_>) -> Option<String> {
    let max = dialect.own_name_length()?;
    let name = tool.definition.key();
    if name.len() <= max {
        return None;
    }
    Some(short(name, max, &json!([tool.server, tool.original])))
}

/// A character that every client accepts in a name.
fn plain(character: char) -> char {
    if character.is_ascii_alphanumeric() || matches!(character, '_' | '-') { character } else { '_' }
}

/// The short names of a row for all tools that are published, to whomever.
#[derive(Debug, Default)]
pub struct RowNames {
    /// The published names by short names.
    published: HashMap<String, String>,
    /// Why a tool cannot be listed, by its published name.
    left_out: HashMap<String, String>,
}

impl RowNames {
    /// Gives each tool with a long name its short one. Where two tools get the same name, or one gets a name that is
    /// published, it is not known which is meant: such a tool is left out.
    pub fn of<'a>(
        dialect: &Dialect,
        tools: impl Iterator<Item = DialectTool<'a>>,
        is_published: impl Fn(&str) -> bool,
    ) -> Self {
        let mut names = RowNames::default();
        let mut taken: HashMap<String, Vec<String>> = HashMap::new();
        for tool in tools {
            if let Some(short) = short_name(dialect, &tool) {
                taken.entry(short).or_default().push(tool.definition.key().to_owned());
            }
        }
        for (short, mut tools) in taken {
            if is_published(&short) {
                let why = format!("its short name `{short}` is the name of another tool");
                names.left_out.extend(tools.into_iter().map(|tool| (tool, why.clone())));
            } else if tools.len() > 1 {
                tools.sort_unstable();
                let all = tools.join("`, `");
                let why = format!("`{all}` have the same short name `{short}`");
                names.left_out.extend(tools.into_iter().map(|tool| (tool, why.clone())));
            } else if let Some(tool) = tools.pop() {
                names.published.insert(short, tool);
            }
        }
        names
    }

    /// The published name of a tool by its short one.
    pub fn published(&self, short: &str) -> Option<&str> {
        self.published.get(short).map(String::as_str)
    }

    /// Why a tool cannot be listed; `None` if it can.
    pub fn left_out(&self, name: &str) -> Option<&str> {
        self.left_out.get(name).map(String::as_str)
    }
}
