//! Credit cards, social security numbers and phone numbers.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::matching::{pattern, stands_alone};

/// Card numbers: 13 to 19 digits, in groups or not, with a valid check digit.
pub(super) fn cards(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let groups = digit_groups(text);
    let mut first = 0;
    while first < groups.len() {
        match card_at(text, &groups[first..]) {
            Some(count) => {
                found.push(groups[first].start..groups[first + count - 1].end);
                first += count;
            }
            None => first += 1,
        }
    }
    found
}

/// All runs of digits in the text.
fn digit_groups(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_digit() {
            continue;
        }
        match groups.last_mut().filter(|group| group.end == at) {
            Some(group) => group.end += 1,
            None => groups.push(at..at + 1),
        }
    }
    groups
}

/// The number of groups that make up the card number at the beginning of `groups`, if there is one.
fn card_at(text: &str, groups: &[Range<usize>]) -> Option<usize> {
    let mut digits: Vec<u8> = Vec::with_capacity(19);
    for (index, group) in groups.iter().enumerate() {
        let joined = index == 0 || matches!(&text[groups[index - 1].end..group.start], " " | "-");
        if !joined || digits.len() + group.len() > 19 {
            return None;
        }
        digits.extend(text[group.clone()].bytes().map(|digit| digit - b'0'));
        let range = groups[0].start..group.end;
        if digits.len() >= 13 && is_card(&digits) && stands_alone(text, &range) {
            return Some(index + 1);
        }
    }
    None
}

/// Returns whether the first digit is one of a card number and the Luhn checksum is valid.
fn is_card(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(position, digit)| {
            let digit = u32::from(*digit);
            match (position % 2, digit * 2) {
                (0, _) => digit,
                (_, doubled @ 0..=9) => doubled,
                (_, doubled) => doubled - 9,
            }
        })
        .sum();
    matches!(digits.first(), Some(2..=6)) && sum.is_multiple_of(10)
}

/// US social security numbers in the ranges that are issued.
pub(super) fn social_security(text: &str) -> Vec<Range<usize>> {
    static SHAPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d{3}([- ])\d{2}([- ])\d{4}"));
    let issued = |number: &str| {
        let (area, group, serial) = (&number[..3], &number[4..6], &number[7..]);
        !matches!(area, "000" | "666") && !area.starts_with('9') && group != "00" && serial != "0000"
    };
    SHAPE
        .captures_iter(text)
        .filter(|found| found.get(1).map(|sign| sign.as_str()) == found.get(2).map(|sign| sign.as_str()))
        .filter_map(|found| Some(found.get(0)?.range()))
        .filter(|range| stands_alone(text, range) && issued(&text[range.clone()]))
        .collect()
}

/// Phone numbers: with a country code, or in the groups of three, three and four digits of North America.
pub(super) fn phones(text: &str) -> Vec<Range<usize>> {
    static SHAPE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\+\d(?:[ .()/-]{0,2}\d){7,14}|(?:\b1[ .-])?(?:\(\d{3}\) ?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b")
    });
    SHAPE.find_iter(text).map(|found| found.range()).filter(|range| stands_alone(text, range)).collect()
}
