//! All rows: those of the binary and those of the config. Finds the row of a client.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::json;

use super::dialect::{Dialect, Limits, NamePattern};
use super::table::{Row, built_in};
use super::version::VersionBounds;
use proxy_model::ClientInfo;

/// What clients call the proxy if the config does not say.
const DEFAULT_SERVER_NAME: &str = "proxy";

/// The rows in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Dialects {
    rows: Vec<Arc<Dialect>>,
    is_on: bool,
    digest: String,
}

static OFF: LazyLock<Arc<Dialects>> = LazyLock::new(|| Arc::new(Dialects::of(Vec::new(), DEFAULT_SERVER_NAME, false)));
static BUILT_IN: LazyLock<Arc<Dialects>> = LazyLock::new(|| Arc::new(Dialects::new(Vec::new(), DEFAULT_SERVER_NAME)));

impl Default for Dialects {
    fn default() -> Self {
        Dialects::clone(&Dialects::built_in())
    }
}

impl Dialects {
    /// The rows of the binary.
    pub fn built_in() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// No rows: every client is served alike.
    pub fn off() -> Arc<Self> {
        Arc::clone(&OFF)
    }

    /// The names of the rows in the binary.
    pub fn built_in_rows() -> impl Iterator<Item = &'static str> {
        built_in().iter().map(|row| row.name.as_str())
    }

    /// What a row of the binary says.
    pub fn built_in_limits(row: &str) -> Option<Limits> {
        built_in().iter().find(|known| known.name == row).map(|known| known.limits.clone())
    }

    /// The rows of the binary, after those of the config. A row of the config replaces one of the same name, and keeps its
    /// patterns if it has none of its own.
    pub fn new(own: Vec<(String, Vec<NamePattern>, VersionBounds, Limits)>, server_name: &str) -> Self {
        let mut rows: Vec<Row> = own
            .into_iter()
            .map(|(name, patterns, version, limits)| {
                let known = built_in().iter().find(|known| known.name == name);
                let patterns = match known {
                    Some(known) if patterns.is_empty() => known.patterns.clone(),
                    _ => patterns,
                };
                Row { name, patterns, version, limits }
            })
            .collect();
        let others = built_in().iter().filter(|known| rows.iter().all(|row| row.name != known.name)).cloned();
        let others: Vec<Row> = others.collect();
        rows.extend(others);
        Dialects::of(rows, server_name, true)
    }

    fn of(rows: Vec<Row>, server_name: &str, is_on: bool) -> Self {
        let rows = rows.into_iter().enumerate().map(|(index, row)| {
            let own_name_length = Dialect::own_length(&row.limits, server_name);
            Arc::new(Dialect {
                row: row.name.into(),
                patterns: row.patterns,
                version: row.version,
                limits: row.limits,
                own_name_length,
                index,
            })
        });
        let rows: Vec<Arc<Dialect>> = rows.collect();
        let digest = proxy_json::digest(&json!(format!("{rows:?}")));
        Dialects { rows, is_on, digest }
    }

    /// Whether clients may be served differently.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Differs from the digest of other rows.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub fn rows(&self) -> &[Arc<Dialect>] {
        &self.rows
    }

    /// The fewest tools that any client takes; `None` if no row says how many.
    pub fn smallest_tool_limit(&self) -> Option<usize> {
        self.rows.iter().filter_map(|dialect| dialect.limits.tools).min()
    }

    /// The row with this name.
    pub fn named(&self, row: &str) -> Option<&Arc<Dialect>> {
        self.rows.iter().find(|dialect| &*dialect.row == row)
    }

    /// The row for a client with this name and version: the one whose pattern says most of the name, or else the first.
    pub fn row_for(&self, name: &str, version: &str) -> Option<&Arc<Dialect>> {
        self.find(name, || Some(Cow::Borrowed(version)))
    }

    fn find<'t>(&self, name: &str, version: impl Fn() -> Option<Cow<'t, str>>) -> Option<&Arc<Dialect>> {
        let mut best: Option<((usize, bool), &Arc<Dialect>)> = None;
        for dialect in &self.rows {
            let Some(said) = dialect.patterns.iter().filter_map(|pattern| pattern.matches(name)).max() else {
                continue;
            };
            let is_of_version = || dialect.version.is_any() || dialect.version.contain(&version().unwrap_or_default());
            if best.is_none_or(|(most, _)| said > most) && is_of_version() {
                best = Some((said, dialect));
            }
        }
        best.map(|(_, dialect)| dialect)
    }

    /// The row for a client as it describes itself. That is a hint: nothing that a row decides protects anything.
    pub fn row_of(&self, client: &ClientInfo) -> Option<&Arc<Dialect>> {
        if self.rows.is_empty() {
            return None;
        }
        let told = client.implementation.as_deref()?;
        // Looked up with every call about a tool: nothing is copied.
        let name = told.member("name")?.text()?;
        self.find(&name, || told.member("version")?.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Excess, ResultLimit};

    fn row(dialects: &Dialects, name: &str) -> String {
        dialects.row_for(name, "1.0").map_or_else(String::new, |dialect| dialect.row.to_string())
    }

    #[test]
    fn clients_are_known_by_their_names() {
        let dialects = Dialects::built_in();
        for (name, expected) in [
            ("claude-code", "claude-code"),
            ("Claude-Code", "claude-code"),
            ("claude-code-2", ""),
            ("cursor-vscode", "cursor"),
            ("Visual Studio Code", "vscode"),
            ("Visual Studio Code - Insiders", "vscode"),
            ("gemini-cli-mcp-client", "gemini-cli"),
            ("codex-mcp-client", "codex"),
            ("", ""),
            ("inspector", ""),
            ("curs", ""),
            ("ÇURSOR", ""),
        ] {
            assert_eq!(row(&dialects, name), expected, "{name}");
        }
        let unnamed = ClientInfo::default();
        assert!(dialects.row_of(&unnamed).is_none());
        let odd = ClientInfo {
            implementation: Some(proxy_json::raw(&json!({"name": 5, "version": ["1"]}))),
            ..ClientInfo::default()
        };
        assert!(dialects.row_of(&odd).is_none());
        assert!(Dialects::off().row_for("cursor", "1").is_none());
    }

    #[test]
    fn the_longest_pattern_wins_and_versions_bound_a_row() {
        let patterns = |text: &str| vec![NamePattern::parse(text).unwrap()];
        let limits = |tools| Limits { tools: Some(tools), ..Limits::default() };
        let own = vec![
            ("old".to_owned(), patterns("cursor-vscode"), VersionBounds::parse("<1").unwrap(), limits(1)),
            ("new".to_owned(), patterns("cursor-v*"), VersionBounds::default(), limits(2)),
            ("any".to_owned(), patterns("my-*"), VersionBounds::default(), limits(3)),
            ("gemini-cli".to_owned(), Vec::new(), VersionBounds::default(), limits(4)),
        ];
        let dialects = Dialects::new(own, "proxy");
        let tools = |name: &str, version: &str| dialects.row_for(name, version).and_then(|row| row.limits.tools);
        assert_eq!(tools("cursor-vscode", "0.9"), Some(1));
        assert_eq!(tools("cursor-vscode", "1.0"), Some(2));
        assert_eq!(tools("cursor", "1.0"), Some(80));
        assert_eq!(tools("MY-client", "1"), Some(3));
        assert_eq!(tools("gemini-cli-mcp-client", "1"), Some(4));
        assert_eq!(dialects.rows().iter().filter(|row| &*row.row == "gemini-cli").count(), 1);
        assert_ne!(dialects.digest(), Dialects::built_in().digest());
    }

    #[test]
    fn names_leave_room_for_what_the_client_puts_before_them() {
        let own = |server: &str, row: &str| Dialects::new(Vec::new(), server).named(row).unwrap().own_name_length();
        assert_eq!(own("proxy", "claude-code"), Some(64 - "mcp__proxy__".len()));
        assert_eq!(own("a-much-longer-name", "claude-code"), Some(64 - "mcp__a-much-longer-name__".len()));
        assert_eq!(own("a-much-longer-name", "vscode"), Some(64 - 18));
        assert_eq!(own("proxy", "cursor"), Some(59 - 5));
        let result = Dialects::built_in().named("codex").unwrap().result();
        assert_eq!(result, Some(ResultLimit { tokens: 10_000, bytes: Some(40_000), excess: Excess::Cut }));
    }
}
