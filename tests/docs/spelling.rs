//! Every word of the documents is in the British dictionary of hunspell or in `words.txt`, and none stands twice in a row.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::real_servers::missing;

use super::{markdown, pages, root};

/// Words that the dictionary does not have: names, terms of the field, names that stand outside of code spans.
const KNOWN: &str = include_str!("words.txt");

#[test]
fn every_word_is_spelt_as_in_the_dictionary() {
    let text: String = documents().iter().map(|(_, text)| format!("{text}\n")).collect();
    let Some(unknown) = words_not_in_the_dictionary(&text) else { return };
    let known: BTreeSet<&str> = KNOWN.lines().collect();
    let wrong: Vec<&String> = unknown.iter().filter(|word| !known.contains(word.as_str())).collect();
    assert!(wrong.is_empty(), "misspelt, or missing in tests/docs/words.txt: {wrong:?}");
    let unused: Vec<&&str> = known.iter().filter(|word| !unknown.contains(**word)).collect();
    assert!(unused.is_empty(), "tests/docs/words.txt has words that no page needs: {unused:?}");
    assert!(KNOWN.lines().is_sorted(), "tests/docs/words.txt is not sorted");
    let checked = words_not_in_the_dictionary("The proxy recieves a call").expect("it ran a moment ago");
    assert_eq!(checked, BTreeSet::from(["recieves".to_owned()]), "the dictionary finds mistakes");
}

#[test]
fn no_word_stands_twice_in_a_row() {
    for (page, text) in documents() {
        // A cell of a table, an item of a list or another paragraph may begin with the last word before it.
        for paragraph in text.split(['|', '*', '.', ':', '\u{0}']) {
            let words: Vec<&str> = paragraph.split_whitespace().collect();
            let doubled = words.windows(2).find(|pair| pair[0] == pair[1] && pair[0].chars().all(char::is_alphabetic));
            assert!(doubled.is_none(), "{page} has {doubled:?} in `{}`", words.join(" "));
        }
    }
}

/// The prose of each page, without blocks, code spans, link targets and addresses.
fn documents() -> Vec<(String, String)> {
    let more = ["CHANGELOG.md", "CODE_OF_CONDUCT.md", "crates/README.md", "docs/reference/builtins.md"];
    let all = pages().into_iter().chain(more.iter().map(|page| root().join(page)));
    all.map(|page| (markdown::name(&page), prose(&markdown::prose(&page)))).collect()
}

fn prose(page: &str) -> String {
    let mut text = String::new();
    for paragraph in page.split("\n\n") {
        // In a paragraph every second part between backticks is code.
        for (number, part) in paragraph.split('`').enumerate() {
            text.push_str(if number % 2 == 0 { part } else { " \u{0} " });
        }
        text.push_str("\n\u{0}\n");
    }
    without_between(&without_between(&text, "](", ')'), "http", ' ')
}

fn without_between(text: &str, begin: &str, end: char) -> String {
    let mut parts = text.split(begin);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(" \u{0} ");
        kept.push_str(part.split_once(end).map_or("", |(_, rest)| rest));
    }
    kept
}

/// None where there is no `hunspell` with the dictionary, which is said aloud.
fn words_not_in_the_dictionary(text: &str) -> Option<BTreeSet<String>> {
    let mut command = Command::new("hunspell");
    command
        .args(["-d", "en_GB", "-i", "utf-8", "-l"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return missing("there is no `hunspell`") };
    let mut input = child.stdin.take().expect("it is a pipe");
    let text = text.replace('\u{0}', "\n");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("hunspell ends");
    let _ = writer.join();
    if !output.status.success() {
        return missing("hunspell has no dictionary `en_GB`");
    }
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
