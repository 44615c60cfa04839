//! Paths to a part of a result: `items[0].id`, `["a key"]`, `items[40:60]`, `items[*].id`.

use std::fmt;

use proxy_base::grouped_digits::grouped;
use proxy_json::{Object, Raw, RawRef};

const MAX_CHARACTERS: usize = 256;
const MAX_STEPS: usize = 16;
/// How many members an error names.
const MAX_NAMED: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(usize),
    /// From the first index up to, and without, the second.
    Slice(usize, Option<usize>),
    All,
}

impl Path {
    /// # Errors
    /// Why it is no path, for the model.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.chars().count() > MAX_CHARACTERS {
            return Err(format!("`path` is too long: at most {MAX_CHARACTERS} characters"));
        }
        let wrong = |rest: &str| {
            format!(
                "`path` is wrong at `{rest}`: write `.key`, `[\"key\"]`, `[n]`, `[a:b]` or `[*]`, such as `items[40:60]`"
            )
        };
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (step, after) = next_step(rest, steps.is_empty()).ok_or_else(|| wrong(rest))?;
            steps.push(step);
            rest = after;
        }
        if steps.len() > MAX_STEPS {
            return Err(format!("`path` has too many steps: at most {MAX_STEPS}"));
        }
        Ok(Path { text: text.to_owned(), steps })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value at the path. Slices and `[*]` give an array of what they find.
    ///
    /// # Errors
    /// What is not there, for the model.
    pub(super) fn find(&self, value: &RawRef) -> Result<Raw, String> {
        let mut found = value;
        for (at, step) in self.steps.iter().enumerate() {
            let several = match step {
                Step::Member(name) => {
                    found = self.member(found, name, at)?;
                    continue;
                }
                Step::Element(index) => {
                    let mut elements = self.elements(found, at)?;
                    found = elements.nth(*index).ok_or_else(|| self.beyond(value, at))?;
                    continue;
                }
                Step::Slice(from, _) if *from > 0 && self.elements(found, at)?.nth(*from).is_none() => {
                    return Err(self.beyond(value, at));
                }
                Step::Slice(from, to) => *from..to.unwrap_or(usize::MAX),
                Step::All => 0..usize::MAX,
            };
            let mut list = String::from("[");
            for element in self.elements(found, at)?.skip(several.start).take(several.len()) {
                self.collect(element, at + 1, &mut list);
            }
            list.push(']');
            return proxy_json::valid(list).map_err(|error| error.to_string());
        }
        Ok(found.to_owned())
    }

    /// Adds what the steps from `at` on find in one of several elements. What an element lacks is `null`, so that the
    /// elements keep their places.
    fn collect(&self, value: &RawRef, at: usize, list: &mut String) {
        let mut found = value;
        for (position, step) in self.steps.iter().enumerate().skip(at) {
            let next = match step {
                Step::Member(name) => found.member(name),
                Step::Element(index) => found.elements().and_then(|mut elements| elements.nth(*index)),
                Step::Slice(..) | Step::All => {
                    let (from, to) = match step {
                        Step::Slice(from, to) => (*from, to.unwrap_or(usize::MAX)),
                        _ => (0, usize::MAX),
                    };
                    let elements = found.elements().into_iter().flatten();
                    elements.skip(from).take(to.saturating_sub(from)).for_each(|element| {
                        self.collect(element, position + 1, list);
                    });
                    return;
                }
            };
            found = next.unwrap_or(RawRef::NULL);
        }
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(found.get());
    }

    fn member<'a>(&self, value: &'a RawRef, name: &str, at: usize) -> Result<&'a RawRef, String> {
        if let Some(member) = value.member(name) {
            return Ok(member);
        }
        let before = self.before(at);
        if !value.get().starts_with('{') {
            return Err(format!("{before} is {}: it has no members", kind_of(value)));
        }
        let names: Vec<String> = match Object::of(value) {
            Ok(members) => members.keys().take(MAX_NAMED).map(|name| format!("`{name}`")).collect(),
            Err(_) => Vec::new(),
        };
        let named = if names.is_empty() { String::new() } else { format!("; it has {}", names.join(", ")) };
        Err(format!("{before} has no member `{name}`{named}"))
    }

    fn elements<'a>(&self, value: &'a RawRef, at: usize) -> Result<proxy_json::Elements<'a>, String> {
        let no_array = || format!("{} is {}: it has no elements", self.before(at), kind_of(value));
        value.elements().ok_or_else(no_array)
    }

    /// The error for an index behind the last element. `value` is the whole one.
    fn beyond(&self, value: &RawRef, at: usize) -> String {
        let array = Path { text: String::new(), steps: self.steps[..at].to_vec() };
        let count = array.find(value).ok().and_then(|array| Some(array.elements()?.count())).unwrap_or_default();
        format!("{} has {} elements, counted from 0", self.before(at), grouped(count as u64))
    }

    /// The path up to a step, for errors.
    fn before(&self, at: usize) -> String {
        if at == 0 { "the result".to_owned() } else { format!("`{}`", Steps(&self.steps[..at])) }
    }
}

/// The path of the array that begins at this position of the value; `None` if it cannot be written as a path.
pub(super) fn path_to(value: &RawRef, position: usize) -> Option<String> {
    let mut steps = Vec::new();
    let mut at = value;
    loop {
        let start = value.range_of(at)?.start;
        if start == position {
            let text = Steps(&steps).to_string();
            return (steps.len() < MAX_STEPS && text.len() < MAX_CHARACTERS / 2).then_some(text);
        }
        let holds = |part: &RawRef| value.range_of(part).is_some_and(|range| range.contains(&position));
        let (step, part) = match at.elements() {
            Some(elements) => {
                let (index, part) = elements.enumerate().find(|(_, part)| holds(part))?;
                (Step::Element(index), part)
            }
            None => {
                let members = Object::of(at).ok()?;
                let (name, part) = members.iter().find(|(_, part)| holds(part))?;
                (Step::Member(name.to_owned()), part)
            }
        };
        steps.push(step);
        at = part;
    }
}

/// The first step of a path, and what follows. Before the first key, the dot may be left out.
fn next_step(path: &str, is_first: bool) -> Option<(Step, &str)> {
    if let Some(inside) = path.strip_prefix('[') {
        if inside.starts_with('"') {
            let mut names = serde_json::Deserializer::from_str(inside).into_iter::<String>();
            let name = names.next()?.ok()?;
            return Some((Step::Member(name), inside[names.byte_offset()..].strip_prefix(']')?));
        }
        let (index, rest) = inside.split_once(']')?;
        return Some((bracketed(index.trim())?, rest));
    }
    let key = match path.strip_prefix('.') {
        Some(key) => key,
        None if is_first => path,
        None => return None,
    };
    let end = key.find(['.', '[', ']', '"', ' ']).unwrap_or(key.len());
    let (name, rest) = key.split_at(end);
    (!name.is_empty()).then(|| (Step::Member(name.to_owned()), rest))
}

fn bracketed(index: &str) -> Option<Step> {
    let number = |text: &str| {
        let text = text.trim();
        if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse::<usize>().ok() } else { None }
    };
    if index == "*" {
        return Some(Step::All);
    }
    match index.split_once(':') {
        None => number(index).map(Step::Element),
        Some((from, to)) => {
            let from = if from.trim().is_empty() { 0 } else { number(from)? };
            let to = if to.trim().is_empty() { None } else { Some(number(to)?) };
            Some(Step::Slice(from, to))
        }
    }
}

fn kind_of(value: &RawRef) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a Boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Writes steps as a path.
struct Steps<'a>(&'a [Step]);

impl fmt::Display for Steps<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Member(name) if is_plain(name) && position == 0 => formatter.write_str(name)?,
                Step::Member(name) if is_plain(name) => write!(formatter, ".{name}")?,
                Step::Member(name) => write!(formatter, "[{}]", proxy_json::quote(name))?,
                Step::Element(index) => write!(formatter, "[{index}]")?,
                Step::Slice(from, Some(to)) => write!(formatter, "[{from}:{to}]")?,
                Step::Slice(from, None) => write!(formatter, "[{from}:]")?,
                Step::All => formatter.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = r#"{"items":[{"id":1.10,"tags":["a","b"]},{"id":9223372036854775808},{"name":"x"}],
        "a \"key\"":{"b":true},"text":"long"}"#;

    fn find(path: &str) -> Result<String, String> {
        let value = proxy_json::valid(VALUE.to_owned()).unwrap();
        Path::parse(path)?.find(&value).map(|found| found.get().to_owned())
    }

    #[test]
    fn paths_find_values_with_their_bytes() {
        for (path, expected) in [
            ("items[0].id", "1.10"),
            (".items[1].id", "9223372036854775808"),
            ("[\"items\"][0][\"tags\"][1]", "\"b\""),
            ("[\"a \\\"key\\\"\"].b", "true"),
            ("items[*].id", "[1.10,9223372036854775808,null]"),
            ("items[1:]", r#"[{"id":9223372036854775808},{"name":"x"}]"#),
            ("items[:1].tags[*]", r#"["a","b"]"#),
            ("items[0:2].id", "[1.10,9223372036854775808]"),
            ("items[ 0 ].id", "1.10"),
            ("items[2:1]", "[]"),
        ] {
            assert_eq!(find(path).as_deref(), Ok(expected), "{path}");
        }
        assert_eq!(find("").unwrap(), VALUE);
    }

    #[test]
    fn what_is_not_there_is_told() {
        for (path, expected) in [
            ("text.x", "`text` is a string: it has no members"),
            ("text[0]", "`text` is a string: it has no elements"),
            ("items[3]", "`items` has 3 elements, counted from 0"),
            ("items[9:12]", "`items` has 3 elements, counted from 0"),
            ("[0]", "the result is an object: it has no elements"),
            ("item", "the result has no member `item`; it has `items`, `a \"key\"`, `text`"),
            ("items[0].x.y", "`items[0]` has no member `x`; it has `id`, `tags`"),
        ] {
            assert_eq!(find(path), Err(expected.to_owned()), "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [
            "items[",
            "items[-1]",
            "items[a]",
            "items..id",
            ".",
            "a b",
            "[\"a]",
            "[1 2]",
            "items]",
            "[99999999999999999999]",
        ] {
            let error = find(path).unwrap_err();
            assert!(error.starts_with("`path` is wrong at"), "{path}: {error}");
        }
        assert!(find(&"a".repeat(257)).unwrap_err().contains("at most 256 characters"));
        assert!(find(&".a".repeat(17)).unwrap_err().contains("at most 16"));
    }

    #[test]
    fn the_path_to_an_array_is_written_as_it_is_read() {
        let value = proxy_json::valid(VALUE.to_owned()).unwrap();
        for path in ["items", "items[0].tags"] {
            let found = value.range_of(find_in(&value, path)).unwrap();
            assert_eq!(path_to(&value, found.start).as_deref(), Some(path));
        }
        let odd = proxy_json::valid(r#"{"a \"key\"":[[1,2]]}"#.to_owned()).unwrap();
        let path = path_to(&odd, 14).unwrap();
        assert_eq!(path, r#"["a \"key\""][0]"#);
        assert_eq!(Path::parse(&path).unwrap().find(&odd).unwrap().get(), "[1,2]");
    }

    fn find_in<'a>(value: &'a RawRef, path: &str) -> &'a RawRef {
        match path {
            "items" => value.member("items").unwrap(),
            _ => value.member("items").unwrap().elements().unwrap().next().unwrap().member("tags").unwrap(),
        }
    }
}
