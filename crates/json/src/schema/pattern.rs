//! The keyword `pattern`, and the cost limit for names that are matched with `patternProperties`.

use std::borrow::Cow;

use jsonschema::Keyword;
use jsonschema::json::Node;
use serde_json::Value;

use super::meter::{Excess, end};
use super::node::{Metered, MeteredNode};
use proxy_base::bounded_regex::{BoundedRegex, MAX_STEPS, TooLong};

/// The steps of one pattern on one text, where the pattern needs backtracking: some milliseconds.
pub(super) const BACKTRACK_LIMIT: usize = 100_000;
/// What only backtracking can match.
const ASSERTIONS: [&str; 5] = ["(?=", "(?!", "(?<=", "(?<!", "(?>"];

/// The most that the translation of one pattern may cost: far more than that of any that a person would read.
const MAX_TRANSLATION: usize = 1 << 18;

/// What it costs to translate a pattern from the dialect of JavaScript: it is read again for each class that has another
/// meaning there. `None` if it is too much, so that the pattern is not used.
pub fn translation_cost(pattern: &str) -> Option<usize> {
    let is_class = |pair: &&[u8]| pair[0] == b'\\' && b"dDsSwWc".contains(&pair[1]);
    let classes = pattern.as_bytes().windows(2).filter(is_class).count();
    let cost = pattern.len().checked_mul(1 + classes)?;
    if cost <= MAX_TRANSLATION { Some(cost) } else { None }
}

/// The pattern in the dialect of our engines; `None` if it is invalid, or takes too long to translate.
fn translated(pattern: &str) -> Option<Cow<'_, str>> {
    translation_cost(pattern)?;
    jsonschema_regex::to_rust_regex(pattern).ok()
}

/// A pattern in the dialect of JavaScript.
pub(super) enum Pattern {
    Bounded(Box<BoundedRegex>),
    /// With look-around or back-references.
    Backtracking {
        regex: Box<fancy_regex::Regex>,
        max_length: usize,
    },
}

impl Pattern {
    /// Compiles a pattern that may take `memory` bytes; `None` if it is invalid or larger.
    pub(super) fn compile(pattern: &str, memory: usize) -> Option<Self> {
        let translated = translated(pattern)?;
        if let Ok(regex) = BoundedRegex::with_memory(&translated, memory) {
            return Some(Pattern::Bounded(Box::new(regex)));
        }
        let regex = Box::new(backtracking(&translated, memory).ok()?);
        // What cannot be counted has as many states as fit into its memory.
        let plain = BoundedRegex::with_memory(&without_backtracking(&translated), memory);
        let states = plain.map_or(memory / 32, |regex| regex.states()).max(1);
        let max_length = match asserts_at_start_only(&translated) {
            true => MAX_STEPS / states,
            // Every position of a text may look at all others.
            false => (MAX_STEPS / states).isqrt(),
        };
        Some(Pattern::Backtracking { regex, max_length })
    }

    fn is_match(&self, text: &str) -> Result<bool, TooLong> {
        match self {
            Pattern::Bounded(regex) => regex.is_match(text),
            Pattern::Backtracking { max_length, .. } if text.len() > *max_length => Err(TooLong),
            Pattern::Backtracking { regex, .. } => regex.is_match(text).map_err(|_| TooLong),
        }
    }

    /// The bytes of a text that is within the bound, whatever it says.
    pub(super) fn max_length(&self) -> usize {
        match self {
            Pattern::Bounded(regex) => MAX_STEPS / regex.states().max(1),
            Pattern::Backtracking { max_length, .. } => *max_length,
        }
    }
}

/// What becomes of a pattern that a schema has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternState {
    /// It can be checked.
    Usable,
    /// It is no regular expression that we know, which costs little to find out.
    Unknown,
    /// It is larger than the limit, or cannot be compiled for another reason.
    Refused,
}

/// Whether a schema can have this pattern, compiled into at most `memory` bytes. Costs less than [`Pattern::compile`], which
/// also finds out how long a text may be.
pub fn pattern_state(pattern: &str, memory: usize) -> PatternState {
    let Some(translated) = translated(pattern) else { return PatternState::Unknown };
    if BoundedRegex::with_memory(&translated, memory).is_ok() {
        return PatternState::Usable;
    }
    match backtracking(&translated, memory) {
        Ok(_) => PatternState::Usable,
        Err(fancy_regex::Error::ParseError(..)) => PatternState::Unknown,
        Err(_) => PatternState::Refused,
    }
}

fn backtracking(translated: &str, memory: usize) -> Result<fancy_regex::Regex, fancy_regex::Error> {
    let mut builder = fancy_regex::RegexBuilder::new(translated);
    builder.backtrack_limit(BACKTRACK_LIMIT).delegate_size_limit(memory).delegate_dfa_size_limit(memory);
    builder.build()
}

/// The pattern without what makes it backtrack, to count its states.
fn without_backtracking(pattern: &str) -> String {
    let mut plain = pattern.to_owned();
    for assertion in ASSERTIONS {
        plain = plain.replace(assertion, "(?:");
    }
    (1..=9).fold(plain, |plain, group| plain.replace(&format!("\\{group}"), ""))
}

/// Whether a part of a pattern needs backtracking.
fn backtracks(part: &str) -> bool {
    let refers_back = part.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && (b'1'..=b'9').contains(&pair[1]));
    refers_back || part.contains(r"\k<") || ASSERTIONS.iter().any(|assertion| part.contains(assertion))
}

/// Whether a pattern looks ahead only where the text begins, as `^(?!-)(?=.*[a-z])rest`: each part is matched once then.
fn asserts_at_start_only(pattern: &str) -> bool {
    let Some(mut rest) = pattern.strip_prefix('^') else { return false };
    while let Some(assertion) = rest.strip_prefix("(?=").or_else(|| rest.strip_prefix("(?!")) {
        let Some(end) = closing_parenthesis(assertion) else { return false };
        if backtracks(&assertion[..end]) {
            return false;
        }
        rest = &assertion[end + 1..];
    }
    !backtracks(rest)
}

/// Where a group ends whose beginning is left out.
fn closing_parenthesis(inside: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut in_class = false;
    let mut is_escaped = false;
    for (index, byte) in inside.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b']' => in_class = false,
            b'[' => in_class = true,
            b'(' if !in_class => depth += 1,
            b')' if !in_class && depth == 0 => return Some(index),
            b')' if !in_class => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The keyword `pattern`.
pub(super) struct PatternKeyword {
    pattern: Pattern,
    source: String,
}

impl PatternKeyword {
    /// Reads the keyword's value; `None` if it is invalid. What is no text is left to the schema of schemas.
    pub(super) fn compile(value: &Value, memory: usize) -> Option<Self> {
        let source = value.as_str()?.to_owned();
        Pattern::compile(&source, memory).map(|pattern| PatternKeyword { pattern, source })
    }

    fn allows(&self, node: &MeteredNode<'_>) -> bool {
        let Some(text) = node.as_string() else { return true };
        match self.pattern.is_match(&text) {
            Ok(is_match) => is_match,
            Err(TooLong) => end(Excess::Pattern),
        }
    }
}

impl<'i> Keyword<'i, Metered> for PatternKeyword {
    fn validate(&self, node: MeteredNode<'i>) -> Result<(), jsonschema::ValidationError<'i>> {
        if self.allows(&node) {
            return Ok(());
        }
        let message = format!(r#"{} does not match "{}""#, node.to_value(), self.source);
        Err(jsonschema::ValidationError::custom(message))
    }

    fn is_valid(&self, node: MeteredNode<'i>) -> bool {
        self.allows(&node)
    }
}
