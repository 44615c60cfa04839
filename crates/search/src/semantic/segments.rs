//! Splits a query that asks for several things. Each part may need a different tool.

/// What introduces another request.
const CONNECTIVES: [&str; 9] =
    ["and then", "then", "after that", "additionally", "also", "finally", "next", "lastly", "furthermore"];

/// A part of fewer words says too little.
const MIN_WORDS: usize = 3;

const MAX_SEGMENTS: usize = 10;

/// The parts of a query: its sentences, divided at words such as "then". Empty if there is only one.
pub(super) fn segments(query: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut at = 0;
    while at < query.len() {
        match separator(query, at) {
            0 => at += query[at..].chars().next().map_or(1, char::len_utf8),
            length => {
                found.push(&query[begin..at]);
                at += length;
                begin = at;
            }
        }
    }
    found.push(&query[begin..]);
    found.retain(|segment| segment.split_whitespace().nth(MIN_WORDS - 1).is_some());
    if found.len() < 2 {
        return Vec::new();
    }
    found.truncate(MAX_SEGMENTS);
    found.into_iter().map(str::trim).collect()
}

/// The length of the separator that begins here; 0 if none does.
fn separator(query: &str, at: usize) -> usize {
    let rest = &query[at..];
    let spaces = spaces(rest);
    if spaces > 0 && query[..at].ends_with(['.', '!', '?', ';']) {
        return spaces;
    }
    let after_comma = rest.strip_prefix(',').unwrap_or(rest);
    let word = after_comma.trim_start();
    if word.len() == after_comma.len() {
        return 0;
    }
    for connective in CONNECTIVES {
        let is_here = word.get(..connective.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(connective));
        let end = if is_here { &word[connective.len()..] } else { "" };
        let next = end.trim_start_matches(|letter: char| letter == ',' || letter.is_whitespace());
        if next.len() < end.len() {
            return rest.len() - next.len();
        }
    }
    0
}

/// The length of the white space at the beginning.
fn spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_divided_where_another_request_begins() {
        let query = "Get the price of AAPL. Then send it to my boss by e-mail, and then save it in a file.";
        let expected = ["Get the price of AAPL.", "Then send it to my boss by e-mail", "save it in a file."];
        assert_eq!(segments(query), expected);
        assert_eq!(segments("Book a table, THEN, call me a taxi"), ["Book a table", "call me a taxi"]);
        assert_eq!(segments("is it 2.5 km? yes. no; who then"), [""; 0], "short parts say too little");
        assert_eq!(segments("lengthen the nextdoor fence also"), [""; 0]);
        assert_eq!(segments(""), [""; 0]);
        assert_eq!(segments(&"tell me more. ".repeat(40)).len(), MAX_SEGMENTS);
        assert_eq!(
            segments("für später öffnen. größe der straße messen"),
            ["für später öffnen.", "größe der straße messen"]
        );
    }
}
