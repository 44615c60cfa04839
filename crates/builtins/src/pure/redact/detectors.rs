//! The detectors of `redact()`, one per kind. Each runs in linear time: repetitions in patterns are bounded, and
//! formats that would need unbounded repetitions are scanned by hand.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::matching::{pattern, stands_alone};
use super::{numbers, secrets};

/// Finds one kind of sensitive text. Matches are replaced by the name in brackets.
pub(super) struct Detector {
    pub(super) name: &'static str,
    find: fn(&str) -> Vec<Range<usize>>,
}

/// In the order of replacement: a detector sees the text after all earlier ones have replaced their matches.
pub(super) static DETECTORS: [Detector; 6] = [
    Detector { name: "secret", find: secrets::secrets },
    Detector { name: "email", find: emails },
    Detector { name: "ip", find: ip_addresses },
    Detector { name: "credit_card", find: numbers::cards },
    Detector { name: "ssn", find: numbers::social_security },
    Detector { name: "phone", find: numbers::phones },
];

/// The text with all matches replaced, or None if there are none.
pub(super) fn replaced(text: &str, enabled: &[&Detector]) -> Option<String> {
    let mut current: Option<String> = None;
    for detector in DETECTORS.iter().filter(|detector| enabled.iter().any(|enabled| enabled.name == detector.name)) {
        let before = current.as_deref().unwrap_or(text);
        let matches = (detector.find)(before);
        if matches.is_empty() {
            continue;
        }
        let mut out = String::with_capacity(before.len());
        let mut at = 0;
        for range in matches {
            out.push_str(&before[at..range.start]);
            out.push('[');
            out.push_str(detector.name);
            out.push(']');
            at = range.end;
        }
        out.push_str(&before[at..]);
        current = Some(out);
    }
    current
}

fn emails(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        let floor = found.last().map_or(0, |last| last.end);
        found.extend(email(text, at, floor));
    }
    found
}

/// The email address around the `@` at `at`, within the lengths that RFC 5321 allows. `floor` is the end of the previous
/// match.
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

fn ip_addresses(text: &str) -> Vec<Range<usize>> {
    static RUN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[0-9A-Fa-f:.]{3,64}"));
    RUN.find_iter(text).filter_map(|run| ip_address(text, run.range())).collect()
}

/// The IP address in a run of its characters, with or without trailing punctuation of the sentence.
fn ip_address(text: &str, run: Range<usize>) -> Option<Range<usize>> {
    let word = &text[run.clone()];
    let end = run.start + word.trim_end_matches(['.', ':']).len();
    let (candidates, has) = ([run.start..run.end, run.start..end], |letter| word.contains(letter));
    let fits = |range: &Range<usize>| {
        let word = &text[range.clone()];
        let known = match (has(':'), has('.')) {
            (true, _) if word.bytes().filter(|letter| *letter == b':').count() >= 2 => is_ipv6(word),
            (_, true) => word.split(':').next().is_some_and(|host| host.parse::<Ipv4Addr>().is_ok()),
            _ => false,
        };
        known && stands_alone(text, range)
    };
    candidates.into_iter().find(fits)
}

/// An IPv6 address must have a digit: `a::b` is more often code.
fn is_ipv6(word: &str) -> bool {
    word.parse::<Ipv6Addr>().is_ok() && word.bytes().any(|letter| letter.is_ascii_digit())
}
