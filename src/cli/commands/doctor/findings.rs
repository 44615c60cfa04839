//! What the checks find, in their order.

use serde_json::json;

use crate::cli::output;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    Warning,
    Broken,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Broken => "broken",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            State::Ok => "32",
            State::Warning => "33",
            State::Broken => "31",
        }
    }
}

#[derive(Debug)]
struct Finding {
    area: &'static str,
    state: State,
    what: String,
    fix: String,
}

#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, area: &'static str, what: impl Into<String>) {
        self.0.push(Finding { area, state: State::Ok, what: what.into(), fix: String::new() });
    }

    pub(super) fn warning(&mut self, area: &'static str, what: impl Into<String>, fix: impl Into<String>) {
        self.0.push(Finding { area, state: State::Warning, what: what.into(), fix: fix.into() });
    }

    pub(super) fn broken(&mut self, area: &'static str, what: impl Into<String>, fix: impl Into<String>) {
        self.0.push(Finding { area, state: State::Broken, what: what.into(), fix: fix.into() });
    }

    /// Says that an area is in order, unless something was found there.
    pub(super) fn ok_unless_found(&mut self, area: &'static str, what: impl Into<String>) {
        if self.0.iter().all(|finding| finding.area != area) {
            self.ok(area, what);
        }
    }

    pub(super) fn are_healthy(&self) -> bool {
        self.0.iter().all(|finding| finding.state != State::Broken)
    }

    pub(super) fn print(&self, as_json: bool) {
        if as_json {
            let one = |finding: &Finding| {
                let fix = if finding.fix.is_empty() { None } else { Some(&finding.fix) };
                json!({"area": finding.area, "state": finding.state.as_str(), "what": finding.what, "fix": fix})
            };
            let all: Vec<_> = self.0.iter().map(one).collect();
            output::json(&json!({"healthy": self.are_healthy(), "findings": all}));
            return;
        }
        for Finding { area, state, what, fix } in &self.0 {
            let word = format!("{:8}", state.as_str());
            let word = if output::stdout_colour() { format!("\x1b[{}m{word}\x1b[0m", state.colour()) } else { word };
            output::out(&format!("{word} {area:8} {}", output::one_line(what)));
            if !fix.is_empty() {
                output::out(&format!("{:18}fix: {}", "", output::one_line(fix)));
            }
        }
    }
}
