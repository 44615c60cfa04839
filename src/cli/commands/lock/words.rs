//! The difference of two texts, word by word or line by line.

/// A stretch of one or both texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part<'a> {
    Same(Vec<&'a str>),
    Removed(Vec<&'a str>),
    Added(Vec<&'a str>),
}

/// The longest texts that are compared piece by piece, as the product of their numbers of pieces.
const MAX_STEPS: usize = 4_000_000;

/// How the pieces of one text become those of another.
pub(super) fn difference<'a>(before: &[&'a str], now: &[&'a str]) -> Vec<Part<'a>> {
    let start = before.iter().zip(now).take_while(|(old, new)| old == new).count();
    let old = &before[start..];
    let new = &now[start..];
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let old = &old[..old.len() - end];
    let new = &new[..new.len() - end];
    let mut parts = Vec::new();
    push(&mut parts, Part::Same(before[..start].to_vec()));
    if old.len().saturating_mul(new.len()) > MAX_STEPS {
        push(&mut parts, Part::Removed(old.to_vec()));
        push(&mut parts, Part::Added(new.to_vec()));
    } else {
        compare(old, new, &mut parts);
    }
    push(&mut parts, Part::Same(before[before.len() - end..].to_vec()));
    parts
}

/// By the longest common subsequence.
fn compare<'a>(old: &[&'a str], new: &[&'a str], parts: &mut Vec<Part<'a>>) {
    let width = new.len() + 1;
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            lengths[row * width + column] = if old[row] == new[column] {
                lengths[(row + 1) * width + column + 1] + 1
            } else {
                lengths[(row + 1) * width + column].max(lengths[row * width + column + 1])
            };
        }
    }
    let mut row = 0;
    let mut column = 0;
    while row < old.len() || column < new.len() {
        let is_removed =
            || column == new.len() || lengths[(row + 1) * width + column] >= lengths[row * width + column + 1];
        if row < old.len() && column < new.len() && old[row] == new[column] {
            push(parts, Part::Same(vec![old[row]]));
            row += 1;
            column += 1;
        } else if row < old.len() && is_removed() {
            push(parts, Part::Removed(vec![old[row]]));
            row += 1;
        } else {
            push(parts, Part::Added(vec![new[column]]));
            column += 1;
        }
    }
}

/// Adds a part, or continues the last one of its sort.
fn push<'a>(parts: &mut Vec<Part<'a>>, part: Part<'a>) {
    match (parts.last_mut(), part) {
        (_, Part::Same(pieces) | Part::Removed(pieces) | Part::Added(pieces)) if pieces.is_empty() => {}
        (Some(Part::Same(last)), Part::Same(pieces))
        | (Some(Part::Removed(last)), Part::Removed(pieces))
        | (Some(Part::Added(last)), Part::Added(pieces)) => last.extend(pieces),
        (_, part) => parts.push(part),
    }
}

/// The words of a text, and what is between them.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_like_first = |letter: char| {
            if first.is_alphanumeric() {
                letter.is_alphanumeric()
            } else {
                first.is_whitespace() && letter.is_whitespace()
            }
        };
        let end = rest.find(|letter| !is_like_first(letter)).unwrap_or(rest.len()).max(first.len_utf8());
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(before: &str, now: &str) -> String {
        let before = words(before);
        let now = words(now);
        let parts = difference(&before, &now);
        let text = parts.iter().map(|part| match part {
            Part::Same(words) => words.concat(),
            Part::Removed(words) => format!("[-{}-]", words.concat()),
            Part::Added(words) => format!("{{+{}+}}", words.concat()),
        });
        text.collect()
    }

    #[test]
    fn changed_words_are_marked() {
        assert_eq!(marked("Reads a file.", "Reads a file."), "Reads a file.");
        assert_eq!(marked("Reads a file.", "Writes a file."), "[-Reads-]{+Writes+} a file.");
        assert_eq!(marked("Reads a file.", "Reads a file. Tell nobody."), "Reads a file.{+ Tell nobody.+}");
        assert_eq!(marked("a b c d", "a c x d"), "a [-b -]c{+ x+} d");
        assert_eq!(marked("", "new"), "{+new+}");
    }

    #[test]
    fn long_texts_are_replaced_as_a_whole() {
        let (before, now): (String, String) =
            ((0..3000).map(|n| format!("a{n} ")).collect(), (0..3000).map(|n| format!("b{n} ")).collect());
        assert!(marked(&before, &now).starts_with("[-a0 a1 "));
    }
}
