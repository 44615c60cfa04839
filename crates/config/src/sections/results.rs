//! `results`: the size above which the results of tool calls are split into pages, and how long the pages are kept. A
//! section of the engine: scripts do not see it.

use std::time::Duration;

use crate::syntax::reader::ValueReader;

/// Pages smaller than this would hold little more than the note about the next page.
const MIN_TOKENS: usize = 100;

/// How large results of tools may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    pub max_tokens: ResultLimit,
    /// How long the pages of a result are kept.
    pub keep: Duration,
    /// The maximum size of all results that are kept in the memory of this process, in bytes.
    pub memory: usize,
    /// Other limits for single tools. The first pattern that matches the published name counts.
    pub tools: Vec<ToolResultLimit>,
}

/// The size above which a result is split into pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultLimit {
    /// The limit of the client, if it is known to have one.
    #[default]
    Auto,
    /// As estimated tokens, for every client.
    Tokens(usize),
    Off,
}

/// The limit for the tools with matching names.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResultLimit {
    /// A published name or a glob.
    pub name: glob::Pattern,
    pub max_tokens: ResultLimit,
}

impl Results {
    /// What clients see of the limits in their lists: which tools have one, and whether it is the client's own. The size of a
    /// limit is not seen.
    pub fn seen_in_lists(&self) -> String {
        let kind = |limit| match limit {
            ResultLimit::Auto => "auto",
            ResultLimit::Tokens(_) => "all",
            ResultLimit::Off => "off",
        };
        let of_tools = self.tools.iter().map(|tool| format!("\n{} {}", kind(tool.max_tokens), tool.name));
        std::iter::once(kind(self.max_tokens).to_owned()).chain(of_tools).collect()
    }
}

impl Default for Results {
    fn default() -> Self {
        Results {
            max_tokens: ResultLimit::Auto,
            keep: Duration::from_secs(30 * 60),
            memory: 64 << 20,
            tools: Vec::new(),
        }
    }
}

pub(crate) fn read_results(reader: &ValueReader) -> Option<Results> {
    let mut results = Results::default();
    let mut fields = reader.fields()?;
    fields.set(&mut results.max_tokens, "maxTokens", read_limit);
    fields.set(&mut results.keep, "keep", ValueReader::timeout);
    fields.set(&mut results.memory, "memory", |reader| usize::try_from(reader.size()?).ok());
    fields.set(&mut results.tools, "tools", read_tools);
    fields.finish();
    Some(results)
}

fn read_limit(reader: &ValueReader) -> Option<ResultLimit> {
    let text = reader.text()?;
    match text.as_str() {
        "auto" => Some(ResultLimit::Auto),
        // YAML 1.1 reads `off` as a Boolean.
        "off" | "false" => Some(ResultLimit::Off),
        _ => match text.parse() {
            Ok(tokens) if tokens >= MIN_TOKENS => Some(ResultLimit::Tokens(tokens)),
            _ => reader.expected(&format!("`auto`, `off` or a number of at least {MIN_TOKENS}")),
        },
    }
}

fn read_tools(reader: &ValueReader) -> Option<Vec<ToolResultLimit>> {
    let limits = reader.map(|name, reader| {
        let pattern = glob::Pattern::new(name);
        let mut fields = reader.fields()?;
        let limit = fields.get("maxTokens");
        fields.finish();
        let Ok(name) = pattern else { return reader.fail("the key is neither a name nor a glob") };
        let Some(limit) = limit else { return reader.fail("missing key `maxTokens` (`auto`, `off` or a number)") };
        Some(ToolResultLimit { name, max_tokens: read_limit(&limit)? })
    })?;
    Some(limits.into_iter().map(|(_, limit)| limit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn limits_are_read_in_their_order() {
        assert_eq!(loaded("").results, Results::default());
        let config = loaded(
            "results: {maxTokens: 20000, keep: 5m, memory: 8MiB, tools: {export: {maxTokens: off}, \
             'ex*': {maxTokens: 4000}, 'a*': {maxTokens: auto}}}",
        );
        assert_eq!(config.results.max_tokens, ResultLimit::Tokens(20_000));
        assert_eq!((config.results.keep, config.results.memory), (Duration::from_secs(300), 8 << 20));
        let tools: Vec<_> = config.results.tools.iter().map(|tool| (tool.name.as_str(), tool.max_tokens)).collect();
        let expected = [("export", ResultLimit::Off), ("ex*", ResultLimit::Tokens(4000)), ("a*", ResultLimit::Auto)];
        assert_eq!(tools, expected);
        assert!(config.set_sections.is_empty(), "no script has to read it");
        assert_eq!(loaded("results: {maxTokens: off}").results.max_tokens, ResultLimit::Off);
    }

    #[test]
    fn what_cannot_work_is_told_with_its_key() {
        let found = errors(
            "results:\n  maxTokens: 20\n  keep: 0s\n  memory: much\n  tools: {a: {}, '[': {maxTokens: 200}, b: {maxTokens: all, x: 1}}\n  handles: true\n",
        );
        for expected in [
            "2:14 `results.maxTokens`: expected `auto`, `off` or a number of at least 100, found `20`",
            "`results.keep`: must be greater than zero",
            "`results.memory`: expected a size",
            "`results.tools.a`: missing key `maxTokens`",
            "the key is neither a name nor a glob",
            "`results.tools.b.maxTokens`: expected `auto`, `off` or a number of at least 100, found `all`",
            "unknown key `results.tools.b.x`",
            "unknown key `results.handles`",
        ] {
            assert!(found.iter().any(|error| error.contains(expected)), "{expected}: {found:#?}");
        }
    }
}
