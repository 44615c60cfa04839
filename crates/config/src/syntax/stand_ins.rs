//! Puts other characters in place of the secrets of a config file, so that it still loads and means the same in all else.

use super::mask::{SecretFlag, URL_KEYS, secret_flag, sounds_secret};
use super::tree::{Node, Span, Value};

/// What is shorter is no secret: a port, a level, a flag.
const SHORTEST: usize = 4;
/// Secrets that are shorter are looked for only where the name of a key suggests one: elsewhere they may be plain words.
const UNMISTAKABLE: usize = 12;

/// The text with other characters in place of the `known` secrets, so that it means the same in all else. What an argument of a
/// command announces as secret is replaced, too.
pub(crate) fn with_stand_ins(text: &str, root: &Node, known: &[String]) -> String {
    let mut places = Vec::new();
    collect_places(root, false, &mut places);
    let of_length = |least: usize| known.iter().filter(|secret| secret.len() >= least).map(String::as_str).collect();
    let secrets: Vec<&str> = of_length(SHORTEST);
    let unmistakable: Vec<&str> = of_length(UNMISTAKABLE);
    let mut replaced = text.to_owned();
    // From the end, so that the spans before it stay valid.
    places.sort_by_key(|place| std::cmp::Reverse(place.span.start));
    for place in places {
        let Some(written) = text.get(place.span.clone()) else { continue };
        let other = match place.suspicion {
            Suspicion::Announced => Some(announced(written)),
            Suspicion::Named => stand_in(written, place.value, &secrets),
            Suspicion::None => stand_in(written, place.value, &unmistakable),
        };
        if let Some(other) = other {
            replaced.replace_range(place.span, &other);
        }
    }
    replaced
}

/// Whether the names around a value suggest that it is secret.
#[derive(Clone, Copy, PartialEq)]
enum Suspicion {
    None,
    /// A key above it sounds secret.
    Named,
    /// It is an argument of a command, after or with a flag that sounds secret.
    Announced,
}

/// A text in the tree.
struct ScalarPlace<'a> {
    span: Span,
    value: &'a str,
    suspicion: Suspicion,
}

fn collect_places<'a>(node: &'a Node, is_named: bool, places: &mut Vec<ScalarPlace<'a>>) {
    match &node.value {
        Value::Map(entries) => {
            for (key, value) in entries {
                let is_address = URL_KEYS.contains(&key.text.as_str());
                collect_places(value, is_named || is_address || sounds_secret(&key.text), places);
            }
        }
        Value::List(items) => {
            let mut after_flag = false;
            for item in items {
                let flag = secret_flag(item);
                let before = places.len();
                collect_places(item, is_named, places);
                let is_announced = after_flag || flag == SecretFlag::WithValue;
                if let (true, Some(place)) = (is_announced, places.get_mut(before)) {
                    place.suspicion = Suspicion::Announced;
                }
                after_flag = flag == SecretFlag::BeforeValue;
            }
        }
        Value::String(value) | Value::Block(value) | Value::Number(value) => {
            let suspicion = if is_named { Suspicion::Named } else { Suspicion::None };
            places.push(ScalarPlace { span: node.span.clone(), value, suspicion });
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// What stands for an argument. `--token=abc` keeps the name.
fn announced(written: &str) -> String {
    let name = written.find(['=', ':']).map_or(0, |at| at + 1);
    format!("{}{}", &written[..name], letters(&written[name..], quote_of(written)))
}

/// What stands for a scalar as it is written. `None` if it has no secret.
fn stand_in(written: &str, value: &str, secrets: &[&str]) -> Option<String> {
    let number_in = |text: &str| secrets.iter().filter(|secret| text.contains(**secret)).count();
    let found = number_in(value);
    if found == 0 {
        return None;
    }
    // Escapes, or several lines: the secret is not written as it is.
    if number_in(written) != found {
        return Some(letters(written, quote_of(written)));
    }
    Some(secrets.iter().fold(written.to_owned(), |text, secret| text.replace(secret, &letters(secret, None))))
}

/// As many letters as a text has, with its white space and this quote. A number stays one.
fn letters(text: &str, quote: Option<char>) -> String {
    let letter = if text.parse::<f64>().is_ok() { '1' } else { 'x' };
    // An escaped quote becomes letters, too.
    let plain = text.replace("\\\"", "xx");
    plain.chars().map(|known| if known.is_whitespace() || Some(known) == quote { known } else { letter }).collect()
}

/// The quote around a scalar.
fn quote_of(written: &str) -> Option<char> {
    written.chars().next().filter(|first| "\"'".contains(*first))
}
