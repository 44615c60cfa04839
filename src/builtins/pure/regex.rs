//! The Starlark module `re`: regular expressions with linear running time, and globs.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use regex::{Captures, Regex};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::AllocTuple;
use starlark::values::{Heap, Value};

use crate::script::{Context, ScriptError, script_error};

pub(crate) fn register_re(builder: &mut GlobalsBuilder) {
    builder.namespace("re", members);
}

/// The text of a group; empty if it did not participate.
fn group<'t>(captures: &Captures<'t>, index: usize) -> &'t str {
    captures.get(index).map_or("", |group| group.as_str())
}

/// Regular expressions. Matching takes time linear in the text, so there are no back-references and no look-around.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// Matches at the beginning of the text. Returns None, or a struct with `text`, `groups` (a list, with None for a group
    /// that did not participate), `named` (a dict), `start` and `end` (byte offsets). Begin the pattern with `.*` to search
    /// anywhere.
    fn r#match<'v>(pattern: &str, text: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let regex = compiled(pattern)?;
        // Matches are leftmost-first: if any match begins at 0, the first one does.
        let captures = regex.captures(text).filter(|captures| captures.get(0).is_some_and(|whole| whole.start() == 0));
        Ok(captures.map_or(Value::new_none(), |captures| match_struct(&regex, &captures, heap)))
    }

    /// Returns whether the pattern matches anywhere in the text. Faster than looking at what `re.find_all()` returns.
    fn test(pattern: &str, text: &str) -> starlark::Result<bool> {
        Ok(compiled(pattern)?.is_match(text))
    }

    /// Returns all non-overlapping matches as a list of strings: the whole match, or the group if the pattern has one
    /// group. With several groups, the list holds tuples.
    fn find_all<'v>(pattern: &str, text: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let (context, heap) = (Context::of(eval)?, eval.heap());
        let regex = compiled(pattern)?;
        let item = |captures: Captures<'_>| match regex.captures_len() {
            1 => heap.alloc(group(&captures, 0)),
            2 => heap.alloc(group(&captures, 1)),
            count => heap.alloc(AllocTuple((1..count).map(|index| group(&captures, index)))),
        };
        let mut items = Vec::new();
        for captures in regex.captures_iter(text) {
            // Finding the next match may mean to read the rest of the text.
            context.checkpoint()?;
            items.push(item(captures));
        }
        Ok(heap.alloc(items))
    }

    /// Replaces all matches (or the first `count`). `\1` and `\g<name>` in the replacement refer to groups.
    fn sub(
        pattern: &str,
        replacement: &str,
        text: &str,
        #[starlark(default = 0)] count: i32,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> starlark::Result<String> {
        let limit = match usize::try_from(count).map_err(|_| script_error("`count` must not be negative"))? {
            0 => usize::MAX,
            count => count,
        };
        let (context, regex, template) = (Context::of(eval)?, compiled(pattern)?, template(replacement));
        let (mut replaced, mut copied) = (String::new(), 0);
        for captures in regex.captures_iter(text).take(limit) {
            context.checkpoint()?;
            let Some(whole) = captures.get(0) else { continue };
            replaced.push_str(&text[copied..whole.start()]);
            captures.expand(&template, &mut replaced);
            copied = whole.end();
        }
        replaced.push_str(&text[copied..]);
        Ok(replaced)
    }

    /// Returns whether the whole text matches a glob: `*` matches any text, `?` one character, `[abc]` one of the listed
    /// characters, `[!abc]` one character that is not listed.
    fn glob(pattern: &str, text: &str) -> starlark::Result<bool> {
        Ok(compiled(&from_glob(pattern))?.is_match(text))
    }
}

/// Returns whether the whole text matches a glob, like `re.glob()`. An invalid pattern matches nothing.
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    compiled(&from_glob(pattern)).is_ok_and(|regex| regex.is_match(text))
}

fn match_struct<'v>(regex: &Regex, captures: &Captures<'_>, heap: Heap<'v>) -> Value<'v> {
    let text_of = |group: Option<regex::Match<'_>>| group.map_or(Value::new_none(), |group| heap.alloc(group.as_str()));
    let groups: Vec<Value<'v>> = captures.iter().skip(1).map(text_of).collect();
    let named = regex.capture_names().flatten().map(|name| (name, text_of(captures.name(name))));
    let whole = captures.get(0);
    heap.alloc(AllocStruct([
        ("text", text_of(whole)),
        ("groups", heap.alloc(groups)),
        ("named", heap.alloc(AllocDict(named))),
        ("start", heap.alloc(whole.map_or(0, |whole| whole.start()))),
        ("end", heap.alloc(whole.map_or(0, |whole| whole.end()))),
    ]))
}

/// Compiles a pattern, or returns it from the cache: scripts tend to use the same few patterns for every tool. A full
/// cache is emptied, so that a script that generates patterns cannot make it grow.
fn compiled(pattern: &str) -> Result<Arc<Regex>, ScriptError> {
    const MAX_CACHED: usize = 256;
    static CACHE: LazyLock<Mutex<HashMap<String, Arc<Regex>>>> = LazyLock::new(Mutex::default);
    let cached = CACHE.lock().get(pattern).cloned();
    if let Some(regex) = cached {
        return Ok(regex);
    }
    // Compiling may take long, and every glob of the proxy needs the lock.
    let regex = Regex::new(pattern).map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        ScriptError::new(format!("invalid regular expression `{pattern}`: {reason}"))
    })?;
    // Shared through an `Arc`: a cloned `Regex` would start with empty scratch space.
    let regex = Arc::new(regex);
    let mut cache = CACHE.lock();
    if cache.len() >= MAX_CACHED {
        cache.clear();
    }
    cache.insert(pattern.to_owned(), regex.clone());
    Ok(regex)
}

/// Translates a replacement from Python's notation to that of the `regex` crate.
fn template(replacement: &str) -> String {
    let mut out = String::new();
    let mut rest = replacement;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '$' => out.push_str("$$"),
            '\\' => {
                if let Some((name, after)) = rest.strip_prefix("g<").and_then(|name| name.split_once('>')) {
                    out.push_str(&format!("${{{name}}}"));
                    rest = after;
                } else if let Some(digit) = rest.chars().next().filter(char::is_ascii_digit) {
                    out.push_str(&format!("${{{digit}}}"));
                    rest = &rest[1..];
                } else if let Some(after) = rest.strip_prefix('\\') {
                    out.push('\\');
                    rest = after;
                } else {
                    out.push('\\');
                }
            }
            other => out.push(other),
        }
    }
    out
}

/// Translates a glob to a regular expression.
///
/// `glob::Pattern` is no substitute: it rejects `a**` and an unclosed `[`, gives `**/` a meaning of its own, and its
/// matching is not linear in the text.
fn from_glob(pattern: &str) -> String {
    let mut out = String::from("(?s)^");
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        match letter {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => match rest.split_once(']') {
                Some((letters, after)) if !letters.trim_start_matches('!').is_empty() => {
                    let (sign, letters) = letters.strip_prefix('!').map_or(("", letters), |letters| ("^", letters));
                    let escaped =
                        letters.replace('\\', "\\\\").replace('[', "\\[").replace('^', "\\^").replace('&', "\\&");
                    out.push_str(&format!("[{sign}{escaped}]"));
                    rest = after;
                }
                _ => out.push_str("\\["),
            },
            other => out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push('$');
    out
}
