//! Regular expressions with bounded matching time, for untrusted patterns and texts.
//!
//! A lazy DFA reads each byte once, regardless of the pattern, but gives up if the pattern needs too many DFA states. The
//! fallback engine visits every state of the pattern for every byte, which can take minutes for a pattern and a text that
//! fit into one message. So unless the pattern has few DFA states or the total work is small, only the lazy DFA is used,
//! and giving up is an error.

use std::collections::HashSet;
use std::sync::OnceLock;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{self, DFA};
use regex_automata::hybrid::regex::{Builder as LazyBuilder, Cache, Regex as LazyRegex};
use regex_automata::nfa::thompson::{self, State, WhichCaptures};
use regex_automata::util::captures::Captures;
use regex_automata::util::iter::Searcher;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input, Match, MatchError, MatchKind, PatternID, meta};
use regex_syntax::hir::Hir;

/// The states of a pattern times the bytes of a text that a search may cost where the lazy DFA gives up.
pub const MAX_STEPS: usize = 50_000_000;
/// The memory of a compiled pattern and of its lazy DFA, in bytes. The `regex` crate has the same limits.
const MAX_MEMORY: usize = 10 << 20;
const MAX_LAZY_MEMORY: usize = 2 << 20;
/// The states that the lazy DFA may visit per byte, once it has run out of memory three times. A new DFA state visits as
/// many as the pattern has, so it must serve for as many bytes as make up for that; at least ten, as in the `regex` crate.
const MAX_STATES_PER_BYTE: usize = 32;
const MIN_BYTES_PER_STATE: usize = 10;

/// The search would take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is too long for this regular expression; use a shorter text, or a pattern with fewer repetitions")]
pub struct TooLong;

/// Why a pattern cannot be used, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRegex(String);

pub struct BoundedRegex {
    regex: meta::Regex,
    pattern: Box<str>,
    /// At least the states of the pattern; compared with [`MAX_STEPS`] before anything is computed.
    max_states: usize,
    long_search: OnceLock<Box<LongSearch>>,
}

/// What only searches need that could take long.
struct LongSearch {
    states: usize,
    /// Whether no text makes a lazy DFA give up: it has few states.
    is_safe: bool,
    /// `None` if no lazy DFA can be built for the pattern.
    lazy: Option<LazyRegex>,
}

impl BoundedRegex {
    pub fn new(pattern: &str) -> Result<Self, InvalidRegex> {
        Self::with_memory(pattern, MAX_MEMORY)
    }

    /// Compiles a pattern that may take `memory` bytes.
    pub fn with_memory(pattern: &str, memory: usize) -> Result<Self, InvalidRegex> {
        let hir = parse(pattern)?;
        let config =
            meta::Config::new().nfa_size_limit(Some(memory)).hybrid_cache_capacity(memory.min(MAX_LAZY_MEMORY));
        let built = meta::Builder::new().configure(config).build_from_hir(&hir);
        let regex = built.map_err(|error| match error.size_limit() {
            Some(limit) => InvalidRegex(format!("Compiled regex exceeds size limit of {limit} bytes.")),
            None => InvalidRegex(error.to_string()),
        })?;
        let max_states = regex.memory_usage() / size_of::<State>();
        Ok(BoundedRegex { regex, pattern: pattern.into(), max_states, long_search: OnceLock::new() })
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> Result<bool, TooLong> {
        if self.is_short(text.len()) || self.long_search().is_safe {
            return Ok(self.regex.is_match(text));
        }
        let lazy = self.lazy()?;
        let mut cache = lazy.create_cache();
        let found = lazy.forward().try_search_fwd(cache.as_parts_mut().0, &Input::new(text).earliest(true));
        Ok(found.map_err(|_| TooLong)?.is_some())
    }

    /// All matches in the text, one after the other.
    pub fn matches<'r, 't>(&'r self, text: &'t str) -> Matches<'r, 't> {
        self.search(Input::new(text))
    }

    /// The match that begins where the text does.
    pub fn match_at_start<'r, 't>(&'r self, text: &'t str) -> Matches<'r, 't> {
        self.search(Input::new(text).anchored(Anchored::Yes))
    }

    /// The names of the groups, the whole match included; `None` for those without one.
    pub fn group_names(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.regex.group_info().pattern_names(PatternID::ZERO).collect::<Vec<_>>().into_iter()
    }

    /// How many states the pattern has.
    pub fn states(&self) -> usize {
        self.long_search().states
    }

    fn search<'r, 't>(&'r self, input: Input<'t>) -> Matches<'r, 't> {
        let captures = self.regex.create_captures();
        Matches { regex: self, searcher: Searcher::new(input), captures, cache: None }
    }

    /// Whether even the slowest search of this many bytes is within the bound.
    fn is_short(&self, bytes: usize) -> bool {
        let is_within = |states: usize| states.saturating_mul(bytes) <= MAX_STEPS;
        is_within(self.max_states) || is_within(self.states())
    }

    fn lazy(&self) -> Result<&LazyRegex, TooLong> {
        self.long_search().lazy.as_ref().ok_or(TooLong)
    }

    fn long_search(&self) -> &LongSearch {
        self.long_search.get_or_init(|| Box::new(LongSearch::new(&self.pattern, self.max_states)))
    }

    /// Finds the next match with its groups, without more work than the bound allows.
    fn capture(&self, input: &Input<'_>, captures: &mut Captures, cache: &mut Option<Cache>) -> Result<(), TooLong> {
        captures.set_pattern(None);
        if self.is_short(input.get_span().len()) {
            self.regex.search_captures(input, captures);
            return Ok(());
        }
        let whole = if self.long_search().is_safe {
            self.regex.search(input)
        } else {
            let lazy = self.lazy()?;
            let cache = cache.get_or_insert_with(|| lazy.create_cache());
            lazy.try_search(cache, input).map_err(|_| TooLong)?
        };
        let Some(whole) = whole else { return Ok(()) };
        if self.regex.captures_len() == 1 {
            captures.set_pattern(Some(PatternID::ZERO));
            let ends = [whole.start(), whole.end()].map(NonMaxUsize::new);
            captures.slots_mut()[..2].copy_from_slice(&ends);
            return Ok(());
        }
        // Groups are found without the DFA.
        if !self.is_short(whole.len()) {
            return Err(TooLong);
        }
        self.regex.search_captures(&input.clone().span(whole.span()).anchored(Anchored::Yes), captures);
        Ok(())
    }
}

impl LongSearch {
    fn new(pattern: &str, max_states: usize) -> Self {
        let unknown = || LongSearch { states: max_states, is_safe: false, lazy: None };
        let Ok(hir) = parse(pattern) else { return unknown() };
        let nfa = |is_reverse: bool| {
            let config = thompson::Config::new().which_captures(WhichCaptures::None).reverse(is_reverse);
            thompson::Compiler::new().configure(config).build_from_hir(&hir).ok()
        };
        let Some(forward) = nfa(false) else { return unknown() };
        let states = forward.states().len();
        let prefilter = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &hir);
        let config = dfa::Config::new()
            .unicode_word_boundary(true)
            .cache_capacity(MAX_LAZY_MEMORY)
            // What is large is honest more often than not: `\w{1,64}` has 90,000 states.
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(3))
            .minimum_bytes_per_state(Some(MIN_BYTES_PER_STATE.max(states / MAX_STATES_PER_BYTE)));
        let backward = config.clone().match_kind(MatchKind::All);
        let config = config.specialize_start_states(prefilter.is_some()).prefilter(prefilter);
        let build = |config, nfa| dfa::Builder::new().configure(config).build_from_nfa(nfa).ok();
        let lazy = build(config, forward).zip(nfa(true).and_then(|nfa| build(backward, nfa)));
        let Some((forward, backward)) = lazy else { return LongSearch { states, is_safe: false, lazy: None } };
        let is_safe = has_few_states(&forward, states, DFA::start_state_forward)
            && has_few_states(&backward, states, DFA::start_state_reverse);
        let lazy = if is_safe { None } else { Some(LazyBuilder::new().build_from_dfas(forward, backward)) };
        LongSearch { states, is_safe, lazy }
    }
}

/// Whether a DFA has so few states that all of them are known after the work of one search, and fit into its memory.
fn has_few_states(
    dfa: &DFA,
    states: usize,
    start: fn(&DFA, &mut dfa::Cache, &Input<'_>) -> Result<LazyStateID, MatchError>,
) -> bool {
    let mut cache = dfa.create_cache();
    let classes: Vec<u8> = dfa.byte_classes().representatives(0..=255).filter_map(|unit| unit.as_u8()).collect();
    let mut seen = HashSet::new();
    let mut open = Vec::new();
    // Where a search begins depends on the byte beside it.
    let beside = classes.iter().map(std::slice::from_ref).flat_map(|byte| [(byte, 0..0), (byte, 1..1)]);
    for (haystack, span) in beside.chain([(&[][..], 0..0)]) {
        for anchored in [Anchored::No, Anchored::Yes] {
            let input = Input::new(haystack).span(span.clone()).anchored(anchored);
            let Ok(state) = start(dfa, &mut cache, &input) else { return false };
            if cache.clear_count() > 0 {
                return false;
            }
            if seen.insert(state) {
                open.push(state);
            }
        }
    }
    // Few transitions look at all states of the pattern.
    let mut steps_left = 4 * MAX_STEPS / states.max(1);
    while let Some(state) = open.pop() {
        let Some(left) = steps_left.checked_sub(classes.len()) else { return false };
        steps_left = left;
        for byte in &classes {
            let Ok(next) = dfa.next_state(&mut cache, state, *byte) else { return false };
            // What is known of other states is gone with the memory.
            if next.is_quit() || cache.clear_count() > 0 {
                return false;
            }
            if !next.is_dead() && seen.insert(next) {
                open.push(next);
            }
        }
        if dfa.next_eoi_state(&mut cache, state).is_err() || cache.clear_count() > 0 {
            return false;
        }
    }
    true
}

fn parse(pattern: &str) -> Result<Hir, InvalidRegex> {
    regex_syntax::parse(pattern).map_err(|error| {
        let text = error.to_string();
        InvalidRegex(text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
    })
}

/// The matches of a pattern in a text that have not been looked for yet.
pub struct Matches<'r, 't> {
    regex: &'r BoundedRegex,
    searcher: Searcher<'t>,
    captures: Captures,
    cache: Option<Cache>,
}

impl Matches<'_, '_> {
    /// Looks for the next match. Returns its groups, and where it lies.
    pub fn find_next(&mut self) -> Result<Option<(&Captures, Match)>, TooLong> {
        let Matches { regex, searcher, captures, cache } = self;
        let found = searcher.try_advance(|input| {
            let searched = regex.capture(input, captures, cache);
            searched.map_err(|TooLong| MatchError::gave_up(input.start()))?;
            Ok(captures.get_match())
        });
        let found = found.map_err(|_| TooLong)?;
        Ok(found.map(|whole| (&self.captures, whole)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(regex: &BoundedRegex, text: &str) -> Vec<Vec<Option<(usize, usize)>>> {
        let mut matches = regex.matches(text);
        let mut found = Vec::new();
        while let Some((captures, _)) = matches.find_next().unwrap() {
            found.push(captures.iter().map(|group| group.map(|span| (span.start, span.end))).collect());
        }
        found
    }

    /// The lazy DFA also of a pattern that needs none of its own.
    fn lazy_dfa(pattern: &str) -> Option<LazyRegex> {
        let hir = parse(pattern).unwrap();
        let nfa = |is_reverse| {
            let config = thompson::Config::new().which_captures(WhichCaptures::None).reverse(is_reverse);
            thompson::Compiler::new().configure(config).build_from_hir(&hir).unwrap()
        };
        let config = dfa::Config::new().unicode_word_boundary(true);
        let build = |config, nfa| dfa::Builder::new().configure(config).build_from_nfa(nfa).unwrap();
        let forward = build(config.clone(), nfa(false));
        Some(LazyBuilder::new().build_from_dfas(forward, build(config.match_kind(MatchKind::All), nfa(true))))
    }

    fn spans_of_the_regex_crate(pattern: &str, text: &str) -> Vec<Vec<Option<(usize, usize)>>> {
        let regex = regex::Regex::new(pattern).unwrap();
        let groups = |captures: regex::Captures<'_>| {
            captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect()
        };
        regex.captures_iter(text).map(groups).collect()
    }

    #[test]
    fn long_and_short_searches_find_the_same() {
        let patterns = [
            "a",
            "",
            "a*",
            "x*?",
            r"(\w+)@(\w+)",
            r"\bka\b",
            r"(?m)^(.)(?:.*)$",
            "(a|ab)(c|bcd)?",
            r"\d{2,4}$",
            "^k",
            "ü|(k)",
            r"\p{L}+",
            "(?i)KA",
            r"(?:(a)|b)*",
        ];
        let texts = ["", "a", "ka lu ka", "abcd abc", "12 345\nk@me you@there 6789", "grüße, ka", "日本 ka 語", "bab"];
        for pattern in patterns {
            let short = BoundedRegex::new(pattern).unwrap();
            let long = BoundedRegex { max_states: usize::MAX, ..BoundedRegex::new(pattern).unwrap() };
            let states = usize::MAX;
            let lazy = lazy_dfa(pattern);
            assert!(long.long_search.set(Box::new(LongSearch { states, is_safe: false, lazy })).is_ok());
            for text in texts {
                let expected = spans_of_the_regex_crate(pattern, text);
                assert_eq!(spans(&short, text), expected, "{pattern} in {text}");
                assert_eq!(short.is_match(text), Ok(!expected.is_empty()), "{pattern} in {text}");
                // The lazy DFA knows words in ASCII only, and captures need a text of no length to be short.
                if pattern.contains('b') && !text.is_ascii() {
                    continue;
                }
                assert_eq!(long.is_match(text), Ok(!expected.is_empty()), "{pattern} in {text}");
            }
        }
    }

    #[test]
    fn matches_of_a_long_text_have_their_groups() {
        let text = "key-1=value@x.com;\n".repeat(100_000);
        for pattern in [r"(\w+)-(?P<number>\d+)=(\w+)", r"(\w+)@(\w+)\.com", r"\d+"] {
            let regex = BoundedRegex::new(pattern).unwrap();
            assert!(!regex.is_short(text.len()));
            assert_eq!(spans(&regex, &text), spans_of_the_regex_crate(pattern, &text));
        }
        let is_safe = |pattern: &str| BoundedRegex::new(pattern).unwrap().long_search().is_safe;
        assert!(is_safe(r"(\w+)@(\w+)\.com") && !is_safe("1[01]{16000}[^01]") && !is_safe(r"\bword\b"));
    }

    #[test]
    fn a_search_that_would_take_long_is_refused() {
        let text: String =
            (0..200_000u32).map(|n| if n.wrapping_mul(2_654_435_761) >> 31 == 0 { '0' } else { '1' }).collect();
        let regex = BoundedRegex::new("1[01]{16000}[^01]").unwrap();
        assert_eq!(regex.is_match(&text), Err(TooLong));
        assert_eq!(regex.matches(&text).find_next().err(), Some(TooLong));
        // Also where the states outlive the text that needs them.
        let text = format!("{}{}", &text[..20_000], "x".repeat(200_000)).repeat(20);
        assert_eq!(BoundedRegex::new("1[01]{16000}[^01x]").unwrap().is_match(&text), Err(TooLong));
    }

    #[test]
    fn honest_patterns_have_no_bound_that_a_text_meets() {
        let words = "the quick brown fox jumps over the lazy dog ".repeat(50_000);
        for (pattern, expected) in [(r"^\w{1,64}$", false), (r"\b\w{1,64}\b", true), (r"(?i)lazy\s+cat", false)] {
            assert_eq!(BoundedRegex::new(pattern).unwrap().is_match(&words), Ok(expected), "{pattern}");
        }
        let alternatives: Vec<String> = (0..1000).map(|n| format!("word{}", n * 7919)).collect();
        let regex = BoundedRegex::new(&format!(r"\b(?:{})\b", alternatives.join("|"))).unwrap();
        let blob = format!("{} {}", "x".repeat(100_000), "y".repeat(3));
        assert_eq!(spans(&BoundedRegex::new(r"\w{32,}").unwrap(), &blob), [[Some((0, 100_000))]]);
        assert_eq!(regex.is_match(&"word1 word22 nothing word333 ".repeat(50_000)), Ok(false));
    }
}
