//! The paths of the operator API.

use http::{Method, StatusCode};

use super::api::{Refused, problem};

/// What a request asks for.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Status,
    Surface,
    Logs,
    Find,
    Searchable,
    Operations,
    Script,
    Events,
    Calls,
    CallDetails,
    CallAsTest,
    Recording,
    Restart,
    CallServer,
    Call,
    Exec,
    Answer,
    Sessions,
    EndSessions,
    AccountChanged,
    Replicas,
}

/// A part of a path that is any name.
const NAME: &str = "*";

/// All paths. The first that fits counts.
const ROUTES: [(Method, &[&str], Operation); 21] = [
    (Method::GET, &["status"], Operation::Status),
    (Method::GET, &["surface"], Operation::Surface),
    (Method::GET, &["logs"], Operation::Logs),
    (Method::GET, &["find"], Operation::Find),
    (Method::GET, &["searchable"], Operation::Searchable),
    (Method::GET, &["operations"], Operation::Operations),
    (Method::GET, &["script"], Operation::Script),
    (Method::GET, &["events"], Operation::Events),
    (Method::GET, &["calls"], Operation::Calls),
    (Method::GET, &["calls", NAME], Operation::CallDetails),
    (Method::GET, &["calls", NAME, "test"], Operation::CallAsTest),
    (Method::GET, &["recording"], Operation::Recording),
    (Method::POST, &["servers", NAME, "restart"], Operation::Restart),
    (Method::POST, &["servers", "call"], Operation::CallServer),
    (Method::POST, &["call"], Operation::Call),
    (Method::POST, &["exec"], Operation::Exec),
    (Method::POST, &["elicitations", NAME], Operation::Answer),
    (Method::GET, &["sessions"], Operation::Sessions),
    (Method::POST, &["sessions", "end"], Operation::EndSessions),
    (Method::POST, &["accounts"], Operation::AccountChanged),
    (Method::GET, &["replicas"], Operation::Replicas),
];

/// What a path asks for, and the name in it.
pub(super) fn routed<'a>(method: &Method, path: &[&'a str]) -> Result<(Operation, &'a str), Refused> {
    let fits = |pattern: &[&str]| {
        let mut parts = pattern.iter().zip(path);
        pattern.len() == path.len() && parts.all(|(wanted, part)| *wanted == NAME || wanted == part)
    };
    let mut known = ROUTES.iter().filter(|(_, pattern, _)| fits(pattern)).peekable();
    if known.peek().is_none() {
        return Err(problem(StatusCode::NOT_FOUND, "unknown path"));
    }
    let Some((_, pattern, operation)) = known.find(|(allowed, ..)| allowed == method) else {
        return Err(problem(StatusCode::METHOD_NOT_ALLOWED, "method not allowed for this path"));
    };
    let name = pattern.iter().zip(path).find(|(wanted, _)| **wanted == NAME).map(|(_, part)| *part);
    Ok((*operation, name.unwrap_or_default()))
}
