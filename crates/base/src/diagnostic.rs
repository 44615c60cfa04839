//! Diagnostics for people: a message with a source location, notes and a hint. All rendering is done here, so that
//! errors of scripts, configs and extensions look alike.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
    /// Information, not a problem.
    Note,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A source location, with the text of the file so that the line can be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    pub file: String,
    pub source: Arc<str>,
    /// Byte offsets into `source`.
    pub span: Range<usize>,
}

/// Without the text of the file, which may contain secrets.
impl fmt::Debug for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line(), self.column())
    }
}

impl Location {
    pub fn new(file: impl Into<String>, source: impl Into<Arc<str>>, span: Range<usize>) -> Self {
        let source = source.into();
        let end = span.end.min(source.len());
        let start = span.start.min(end);
        Location { file: file.into(), source, span: start..end }
    }

    /// The first line of the location, counted from 1.
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// The first column of the location, in characters, counted from 1.
    pub fn column(&self) -> usize {
        let before = self.before();
        before[before.rfind('\n').map_or(0, |newline| newline + 1)..].chars().count() + 1
    }

    /// The location as `name.star:12`. Without the folder, which clients must not see.
    pub fn short(&self) -> String {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        format!("{name}:{}", self.line())
    }

    fn before(&self) -> &str {
        self.source.get(..self.span.start).unwrap_or("")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// The name of the rule that reported it, if the rule can be disabled by that name.
    pub rule: Option<&'static str>,
    pub message: String,
    pub place: Option<Location>,
    /// The call stack, outermost frame first: `file:line in function`.
    pub trace: Vec<String>,
    pub notes: Vec<String>,
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message.into())
    }

    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message.into())
    }

    pub fn remark(message: impl Into<String>) -> Self {
        Self::new(Severity::Note, message.into())
    }

    fn new(severity: Severity, message: String) -> Self {
        Diagnostic { severity, rule: None, message, place: None, trace: Vec::new(), notes: Vec::new(), hint: None }
    }

    pub fn at(mut self, place: Location) -> Self {
        self.place = Some(place);
        self
    }

    /// At this location, if it is known.
    pub fn at_known(mut self, place: Option<&Location>) -> Self {
        self.place = place.cloned();
        self
    }

    pub fn rule(mut self, name: &'static str) -> Self {
        self.rule = Some(name);
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The facts of a diagnostic, for programs.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "severity": self.severity.as_str(),
            "rule": self.rule,
            "message": self.message,
            "file": self.place.as_ref().map(|place| place.file.clone()),
            "line": self.place.as_ref().map(Location::line),
            "column": self.place.as_ref().map(Location::column),
            "hint": self.hint,
        })
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub fn render(&self, colour: bool) -> String {
        self.render_within(colour, None)
    }

    /// The text with excerpts of the source that fit into lines of this width.
    pub fn render_within(&self, colour: bool, width: Option<usize>) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut title = level.primary_title(self.message.as_str());
        if let Some(rule) = self.rule {
            title = title.id(rule);
        }
        let mut group = Group::with_title(title);
        if let Some(place) = &self.place {
            group = group.element(
                Snippet::source(place.source.as_ref())
                    .path(place.file.as_str())
                    .annotation(AnnotationKind::Primary.span(place.span.clone())),
            );
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.with_name("hint").message(hint.as_str()));
        }
        let mut renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        if let Some(width) = width {
            renderer = renderer.term_width(width);
        }
        let body = renderer.render(&[group]);
        if self.trace.is_empty() {
            return body;
        }
        format!("{body}\ncall stack:\n{}", self.shown_trace().join("\n"))
    }

    /// The call stack, with a function that calls itself in one line.
    fn shown_trace(&self) -> Vec<String> {
        let same = self.trace.chunk_by(|frame, next| frame == next);
        let lines = same.map(|frames| match frames.len() {
            1 => format!("  {}", frames[0]),
            times => format!("  {} ({times} times)", frames[0]),
        });
        lines.collect()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostic {}

/// The known word most similar to a misspelt one, if it is similar enough for a suggestion.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    known
        .into_iter()
        // A distance is at least the difference in length, which takes no time to compute.
        .filter(|candidate| letters.abs_diff(candidate.chars().count()) <= most_distant(candidate))
        .map(|candidate| (strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        // A name of one letter is near to everything that is short.
        .filter(|(distance, candidate)| candidate.chars().count() > 1 && *distance <= most_distant(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn most_distant(candidate: &str) -> usize {
    1 + candidate.chars().count() / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_shows_file_line_caret_and_hint() {
        let place = Location::new("proxy.yaml", "serve:\n  htp: 1\n", 9..12);
        let text = Diagnostic::error("unknown key `htp`").at(place).hint("did you mean `http`?").render(false);
        assert!(text.contains("error: unknown key `htp`"), "{text}");
        assert!(text.contains("proxy.yaml:2:3"), "{text}");
        assert!(text.contains("^^^"), "{text}");
        assert!(text.contains("hint: did you mean `http`?"), "{text}");
    }

    #[test]
    fn only_near_words_are_suggested() {
        assert_eq!(nearest("comand", ["command", "args"]), Some("command"));
        assert_eq!(nearest("zebra", ["command", "args"]), None);
        assert_eq!(nearest("xs", ["x", "y"]), None);
    }
}
