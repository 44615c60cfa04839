//! Which names somebody may have meant.

/// Those that are spelt alike, most alike first, then those that the words of the name find.
pub(super) fn nearest_names<'a>(name: &str, known: &[&'a str], found: &[&'a str], limit: usize) -> Vec<&'a str> {
    let plain = plain(name);
    let mut alike: Vec<(f64, &str)> = known
        .iter()
        .map(|known| (likeness(&plain, &self::plain(known)), *known))
        .filter(|(likeness, _)| *likeness >= 0.7)
        .collect();
    alike.sort_by(|first, second| second.0.total_cmp(&first.0));
    let mut nearest: Vec<&str> = Vec::new();
    for name in alike.into_iter().map(|(_, name)| name).chain(found.iter().copied()) {
        if nearest.len() < limit && !nearest.contains(&name) {
            nearest.push(name);
        }
    }
    nearest
}

/// `createIssue`, `create-issue` and `create_issue` are one name to a model that writes it from memory.
fn plain(name: &str) -> String {
    name.chars().take(256).filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A name without the prefix of its server is still that name.
fn likeness(wanted: &str, known: &str) -> f64 {
    if wanted.len() >= 4 && (known.ends_with(wanted) || (known.len() >= 4 && wanted.ends_with(known))) {
        return 0.95;
    }
    strsim::normalized_damerau_levenshtein(wanted, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_by_spelling_prefix_and_words() {
        let known = ["github_create_issue", "list_issues", "weather"];
        assert_eq!(nearest_names("createIssue", &known, &[], 3), ["github_create_issue"]);
        assert_eq!(nearest_names("list-issue", &known, &["weather"], 3), ["list_issues", "weather"]);
        assert!(nearest_names("zebra", &known, &[], 3).is_empty());
    }
}
