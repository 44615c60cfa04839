//! Scores how well a text matches a query whose letters must occur in it in order. A forward pass finds the end of the
//! first match, a backward pass the closest start before that end, so scoring takes time linear in the text.

const MATCH: i32 = 16;
const ADJACENT: i32 = 12;
const WORD_START: i32 = 10;
const GAP: i32 = 2;
/// Upper bound of the penalty for one gap.
const MAX_GAP_PENALTY: i32 = 20;

/// Returns None if a letter is missing. White space in the query is ignored.
pub(crate) fn score(query: &str, text: &str) -> Option<i32> {
    let query_letters: Vec<char> = lower(query).filter(|letter| !letter.is_whitespace()).collect();
    let text: Vec<char> = lower(text).collect();
    let (last, _) = query_letters.last().zip(text.last())?;
    let mut next = 0;
    let end = text.iter().position(|letter| {
        next += usize::from(*letter == query_letters[next]);
        next == query_letters.len()
    })?;
    debug_assert_eq!(text[end], *last);
    let mut positions = Vec::with_capacity(query_letters.len());
    let mut at = end + 1;
    for letter in query_letters.iter().rev() {
        at = text[..at].iter().rposition(|found| found == letter)?;
        positions.push(at);
    }
    positions.reverse();
    Some(total_score(&positions, &text))
}

fn lower(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

fn total_score(positions: &[usize], text: &[char]) -> i32 {
    let begins_word = |position: usize| position == 0 || !text[position - 1].is_alphanumeric();
    let mut total = 0;
    for (index, position) in positions.iter().enumerate() {
        total += MATCH;
        if begins_word(*position) {
            total += WORD_START;
        }
        if let Some(before) = index.checked_sub(1).map(|before| positions[before]) {
            let gap = i32::try_from(position - before - 1).unwrap_or(i32::MAX);
            total += if gap == 0 { ADJACENT } else { -gap.saturating_mul(GAP).min(MAX_GAP_PENALTY) };
        }
    }
    // Among equal matches, prefer the shorter text.
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
