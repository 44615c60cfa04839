//! How well a text fits letters that must occur in it in order. One pass forward finds where they end, one pass back
//! the closest place where they begin: linear in the text.

const MATCH: i32 = 16;
const ADJACENT: i32 = 12;
const WORD_START: i32 = 10;
const GAP: i32 = 2;
/// However far apart, more of them do not matter.
const MOST_GAP: i32 = 20;

/// None if a letter is missing; spaces in the query stand for nothing.
pub(crate) fn score(query: &str, text: &str) -> Option<i32> {
    let wanted: Vec<char> = lower(query).filter(|letter| !letter.is_whitespace()).collect();
    let text: Vec<char> = lower(text).collect();
    let (last, _) = wanted.last().zip(text.last())?;
    let mut next = 0;
    let end = text.iter().position(|letter| {
        next += usize::from(*letter == wanted[next]);
        next == wanted.len()
    })?;
    debug_assert_eq!(text[end], *last);
    let mut places = Vec::with_capacity(wanted.len());
    let mut at = end + 1;
    for letter in wanted.iter().rev() {
        at = text[..at].iter().rposition(|found| found == letter)?;
        places.push(at);
    }
    places.reverse();
    Some(sum(&places, &text))
}

fn lower(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

fn sum(places: &[usize], text: &[char]) -> i32 {
    let begins_word = |place: usize| place == 0 || !text[place - 1].is_alphanumeric();
    let mut total = 0;
    for (index, place) in places.iter().enumerate() {
        total += MATCH;
        if begins_word(*place) {
            total += WORD_START;
        }
        if let Some(before) = index.checked_sub(1).map(|before| places[before]) {
            let gap = i32::try_from(place - before - 1).unwrap_or(i32::MAX);
            total += if gap == 0 { ADJACENT } else { -gap.saturating_mul(GAP).min(MOST_GAP) };
        }
    }
    // Of two that fit alike the shorter one has less beside it.
    total * 8 - i32::try_from(text.len()).unwrap_or(i32::MAX).min(64) / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_and_beginnings_rank_above_scattered_letters() {
        let best = score("list", "list issues").unwrap();
        let inside = score("list", "get playlist").unwrap();
        let scattered = score("list", "load items of this tree").unwrap();
        assert!(best > inside && inside > scattered, "{best} {inside} {scattered}");
        assert_eq!(score("xyz", "hello"), None);
        assert_eq!(score("", "hello"), None);
        assert!(score("POTION", "Super Potion").is_some());
        assert!(score("help", "help").unwrap() > score("help", "help with everything there is in the world").unwrap());
    }

    #[test]
    fn a_long_text_takes_linear_time() {
        let text = "ab".repeat(500_000);
        assert!(score(&"b".repeat(1000), &text).is_some());
        assert_eq!(score("abc", &text), None);
    }
}
