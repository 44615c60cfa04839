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
    /// The server that it is about.
    server: Option<String>,
    what: String,
    fix: String,
}

#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, area: &'static str, what: impl Into<String>) {
        self.push(area, State::Ok, what.into(), String::new());
    }

    pub(super) fn warning(&mut self, area: &'static str, what: impl Into<String>, fix: impl Into<String>) {
        self.push(area, State::Warning, what.into(), fix.into());
    }

    pub(super) fn broken(&mut self, area: &'static str, what: impl Into<String>, fix: impl Into<String>) {
        self.push(area, State::Broken, what.into(), fix.into());
    }

    /// A cause why a server does not work.
    pub(super) fn broken_server(&mut self, area: &'static str, name: &str, what: &str, fix: impl Into<String>) {
        let server = Some(name.to_owned());
        let what = format!("`{name}`{what}");
        self.0.push(Finding { area, state: State::Broken, server, what, fix: fix.into() });
    }

    /// Whether it is known why a server does not work.
    pub(super) fn has_broken_server(&self, name: &str) -> bool {
        self.0.iter().any(|finding| finding.server.as_deref() == Some(name))
    }

    fn push(&mut self, area: &'static str, state: State, what: String, fix: String) {
        self.0.push(Finding { area, state, server: None, what, fix });
    }

    pub(super) fn append(&mut self, others: Findings) {
        self.0.extend(others.0);
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
        for Finding { area, state, what, fix, .. } in &self.0 {
            let word = format!("{:8}", state.as_str());
            let word = if output::stdout_colour() { format!("\x1b[{}m{word}\x1b[0m", state.colour()) } else { word };
            output::out(&format!("{word} {area:8} {}", output::one_line(what)));
            if !fix.is_empty() {
                output::out(&format!("{:18}fix: {}", "", output::one_line(fix)));
            }
        }
    }
}
