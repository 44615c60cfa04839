//! The kinds of what is redacted, and the places where a text has them. Every search is linear in the text: repetitions
//! have bounds, or are read by hand.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{numbers, secrets};

/// A kind: its name, which is also what it is replaced by, and how it is found.
pub(super) struct Find {
    pub(super) name: &'static str,
    places: fn(&str) -> Vec<Range<usize>>,
}

/// In this order: what is found first is gone when the next one looks.
pub(super) static KINDS: [Find; 6] = [
    Find { name: "secret", places: secrets::places },
    Find { name: "email", places: emails },
    Find { name: "ip", places: addresses },
    Find { name: "credit_card", places: numbers::cards },
    Find { name: "ssn", places: numbers::social_security },
    Find { name: "phone", places: numbers::phones },
];
pub(super) const NAMES: [&str; 6] = ["secret", "email", "ip", "credit_card", "ssn", "phone"];

/// The text without those; none if it stays as it is.
pub(super) fn replaced(text: &str, wanted: &[&Find]) -> Option<String> {
    let mut current: Option<String> = None;
    for find in KINDS.iter().filter(|find| wanted.iter().any(|wanted| wanted.name == find.name)) {
        let before = current.as_deref().unwrap_or(text);
        let places = (find.places)(before);
        if places.is_empty() {
            continue;
        }
        let mut out = String::with_capacity(before.len());
        let mut at = 0;
        for place in places {
            out.push_str(&before[at..place.start]);
            out.push('[');
            out.push_str(find.name);
            out.push(']');
            at = place.end;
        }
        out.push_str(&before[at..]);
        current = Some(out);
    }
    current
}

/// Whether a place stands alone, and is not the middle of a longer word or number.
pub(super) fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let before = text[..place.start].chars().next_back();
    let after = text[place.end..].chars().next();
    !before.is_some_and(is_word) && !after.is_some_and(is_word)
}

#[expect(clippy::expect_used, reason = "the pattern is a constant that a test compiles")]
pub(super) fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

fn emails(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        let floor = found.last().map_or(0, |last| last.end);
        found.extend(email(text, at, floor));
    }
    found
}

/// The address around an `@`, with what the protocols allow at most on either side.
fn email(text: &str, at: usize, floor: usize) -> Option<Range<usize>> {
    let is_local = |letter: char| letter.is_alphanumeric() || "._%+'-".contains(letter);
    let is_domain = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-');
    let local: usize =
        text[floor..at].chars().rev().take(64).take_while(|letter| is_local(*letter)).map(char::len_utf8).sum();
    let behind = at + 1;
    let domain: usize =
        text[behind..].chars().take(253).take_while(|letter| is_domain(*letter)).map(char::len_utf8).sum();
    let domain = text[behind..behind + domain].trim_end_matches(['.', '-']);
    let (labels, last) = domain.rsplit_once('.')?;
    let is_name = last.chars().count() >= 2 && last.chars().all(char::is_alphabetic);
    (local > 0 && !labels.is_empty() && is_name).then(|| at - local..behind + domain.len())
}

fn addresses(text: &str) -> Vec<Range<usize>> {
    static RUN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9A-Fa-f:.]{3,64}"));
    RUN.find_iter(text).filter_map(|run| address(text, run.range())).collect()
}

/// A run of the letters that addresses have, without the signs that belong to the sentence.
fn address(text: &str, run: Range<usize>) -> Option<Range<usize>> {
    let word = &text[run.clone()];
    let end = run.start + word.trim_end_matches(['.', ':']).len();
    let (candidates, has) = ([run.start..run.end, run.start..end], |letter| word.contains(letter));
    let fits = |place: &Range<usize>| {
        let word = &text[place.clone()];
        let known = match (has(':'), has('.')) {
            (true, _) if word.bytes().filter(|letter| *letter == b':').count() >= 2 => is_six(word),
            (_, true) => word.split(':').next().is_some_and(|host| host.parse::<Ipv4Addr>().is_ok()),
            _ => false,
        };
        known && stands_alone(text, place)
    };
    candidates.into_iter().find(fits)
}

/// `a::b` is more often code than an address.
fn is_six(word: &str) -> bool {
    word.parse::<Ipv6Addr>().is_ok() && word.bytes().any(|letter| letter.is_ascii_digit())
}
