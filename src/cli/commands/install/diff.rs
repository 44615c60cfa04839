//! The differences between two texts of a config, with every secret masked.

use std::ops::Range;

use similar::{DiffTag, TextDiff};

use crate::cli::output;
use proxy_config::entries::ClientText;

/// The unchanged lines around a change.
const CONTEXT: usize = 2;

/// The lines of a unified diff, without secrets and control characters.
pub(super) fn lines(name: &str, before: &ClientText, after: &ClientText) -> Vec<String> {
    let diff = TextDiff::from_lines(before.text(), after.text());
    let old: Vec<&str> = before.masked().split_inclusive('\n').collect();
    let new: Vec<&str> = after.masked().split_inclusive('\n').collect();
    let mut lines = vec![format!("--- {}", output::one_line(name)), format!("+++ {}", output::one_line(name))];
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        lines.push(format!("@@ -{} +{} @@", place(&old_range), place(&new_range)));
        for op in &group {
            match op.tag() {
                DiffTag::Equal => push(&mut lines, ' ', &old, op.old_range()),
                _ => {
                    push(&mut lines, '-', &old, op.old_range());
                    push(&mut lines, '+', &new, op.new_range());
                }
            }
        }
    }
    lines
}

fn push(lines: &mut Vec<String>, sign: char, source: &[&str], range: Range<usize>) {
    for line in source.get(range).unwrap_or_default() {
        lines.push(format!("{sign}{}", output::one_line(line.trim_end_matches(['\n', '\r']))));
    }
}

fn place(range: &Range<usize>) -> String {
    let start = if range.is_empty() { range.start } else { range.start + 1 };
    format!("{start},{}", range.len())
}

/// Prints the lines, in colours if there are any.
pub(super) fn print(lines: &[String]) {
    for line in lines {
        let colour = match line.chars().next() {
            Some('-') => "31",
            Some('+') => "32",
            Some('@') => "36",
            _ => "",
        };
        if output::stdout_colour() && !colour.is_empty() {
            output::out(&format!("\x1b[{colour}m{line}\x1b[0m"));
        } else {
            output::out(line);
        }
    }
}
