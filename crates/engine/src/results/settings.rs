//! Which results are split into pages, by client and by tool.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::client_limits::{CutLimit, limit_of, smallest};
use super::size::TextSize;
use proxy_config::{ResultLimit, Results};
use proxy_dialects::Dialects;
use proxy_model::ClientInfo;

/// The row of clients without one, in metrics.
pub(super) const OTHER: &str = "other";

/// The section `results` of the config.
#[derive(Debug)]
pub struct ResultSettings {
    pub(super) config: Results,
    pub(super) dialects: Arc<Dialects>,
    /// Distinguishes these settings from those before a reload.
    number: u64,
}

/// The size above which a result is split into pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLimit {
    pub size: TextSize,
    /// The client's row, for metrics.
    pub row: Cow<'static, str>,
}

/// The limits for one client.
pub struct ClientLimits<'a> {
    settings: &'a ResultSettings,
    row: Option<Arc<str>>,
    cut: Option<CutLimit>,
}

impl ResultSettings {
    pub(super) fn new(config: &Results, dialects: &Arc<Dialects>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        ResultSettings { config: config.clone(), dialects: Arc::clone(dialects), number }
    }

    pub fn for_client(&self, client: &ClientInfo) -> ClientLimits<'_> {
        let (row, cut) = limit_of(&self.dialects, client).unzip();
        ClientLimits { settings: self, row, cut: cut.flatten() }
    }

    /// The smallest number of bytes that can be above a limit. A text never has more tokens than bytes.
    pub(super) fn smallest(&self) -> usize {
        let of_clients = smallest(&self.dialects).unwrap_or(usize::MAX);
        let smallest = |limit| match limit {
            ResultLimit::Auto => of_clients,
            ResultLimit::Tokens(tokens) => tokens,
            ResultLimit::Off => usize::MAX,
        };
        let of_tools = self.config.tools.iter().map(|tool| smallest(tool.max_tokens));
        of_tools.fold(smallest(self.config.max_tokens), usize::min)
    }

    /// Whether the lists of tools and resource templates differ from client to client.
    pub fn differ_by_client(&self) -> bool {
        let of_tools = self.config.tools.iter().map(|tool| tool.max_tokens);
        let is_auto = of_tools.chain([self.config.max_tokens]).any(|limit| limit == ResultLimit::Auto);
        is_auto && smallest(&self.dialects).is_some()
    }
}

impl ClientLimits<'_> {
    /// The limit for the results of the tool with this published name.
    pub fn of_tool(&self, tool: &str) -> Option<PageLimit> {
        let rule = self.settings.config.tools.iter().find(|rule| rule.name.matches(tool));
        let size = self.size(rule.map_or(self.settings.config.max_tokens, |rule| rule.max_tokens))?;
        let row = self.row.as_ref().map_or(OTHER.into(), |row| row.to_string().into());
        Some(PageLimit { size, row })
    }

    fn size(&self, limit: ResultLimit) -> Option<TextSize> {
        match limit {
            ResultLimit::Tokens(tokens) => Some(TextSize::tokens(tokens)),
            ResultLimit::Auto => self.cut.as_ref().map(|cut| cut.size),
            ResultLimit::Off => None,
        }
    }

    /// Whether any result may be split into pages for this client, so that it needs a way to read the others.
    pub fn has_any(&self) -> bool {
        let of_tools = self.settings.config.tools.iter().map(|tool| tool.max_tokens);
        of_tools.chain([self.settings.config.max_tokens]).any(|limit| self.size(limit).is_some())
    }

    /// Equal for clients to which the same limits apply to the same tools.
    pub fn number(&self) -> u64 {
        let row = self.cut.as_ref().map_or(0, |cut| cut.index as u64 + 1);
        (self.settings.number << 32) + row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_config::ToolResultLimit;

    fn client(name: &str) -> ClientInfo {
        let implementation = serde_json::json!({"name": name, "version": "1"});
        ClientInfo { implementation: Some(proxy_json::raw(&implementation)), ..ClientInfo::default() }
    }

    fn settings(max_tokens: ResultLimit, tools: &[(&str, ResultLimit)]) -> ResultSettings {
        let limit = |(name, max_tokens): &(&str, ResultLimit)| ToolResultLimit {
            name: glob::Pattern::new(name).unwrap(),
            max_tokens: *max_tokens,
        };
        let config = Results { max_tokens, tools: tools.iter().map(limit).collect(), ..Results::default() };
        ResultSettings::new(&config, &Dialects::built_in())
    }

    #[test]
    fn only_clients_that_cut_results_have_a_limit_of_their_own() {
        let settings = settings(ResultLimit::Auto, &[]);
        let limit = |name: &str| settings.for_client(&client(name)).of_tool("t").map(|limit| limit.size);
        assert_eq!(limit("Codex-MCP-Client"), Some(TextSize { tokens: 10_000, bytes: 40_000 }));
        assert_eq!(limit("claude-code"), None, "it keeps results in a file");
        assert_eq!(limit("inspector"), None);
        assert_eq!(settings.smallest(), 10_000);
    }

    #[test]
    fn the_first_rule_that_matches_a_tool_counts_for_every_client() {
        let rules = [("export", ResultLimit::Off), ("ex*", ResultLimit::Tokens(4000)), ("auto_*", ResultLimit::Auto)];
        let settings = settings(ResultLimit::Tokens(20_000), &rules);
        let inspector = client("inspector");
        let limits = settings.for_client(&inspector);
        let tokens = |tool: &str| limits.of_tool(tool).map(|limit| limit.size.tokens);
        assert_eq!(["export", "extra", "auto_a", "other"].map(tokens), [None, Some(4000), None, Some(20_000)]);
        assert_eq!(limits.of_tool("other").map(|limit| limit.row), Some("other".into()));
        assert_eq!(settings.smallest(), 4000);
        assert!(limits.has_any());
    }

    #[test]
    fn without_limits_nothing_is_looked_at() {
        let settings = settings(ResultLimit::Off, &[]);
        assert_eq!(settings.smallest(), usize::MAX);
        assert!(!settings.for_client(&client("codex-mcp-client")).has_any());
        assert!(!settings.differ_by_client());
    }
}
