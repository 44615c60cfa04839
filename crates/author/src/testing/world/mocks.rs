//! Mocks of the network and of commands: replies to requests by the rules that a test registered.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};

use super::mock_results::{bytes_of, exec_result, http_result};
use proxy_base::diagnostic::{Diagnostic, Location, nearest};
use proxy_builtins::glob_matches;
use proxy_json::{Raw, RawRef, raw};

/// An effect that a test can mock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MockedEffect {
    Http,
    Exec,
}

impl MockedEffect {
    /// The built-in that mocks it.
    pub(crate) fn function(self) -> &'static str {
        match self {
            MockedEffect::Http => "testing.http()",
            MockedEffect::Exec => "testing.exec()",
        }
    }

    fn of(kind: &str) -> Option<MockedEffect> {
        match kind.split_once('.')?.0 {
            "http" => Some(MockedEffect::Http),
            "exec" => Some(MockedEffect::Exec),
            _ => None,
        }
    }

    /// The keys of a reply.
    fn keys(self) -> &'static [&'static str] {
        match self {
            MockedEffect::Http => &["status_code", "status", "json", "body", "body_base64", "headers", "error"],
            MockedEffect::Exec => {
                &["stdout", "stdout_base64", "stderr", "exit_code", "timed_out", "truncated", "error"]
            }
        }
    }

    /// The key of a reply that holds base64.
    fn bytes_key(self) -> &'static str {
        match self {
            MockedEffect::Http => "body_base64",
            MockedEffect::Exec => "stdout_base64",
        }
    }

    /// Checks that a reply is a string or a dict of known keys.
    pub(crate) fn check(self, reply: &Value) -> Result<(), String> {
        match reply {
            Value::String(_) => Ok(()),
            Value::Object(members) => match members.keys().find(|key| !self.keys().contains(&key.as_str())) {
                None => bytes_of(reply, self.bytes_key()).map(drop),
                Some(key) => {
                    let near =
                        nearest(key, self.keys().iter().copied()).map(|near| format!("; did you mean `{near}`?"));
                    let known = || format!("; valid keys: {}", self.keys().join(", "));
                    Err(format!("unknown key `{key}` in a reply of {}{}", self.function(), near.unwrap_or_else(known)))
                }
            },
            _ => Err(format!(
                "a reply of {} must be a string, a dict, or a function that returns one of these",
                self.function()
            )),
        }
    }

    /// The text that patterns are matched against: `GET https://host/path`, `git status --short`.
    fn subject(self, request: &Value) -> String {
        let text = |member: &str| request[member].as_str().unwrap_or_default().to_owned();
        match self {
            MockedEffect::Http => format!("{} {}", text("method"), url_with_params(request)),
            MockedEffect::Exec => {
                let args = request["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
                std::iter::once(text("command").as_str()).chain(args).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// A request as `.requests()` returns it: pairs as dicts, the body under its kind, unset members left out.
    fn recorded(self, request: &Value) -> Value {
        match self {
            MockedEffect::Http => recorded_http(request),
            MockedEffect::Exec => json!({
                "command": request["command"], "args": request["args"], "stdin": request["stdin"],
                "cwd": request["cwd"], "env": dict(&request["env"]),
            }),
        }
    }

    /// The complete result that the script receives, from a reply of a rule.
    fn result(self, reply: &Value, request: &Value) -> Value {
        match self {
            MockedEffect::Http => http_result(reply, request),
            MockedEffect::Exec => exec_result(reply, request),
        }
    }
}

/// One reply of a rule.
#[derive(Clone, Debug)]
pub(crate) enum MockReply {
    Value(Value),
    /// A function of the test, by its ID in the exchange.
    Function(String),
}

/// The replies of a rule.
#[derive(Clone, Debug)]
pub(crate) enum ReplySequence {
    /// The same reply to every request.
    Always(MockReply),
    /// Each reply once, in order.
    Once(VecDeque<MockReply>),
}

#[derive(Debug)]
struct MockRule {
    effect: MockedEffect,
    pattern: String,
    replies: ReplySequence,
}

#[derive(Debug, Default)]
pub(crate) struct TestMocks {
    state: Mutex<MocksState>,
}

#[derive(Debug, Default)]
struct MocksState {
    effects: Vec<MockedEffect>,
    rules: Vec<MockRule>,
    requests: Vec<(MockedEffect, Value)>,
    /// Errors of requests without a matching rule or a valid reply.
    errors: Vec<Diagnostic>,
}

impl TestMocks {
    fn state(&self) -> MutexGuard<'_, MocksState> {
        self.state.lock()
    }

    /// Mocks an effect from now on, by these rules and the rules added before.
    pub(crate) fn add(&self, effect: MockedEffect, rules: Vec<(String, ReplySequence)>) {
        let mut state = self.state();
        state.effects.push(effect);
        // Later rules take precedence, so that a test can override the rules of a shared helper.
        let rules = rules.into_iter().map(|(pattern, replies)| MockRule { effect, pattern, replies });
        state.rules.splice(0..0, rules);
    }

    /// The requests for one effect so far.
    pub(crate) fn requests(&self, effect: MockedEffect) -> Vec<Value> {
        self.state().requests.iter().filter(|(of, _)| *of == effect).map(|(_, request)| request.clone()).collect()
    }

    /// The error of the first request that no rule replied to.
    pub(super) fn unmatched(&self) -> Option<Diagnostic> {
        self.state().errors.first().cloned()
    }

    /// The result of a request at this line; None if its effect is not mocked. `call` calls a function of the test by its ID.
    pub(super) fn reply(
        &self,
        kind: &str,
        request: &RawRef,
        place: Option<Location>,
        call: impl FnOnce(&str, &Value) -> Result<Value, String>,
    ) -> Option<Result<Raw, String>> {
        let effect = MockedEffect::of(kind)?;
        let request: Value = serde_json::from_str(request.get()).unwrap_or_default();
        let reply = self.next_reply(effect, &request)?.and_then(|reply| match reply {
            MockReply::Value(value) => Ok(value),
            // The function may itself cause mocked requests, so the state is not locked here.
            MockReply::Function(id) => {
                call(&id, &effect.recorded(&request)).and_then(|value| effect.check(&value).map(|()| value))
            }
        });
        if let Err(error) = &reply {
            self.state().errors.push(Diagnostic::error(error).at_known(place.as_ref()));
        }
        Some(reply.and_then(|reply| match reply.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(raw(&effect.result(&reply, &request))),
        }))
    }

    /// Records the request and takes the reply of the first rule that matches. None if the effect is not mocked.
    fn next_reply(&self, effect: MockedEffect, request: &Value) -> Option<Result<MockReply, String>> {
        let mut state = self.state();
        if !state.effects.contains(&effect) {
            return None;
        }
        let subject = effect.subject(request);
        state.requests.push((effect, effect.recorded(request)));
        let rule = state.rules.iter_mut().find(|rule| rule.effect == effect && rule.matches(&subject));
        Some(match rule {
            None => Err(format!("no rule of {} matches `{subject}`", effect.function())),
            Some(MockRule { replies: ReplySequence::Always(reply), .. }) => Ok(reply.clone()),
            Some(MockRule { replies: ReplySequence::Once(left), pattern, .. }) => left
                .pop_front()
                .ok_or_else(|| format!("rule `{pattern}` of {} has no reply left for `{subject}`", effect.function())),
        })
    }
}

impl MockRule {
    /// A pattern without an HTTP method matches every method.
    fn matches(&self, subject: &str) -> bool {
        let url = subject.split_once(' ').map(|(_, url)| url).filter(|_| self.effect == MockedEffect::Http);
        let fits = |text: &str| self.pattern == text || glob_matches(&self.pattern, text);
        fits(subject) || url.is_some_and(fits)
    }
}

pub(super) fn url_with_params(request: &Value) -> String {
    let url = request["url"].as_str().unwrap_or_default();
    let pairs = request["params"].as_array().into_iter().flatten();
    let query: Vec<String> =
        pairs.filter_map(|pair| Some(format!("{}={}", pair[0].as_str()?, pair[1].as_str()?))).collect();
    match (query.is_empty(), url.contains('?')) {
        (true, _) => url.to_owned(),
        (false, true) => format!("{url}&{}", query.join("&")),
        (false, false) => format!("{url}?{}", query.join("&")),
    }
}

fn dict(pairs: &Value) -> Value {
    let pairs = pairs.as_array().into_iter().flatten();
    pairs.filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].clone()))).collect::<Map<_, _>>().into()
}

fn recorded_http(request: &Value) -> Value {
    let mut recorded = json!({
        "method": request["method"], "url": request["url"],
        "params": dict(&request["params"]), "headers": dict(&request["headers"]),
    });
    for (kind, member) in [("text", "body"), ("json", "json_body"), ("form", "form_body")] {
        if let Some(body) = request["body"].get(kind) {
            recorded[member] = if kind == "form" { dict(body) } else { body.clone() };
        }
    }
    recorded
}
