//! What answers in place of the network and of commands, by rules that the test gave.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use crate::builtins::glob_fits;
use crate::diagnostic::{Diagnostic, nearest};
use crate::json::{Raw, RawRef, raw};

/// Which part of the world is stood in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Http,
    Exec,
}

impl Part {
    pub(super) fn function(self) -> &'static str {
        match self {
            Part::Http => "testing.http()",
            Part::Exec => "testing.exec()",
        }
    }

    fn of(kind: &str) -> Option<Part> {
        match kind.split_once('.')?.0 {
            "http" => Some(Part::Http),
            "exec" => Some(Part::Exec),
            _ => None,
        }
    }

    /// What an answer may have.
    pub(super) fn keys(self) -> &'static [&'static str] {
        match self {
            Part::Http => &["status_code", "status", "json", "body", "headers", "error"],
            Part::Exec => &["stdout", "stderr", "exit_code", "timed_out", "truncated", "error"],
        }
    }

    /// An answer is a text, or a dict of known keys.
    pub(super) fn check(self, answer: &Value) -> Result<(), String> {
        match answer {
            Value::String(_) => Ok(()),
            Value::Object(members) => match members.keys().find(|key| !self.keys().contains(&key.as_str())) {
                None => Ok(()),
                Some(key) => {
                    let near =
                        nearest(key, self.keys().iter().copied()).map(|near| format!("; did you mean `{near}`?"));
                    let known = || format!("; it has {}", self.keys().join(", "));
                    Err(format!("an answer of {} has no `{key}`{}", self.function(), near.unwrap_or_else(known)))
                }
            },
            _ => {
                Err(format!("an answer of {} must be a text, a dict, or a function that returns one", self.function()))
            }
        }
    }

    /// What is asked for, as rules and people name it: `GET https://host/path`, `git status --short`.
    fn asked(self, request: &Value) -> String {
        let word = |member: &str| request[member].as_str().unwrap_or_default().to_owned();
        match self {
            Part::Http => format!("{} {}", word("method"), address(request)),
            Part::Exec => {
                let args = request["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
                std::iter::once(word("command").as_str()).chain(args).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// An answer as scripts get it, of what a rule says.
    fn answer(self, rule: &Value, request: &Value) -> Value {
        match self {
            Part::Http => http_answer(rule, request),
            Part::Exec => exec_answer(rule),
        }
    }
}

/// What a rule says: a value, or a function of the test, by its name in the exchange.
#[derive(Clone, Debug)]
pub(super) enum Says {
    Value(Value),
    Function(String),
}

/// What a rule answers.
#[derive(Clone, Debug)]
pub(super) enum Answers {
    /// This again and again.
    Always(Says),
    /// Each of these once, in order.
    InTurn(VecDeque<Says>),
}

/// A rule: what it is for, and what it answers.
#[derive(Debug)]
struct Rule {
    part: Part,
    pattern: String,
    answers: Answers,
}

#[derive(Debug, Default)]
pub(super) struct StandIns {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    parts: Vec<Part>,
    rules: Vec<Rule>,
    requests: Vec<(Part, Value)>,
    unmatched: Vec<String>,
}

impl StandIns {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this part of the world is the test's, by these rules and those given before.
    pub(super) fn add(&self, part: Part, rules: Vec<(String, Answers)>) {
        let mut inner = self.inner();
        inner.parts.push(part);
        // Later rules come first, so that a test can be more special than what it builds on.
        let rules = rules.into_iter().map(|(pattern, answers)| Rule { part, pattern, answers });
        inner.rules.splice(0..0, rules);
    }

    /// What was asked for so far, of one part.
    pub(super) fn requests(&self, part: Part) -> Vec<Value> {
        self.inner().requests.iter().filter(|(of, _)| *of == part).map(|(_, request)| request.clone()).collect()
    }

    /// The first request for which there was no rule.
    pub(super) fn unmatched(&self) -> Option<Diagnostic> {
        self.inner().unmatched.first().map(Diagnostic::error)
    }

    /// What is said in place of the world; none if the test has not taken that part of it. `call` calls a function of the
    /// test.
    pub(super) fn answer(
        &self,
        kind: &str,
        request: &RawRef,
        call: impl FnOnce(&str, &Value) -> Result<Value, String>,
    ) -> Option<Result<Raw, String>> {
        let part = Part::of(kind)?;
        let request: Value = serde_json::from_str(request.get()).unwrap_or_default();
        let said = self.said(part, &request)?.and_then(|says| match says {
            Says::Value(value) => Ok(value),
            // It may do such things itself: nothing is locked meanwhile.
            Says::Function(name) => {
                call(&name, &told(part, &request)).and_then(|value| part.check(&value).map(|()| value))
            }
        });
        if let Err(problem) = &said {
            self.inner().unmatched.push(problem.clone());
        }
        Some(said.and_then(|answer| match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(raw(&part.answer(&answer, &request))),
        }))
    }

    /// What the rules say of a request, which is written down.
    fn said(&self, part: Part, request: &Value) -> Option<Result<Says, String>> {
        let mut inner = self.inner();
        if !inner.parts.contains(&part) {
            return None;
        }
        let asked = part.asked(request);
        inner.requests.push((part, told(part, request)));
        let rule = inner.rules.iter_mut().find(|rule| rule.part == part && rule.is_for(&asked));
        Some(match rule {
            None => Err(format!("no rule of {} is for `{asked}`", part.function())),
            Some(Rule { answers: Answers::Always(says), .. }) => Ok(says.clone()),
            Some(Rule { answers: Answers::InTurn(left), pattern, .. }) => left
                .pop_front()
                .ok_or_else(|| format!("the rule `{pattern}` of {} has no answer left for `{asked}`", part.function())),
        })
    }
}

impl Rule {
    /// A rule without a method is for every method.
    fn is_for(&self, asked: &str) -> bool {
        let rest = asked.split_once(' ').map(|(_, rest)| rest).filter(|_| self.part == Part::Http);
        let fits = |text: &str| self.pattern == text || glob_fits(&self.pattern, text);
        fits(asked) || rest.is_some_and(fits)
    }
}

/// The URL with its parameters.
fn address(request: &Value) -> String {
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

/// A request as the test reads it: pairs as dicts, the body under its kind, without what was not given.
fn told(part: Part, request: &Value) -> Value {
    let dict = |pairs: &Value| -> Value {
        let pairs = pairs.as_array().into_iter().flatten();
        pairs.filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].clone()))).collect::<Map<_, _>>().into()
    };
    match part {
        Part::Http => {
            let mut told = json!({
                "method": request["method"], "url": request["url"],
                "params": dict(&request["params"]), "headers": dict(&request["headers"]),
            });
            let body = &request["body"];
            for (kind, member) in [("text", "body"), ("json", "json_body"), ("form", "form_body")] {
                if let Some(given) = body.get(kind) {
                    told[member] = if kind == "form" { dict(given) } else { given.clone() };
                }
            }
            told
        }
        Part::Exec => json!({
            "command": request["command"], "args": request["args"], "stdin": request["stdin"],
            "cwd": request["cwd"], "env": dict(&request["env"]),
        }),
    }
}

fn http_answer(rule: &Value, request: &Value) -> Value {
    let status = rule.get("status_code").or_else(|| rule.get("status")).and_then(Value::as_u64).unwrap_or(200);
    let body = match (rule, rule.get("json"), rule.get("body")) {
        (Value::String(text), _, _) => text.clone(),
        (_, Some(json), _) => json.to_string(),
        (_, _, Some(Value::String(body))) => body.clone(),
        _ => String::new(),
    };
    let mut answer = json!({
        "url": address(request), "status_code": status, "status": status, "success": (200..300).contains(&status),
        "headers": rule.get("headers").cloned().unwrap_or_else(|| json!({})), "body": body,
    });
    if let Ok(parsed) = serde_json::from_str::<Value>(&body) {
        answer["json"] = parsed;
    }
    answer
}

fn exec_answer(rule: &Value) -> Value {
    let text = |member: &str| rule.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let stdout = rule.as_str().map_or_else(|| text("stdout"), str::to_owned);
    let timed_out = rule.get("timed_out").and_then(Value::as_bool).unwrap_or_default();
    let code = rule.get("exit_code").and_then(Value::as_i64).unwrap_or(if timed_out { -1 } else { 0 });
    json!({
        "stdout": stdout, "stderr": text("stderr"), "exit_code": code, "success": code == 0,
        "timed_out": timed_out, "truncated": rule.get("truncated").and_then(Value::as_bool).unwrap_or_default(),
    })
}
