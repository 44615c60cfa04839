//! Where a script did something: the line, and the lines of the calls that led there.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use starlark::eval::Evaluator;

/// How many lines of a call stack are kept. A deeper stack keeps the innermost lines and the outermost one, which is in the
/// script that the config names.
const MAX_LINES: usize = 8;

/// What the names of embedded files begin with.
const EMBEDDED: &str = "@proxy//";

/// A line of a script.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceLine {
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: u32,
    /// The function that the line is in; `None` at the top level of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Arc<str>>,
}

impl SourceLine {
    /// The line as `policy.star:12`, without the folder, which clients must not see.
    pub fn short(&self) -> String {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        format!("{name}:{}", self.line)
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file.strip_prefix(EMBEDDED).unwrap_or(&self.file), self.line)
    }
}

/// A line of a script and the lines that called the function around it, innermost first. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallSite(Arc<[SourceLine]>);

impl CallSite {
    pub fn lines(&self) -> &[SourceLine] {
        &self.0
    }

    /// The innermost line; `None` if no script was running.
    pub fn line(&self) -> Option<&SourceLine> {
        self.0.first()
    }
}

impl Borrow<[SourceLine]> for CallSite {
    fn borrow(&self) -> &[SourceLine] {
        &self.0
    }
}

/// `lib@1.star:88, called from policy.star:3`: the innermost line, each line that calls into another file, and the outermost
/// line.
impl fmt::Display for CallSite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((innermost, callers)) = self.0.split_first() else { return formatter.write_str("an unknown line") };
        write!(formatter, "{innermost}")?;
        let mut called = innermost;
        for (index, caller) in callers.iter().enumerate() {
            if caller.file != called.file || index + 1 == callers.len() {
                write!(formatter, ", called from {caller}")?;
            }
            called = caller;
        }
        Ok(())
    }
}

/// The call sites of one run. Equal ones are kept once: a loop that publishes a thousand items has one.
#[derive(Debug, Default)]
pub struct CallSites {
    known: HashSet<CallSite>,
    /// Names of files and functions.
    names: HashSet<Arc<str>>,
}

impl CallSites {
    /// The call of the built-in that is being evaluated.
    pub fn current(&mut self, evaluator: &Evaluator<'_, '_, '_>) -> CallSite {
        let mut lines = Vec::new();
        let mut caller: Option<Arc<str>> = None;
        for frame in &evaluator.call_stack().frames {
            if let Some(location) = &frame.location {
                let line = u32::try_from(location.resolve_span().begin.line + 1).unwrap_or(u32::MAX);
                lines.push(SourceLine { file: self.name(location.filename()), line, function: caller.clone() });
            }
            // Frames of the engine itself have no name.
            if frame.name != "None" {
                caller = Some(self.name(&frame.name));
            }
        }
        lines.reverse();
        if lines.len() > MAX_LINES {
            lines.drain(MAX_LINES - 1..lines.len() - 1);
        }
        if let Some(known) = self.known.get(lines.as_slice()) {
            return known.clone();
        }
        let site = CallSite(lines.into());
        self.known.insert(site.clone());
        site
    }

    fn name(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.names.get(text) {
            return Arc::clone(known);
        }
        let name: Arc<str> = text.into();
        self.names.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(lines: &[(&str, u32)]) -> CallSite {
        let line = |(file, line): &(&str, u32)| SourceLine { file: (*file).into(), line: *line, function: None };
        CallSite(lines.iter().map(line).collect())
    }

    #[test]
    fn a_call_site_names_its_line_and_where_the_script_enters_other_files() {
        for (lines, expected) in [
            (&[("policy.star", 12)][..], "policy.star:12"),
            (
                &[("policy.star", 3), ("policy.star", 9), ("policy.star", 20)],
                "policy.star:3, called from policy.star:20",
            ),
            (
                &[("@proxy//lib@1.star", 88), ("@proxy//lib@1.star", 34), ("rules/a.star", 5), ("policy.star", 3)],
                "lib@1.star:88, called from rules/a.star:5, called from policy.star:3",
            ),
        ] {
            assert_eq!(site(lines).to_string(), expected);
        }
        assert_eq!(site(&[("rules/a.star", 5)]).line().unwrap().short(), "a.star:5");
    }
}
