//! What `proxy lock` shows: for each server what differs, with hidden characters and terminal sequences made visible.

use std::fmt::Write;

use serde_json::Value;

use super::AskedServer;
use super::findings::Findings;
use super::words::{Part, difference, words};
use crate::cli::{output, table};
use proxy_base::foreign_text::visible;
use proxy_json::raw;
use proxy_model::lock::{ItemReview, ReviewState, ServerReview, pretty, profile_name};
use proxy_model::scan::Finding;

/// The unchanged words before and after a change that are shown.
const CONTEXT_WORDS: usize = 24;
/// The same for lines.
const CONTEXT_LINES: usize = 2;

/// The differences of all servers, without a line feed at the end.
pub(super) fn report(asked: &[AskedServer], removed: &[String]) -> String {
    let mut text = String::new();
    for server in asked {
        let name = output::one_line(&server.name);
        let _ = match &server.answer {
            Err(reason) => writeln!(text, "{name}: could not be compared: {}", output::one_line(reason)),
            Ok(answer) if answer.review.is_same() => writeln!(text, "{name}: as approved"),
            Ok(answer) => {
                let _ = writeln!(text, "{name}: {}", summary(&answer.review));
                show(&answer.review, &answer.findings, &mut text);
                Ok(())
            }
        };
    }
    for name in removed {
        let _ = writeln!(text, "{}: no longer in the config, so its entry goes", output::one_line(name));
    }
    text.truncate(text.trim_end().len());
    text
}

fn summary(review: &ServerReview) -> String {
    let count = |state: ReviewState| review.items.iter().filter(|item| item.state == state).count();
    if review.is_new {
        return format!("not approved yet: {}", table::count(count(ReviewState::New), "item"));
    }
    let states = [ReviewState::Held, ReviewState::Changed, ReviewState::New, ReviewState::Gone]
        .map(|state| (count(state), state));
    let mut parts: Vec<String> = states
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, state)| format!("{number} {}", state.as_str()))
        .collect();
    parts.extend(review.infos.iter().map(|info| format!("`{}` changed", info.member)));
    if parts.is_empty() { "a blocked item changed".to_owned() } else { parts.join(", ") }
}

fn show(review: &ServerReview, findings: &Findings, text: &mut String) {
    show_findings(&findings.info, "  ", text);
    for info in &review.infos {
        let _ = writeln!(text, "  {}", info.member);
        show_difference(&info.approved, &info.live, text);
    }
    for (item, found) in review.items.iter().zip(&findings.items) {
        if item.state != ReviewState::Same {
            show_item(item, found, review.is_new, text);
        }
    }
}

/// A line for each finding: the rule, where, the text, and why it deserves a look.
fn show_findings(findings: &[Finding], indent: &str, text: &mut String) {
    for finding in findings {
        let rule = finding.rule;
        let place = output::one_line(&finding.place);
        let excerpt = output::one_line(&finding.excerpt);
        let _ = writeln!(text, "{indent}warning: {} in {place}: \"{excerpt}\" ({})", rule.id, rule.reason);
    }
}

fn show_item(item: &ItemReview, findings: &[Finding], is_new_server: bool, text: &mut String) {
    let state = item.state.as_str();
    let kind = item.kind.noun();
    let key = output::one_line(&item.key);
    let _ = write!(text, "  {state}: {kind} {key}");
    if let Some(digest) = &item.digest {
        let _ = write!(text, "  sha256:{digest}");
    }
    if !item.profiles.is_empty() {
        let names: Vec<String> = item.profiles.iter().map(|profile| profile_name(*profile)).collect();
        let _ = write!(text, "  ({})", names.join(", "));
    }
    text.push('\n');
    show_findings(findings, "    ", text);
    for reason in &item.broken {
        let _ = writeln!(text, "    held because {}", output::one_line(reason));
    }
    let Some(live) = &item.live else { return };
    match &item.approved {
        Some(approved) => {
            let before = approved.value();
            let now = live.value();
            for member in &item.changed {
                let _ = writeln!(text, "    {}", output::one_line(member));
                show_difference(&before[member], &now[member], text);
            }
        }
        None if is_new_server => {
            let description = live.text("description");
            let first = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            if !first.is_empty() {
                let _ = writeln!(text, "    {}", output::one_line(first));
            }
        }
        None => indented(&pretty(live.raw(), 0), "    ", text),
    }
}

fn show_difference(before: &Value, now: &Value, text: &mut String) {
    match (before, now) {
        (Value::String(before), Value::String(now)) => show_words(before, now, text),
        (Value::Null, now) => show_lines("", &value_text(now), text),
        (before, Value::Null) => show_lines(&value_text(before), "", text),
        (before, now) => show_lines(&value_text(before), &value_text(now), text),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => visible(text).into_owned(),
        other => pretty(&raw(other), 0),
    }
}

/// Two texts as one, with `[-removed-]` and `{+added+}` words.
fn show_words(before: &str, now: &str, text: &mut String) {
    let before = visible(before);
    let now = visible(now);
    let before = words(&before);
    let now = words(&now);
    let parts = difference(&before, &now);
    let last = parts.len().saturating_sub(1);
    let mut marked = String::new();
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Same(words) => marked.push_str(&shortened(words, index > 0, index < last)),
            Part::Removed(words) => marked.push_str(&format!("[-{}-]", words.concat())),
            Part::Added(words) => marked.push_str(&format!("{{+{}+}}", words.concat())),
        }
    }
    indented(&marked, "      ", text);
}

/// Unchanged words, without those that are far from any change.
fn shortened(words: &[&str], follows: bool, precedes: bool) -> String {
    let before = if follows { CONTEXT_WORDS } else { 0 };
    let after = if precedes { CONTEXT_WORDS } else { 0 };
    if words.len() <= before + after + 1 {
        return words.concat();
    }
    format!("{} … {}", words[..before].concat().trim_end(), words[words.len() - after..].concat().trim_start())
}

fn show_lines(before: &str, now: &str, text: &mut String) {
    let before: Vec<&str> = before.lines().collect();
    let now: Vec<&str> = now.lines().collect();
    let parts = difference(&before, &now);
    let last = parts.len().saturating_sub(1);
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Same(lines) => {
                let head = if index > 0 { CONTEXT_LINES.min(lines.len()) } else { 0 };
                let tail = if index < last { CONTEXT_LINES.min(lines.len() - head) } else { 0 };
                lines[..head].iter().for_each(|line| indented(line, "        ", text));
                if lines.len() > head + tail {
                    indented("…", "        ", text);
                }
                lines[lines.len() - tail..].iter().for_each(|line| indented(line, "        ", text));
            }
            Part::Removed(lines) => lines.iter().for_each(|line| indented(line, "      - ", text)),
            Part::Added(lines) => lines.iter().for_each(|line| indented(line, "      + ", text)),
        }
    }
}

fn indented(lines: &str, indent: &str, text: &mut String) {
    for line in lines.lines() {
        let _ = writeln!(text, "{indent}{}", visible(line));
    }
}
