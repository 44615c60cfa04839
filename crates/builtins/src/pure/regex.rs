//! The Starlark module `re`: regular expressions with linear running time, and globs.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use regex_automata::util::captures::Captures;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::AllocTuple;
use starlark::values::{Heap, Value};

use proxy_base::bounded_regex::{BoundedRegex, TooLong};
use proxy_script::{Context, ScriptError, script_error};

pub(crate) fn register_re(builder: &mut GlobalsBuilder) {
    builder.namespace("re", members);
}

/// Regular expressions. Matching takes time linear in the text, so there are no back-references and no look-around. A
/// pattern with very many states and a long text together are an error.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// Matches at the start of `text`. Returns None, or a struct with `text`, `groups` (a list, with None for each
    /// group that did not participate), `named` (a dict), `start` and `end` (byte offsets). Begin the pattern with `.*`
    /// to search anywhere.
    fn r#match<'v>(pattern: &str, text: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let regex = compiled(pattern)?;
        let mut matches = regex.match_at_start(text);
        let found = matches.find_next().map_err(|error| too_long(pattern, error))?;
        Ok(found.map_or(Value::new_none(), |(captures, _)| match_struct(&regex, text, captures, heap)))
    }

    /// Tests whether the pattern matches anywhere in the text. Faster than `re.find_all()`.
    fn test(pattern: &str, text: &str) -> starlark::Result<bool> {
        Ok(compiled(pattern)?.is_match(text).map_err(|error| too_long(pattern, error))?)
    }

    /// Returns all non-overlapping matches as a list of strings: whole matches, or the group's text if the pattern has
    /// one group. With several groups, returns a list of tuples.
    fn find_all<'v>(pattern: &str, text: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let context = Context::of(eval)?;
        let heap = eval.heap();
        let regex = compiled(pattern)?;
        let group = |captures: &Captures, index| group(text, captures, index).unwrap_or_default();
        let item = |captures: &Captures| match captures.group_len() {
            1 => heap.alloc(group(captures, 0)),
            2 => heap.alloc(group(captures, 1)),
            count => heap.alloc(AllocTuple((1..count).map(|index| group(captures, index)))),
        };
        let mut items = Vec::new();
        let mut matches = regex.matches(text);
        while let Some((captures, _)) = matches.find_next().map_err(|error| too_long(pattern, error))? {
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
        let context = Context::of(eval)?;
        let regex = compiled(pattern)?;
        let template = template(replacement);
        let mut matches = regex.matches(text);
        let mut replaced = String::new();
        let mut copied = 0;
        for _ in 0..limit {
            let found = matches.find_next().map_err(|error| too_long(pattern, error))?;
            let Some((captures, whole)) = found else { break };
            context.checkpoint()?;
            replaced.push_str(&text[copied..whole.start()]);
            captures.interpolate_string_into(text, &template, &mut replaced);
            copied = whole.end();
        }
        replaced.push_str(&text[copied..]);
        Ok(replaced)
    }

    /// Tests whether the whole text matches a glob: `*` matches any text, `?` one character, `[abc]` one listed
    /// character, `[!abc]` one character that is not listed.
    fn glob(pattern: &str, text: &str) -> starlark::Result<bool> {
        Ok(compiled(&from_glob(pattern))?.is_match(text).map_err(|error| too_long(pattern, error))?)
    }
}

/// Returns whether the whole text matches a glob, like `re.glob()`. An invalid pattern matches nothing.
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    compiled(&from_glob(pattern)).is_ok_and(|regex| regex.is_match(text) == Ok(true))
}

/// The text of a group; `None` if it did not participate.
fn group<'t>(text: &'t str, captures: &Captures, index: usize) -> Option<&'t str> {
    captures.get_group(index).map(|span| &text[span])
}

fn match_struct<'v>(regex: &BoundedRegex, text: &str, captures: &Captures, heap: Heap<'v>) -> Value<'v> {
    let value = |index| group(text, captures, index).map_or(Value::new_none(), |group| heap.alloc(group));
    let groups: Vec<Value<'v>> = (1..captures.group_len()).map(value).collect();
    let named = regex.group_names().enumerate().filter_map(|(index, name)| Some((name?, value(index))));
    let whole = captures.get_group(0);
    heap.alloc(AllocStruct([
        ("text", value(0)),
        ("groups", heap.alloc(groups)),
        ("named", heap.alloc(AllocDict(named))),
        ("start", heap.alloc(whole.map_or(0, |whole| whole.start))),
        ("end", heap.alloc(whole.map_or(0, |whole| whole.end))),
    ]))
}

fn too_long(pattern: &str, error: TooLong) -> ScriptError {
    let problem = ScriptError::new(format!("`{}`: {error}", shortened(pattern)));
    // Where words of all languages end is not for a DFA.
    if pattern.contains(r"\b") { problem.hint(r"write `(?-u:\b)` for ASCII word boundaries") } else { problem }
}

/// A pattern as messages show it.
fn shortened(pattern: &str) -> std::borrow::Cow<'_, str> {
    const SHOWN: usize = 200;
    if pattern.len() <= SHOWN {
        return pattern.into();
    }
    format!("{}...", &pattern[..pattern.floor_char_boundary(SHOWN)]).into()
}

/// Compiles a pattern, or returns it from the cache: scripts tend to use the same few patterns for every tool. A full
/// cache is emptied, so that a script that generates patterns cannot make it grow.
fn compiled(pattern: &str) -> Result<Arc<BoundedRegex>, ScriptError> {
    const MAX_CACHED: usize = 256;
    static CACHE: LazyLock<Mutex<HashMap<String, Arc<BoundedRegex>>>> = LazyLock::new(Mutex::default);
    let cached = CACHE.lock().get(pattern).cloned();
    if let Some(regex) = cached {
        return Ok(regex);
    }
    // Compiling may take long, and every glob of the proxy needs the lock.
    let regex = BoundedRegex::new(pattern)
        .map_err(|error| ScriptError::new(format!("invalid regular expression `{}`: {error}", shortened(pattern))))?;
    // Shared through an `Arc`: a clone would start with empty scratch space.
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
            other => out.push_str(&regex_syntax::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push('$');
    out
}
