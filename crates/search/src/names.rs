//! Suggestions for unknown tool names.

/// Names with a similar spelling, most similar first, followed by the tools that a search for the words of the name
/// found.
pub(super) fn nearest_names<'a>(name: &str, known: &[&'a str], found: &[&'a str], limit: usize) -> Vec<&'a str> {
    let wanted = normalized(name);
    let mut alike: Vec<(f64, &str)> = known
        .iter()
        .map(|known| (similarity(&wanted, &normalized(known)), *known))
        .filter(|(similarity, _)| *similarity >= 0.7)
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

/// Removes case and separators: models confuse `createIssue`, `create-issue` and `create_issue`.
fn normalized(name: &str) -> String {
    name.chars().take(256).filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The similarity of two normalized names, between 0 and 1. A name that lacks only the prefix of its server is very
/// similar.
fn similarity(wanted: &str, known: &str) -> f64 {
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
