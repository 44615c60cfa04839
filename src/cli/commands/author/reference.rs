//! `reference`: the built-ins of scripts, and an example to begin with.

use std::fmt::Write;

use super::answer::{Answer, Answered};
use crate::cli::commands::new::policy_example;
use proxy_author::reference::{BuiltinEntry, Group, entries, find};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_base::foreign_text::quoted;

/// The name of the example.
const EXAMPLE: &str = "policy";

const INTRODUCTION: &str = "\
Scripts are Starlark, a dialect of Python without `while`, `class`, `try`, `import` and `is`; f-strings work. A session script \
decides at its top level what clients see: it publishes tools of servers as they are, changed, or with a handler of its own. \
A file `NAME_test.star` has tests: functions `test_…` with simulated servers and users. Ask for a name below to read more of it.";

/// Every built-in on a line, or the whole text of those with a name.
pub(super) fn reference(name: Option<&str>) -> Answered {
    let Some(name) = name else { return Ok(Answer::Text(overview())) };
    let found = find(name);
    if !found.is_empty() {
        return Ok(Answer::Text(found.into_iter().map(BuiltinEntry::markdown).collect::<Vec<_>>().join("\n\n")));
    }
    let below: Vec<String> = members(name).map(BuiltinEntry::markdown).collect();
    if !below.is_empty() {
        return Ok(Answer::Text(below.join("\n\n")));
    }
    let problem = Diagnostic::error(format!("there is no built-in {}", quoted(name)));
    let near = nearest(name, entries().iter().map(|entry| entry.name.as_str()));
    Err(vec![match near {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint("`reference` without a name lists all of them"),
    }])
}

/// The members of a module or type.
fn members(name: &str) -> impl Iterator<Item = &'static BuiltinEntry> {
    entries().iter().filter(move |entry| entry.name.split_once('.').is_some_and(|(module, _)| module == name))
}

/// Whether a section of the overview has the built-ins of a group.
type IsMember = fn(Group) -> bool;

fn overview() -> String {
    let mut text = format!("{INTRODUCTION}\n");
    let groups: [(&str, IsMember); 4] = [
        ("In session scripts", |group| group == Group::Session),
        ("Members of values in session scripts", |group| matches!(group, Group::Type(_))),
        ("Everywhere", |group| group == Group::Everywhere),
        ("In tests", |group| matches!(group, Group::Test | Group::TestType(_))),
    ];
    for (title, is_member) in groups {
        let _ = write!(text, "\n## {title}\n\n");
        for entry in entries().iter().filter(|entry| is_member(entry.group)) {
            let _ = writeln!(text, "- `{}`: {}", entry.signature, first_sentence(&entry.text));
        }
    }
    let (script, test) = policy_example(EXAMPLE);
    let _ = write!(text, "\n## Example\n\n`{EXAMPLE}.star`:\n\n```python\n{script}```\n\n");
    let _ = write!(text, "`{EXAMPLE}_test.star`:\n\n```python\n{test}```\n");
    text
}

fn first_sentence(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.split_once(". ").map_or(words.clone(), |(first, _)| format!("{first}."))
}
