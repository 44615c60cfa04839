//! The text of the test function.

use serde_json::{Map, Value, json};

use super::expectation::statements;
use super::{TestSource, fake_server, literal};
use crate::backtest::recording::{CallLine, CatalogLine};
use proxy_json::{Object, Raw};
use proxy_wire::Revision;

/// How much of the end of the id is in the name of the test.
const SHOWN_ID: usize = 8;

pub(super) fn test(catalog: &CatalogLine, call: &CallLine, source: &TestSource, notes: &[String]) -> String {
    let mut text = format!("# Call {} of {}.\n", comment(&call.id), comment(&call.at));
    for note in notes {
        text.push_str(&format!("# Note: {}\n", comment(note)));
    }
    for tool in catalog.servers.iter().flat_map(|server| fake_server::lenient_tools(server, call)) {
        let tool = comment(&tool);
        text.push_str(&format!(
            "# `{tool}` took arguments that its schema does not allow: it has no `parameters` here.\n"
        ));
    }
    text.push_str(&format!("def {}():\n    s = testing.session(\n", name(call)));
    text.push_str(&format!(
        "        {} = {},\n        backends = {{\n",
        source.argument,
        literal::string(&source.value)
    ));
    for server in &catalog.servers {
        let backend = fake_server::expression(server, call, 12);
        text.push_str(&format!("            {}: {backend},\n", literal::string(&server.name)));
    }
    text.push_str("        },\n");
    for (argument, value) in arguments(call, source) {
        text.push_str(&format!("        {argument} = {},\n", literal::value(&value, 8)));
    }
    text.push_str("    )\n");
    for statement in statements(call) {
        text.push_str(&format!("    {statement}\n"));
    }
    text
}

/// Foreign text on one line: a line feed would end the comment.
fn comment(text: &str) -> String {
    let quoted = literal::string(text);
    quoted[1..quoted.len() - 1].to_owned()
}

fn name(call: &CallLine) -> String {
    let word = |text: &str| -> String {
        text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
    };
    let id = call.id.get(call.id.len().saturating_sub(SHOWN_ID)..).unwrap_or(&call.id);
    format!("test_{}_{}", word(&call.name), word(id))
}

/// The other arguments of `testing.session()`.
fn arguments(call: &CallLine, source: &TestSource) -> Vec<(&'static str, Value)> {
    let mut arguments = Vec::new();
    if !call.user.anonymous {
        arguments.push(("user", user(call)));
    }
    arguments.push(("client", client(call)));
    let mut config = source.config.clone();
    if !call.headers.is_empty() {
        let names: Vec<&str> = call.headers.iter().map(|(name, _)| name.as_str()).collect();
        config.insert("serve".to_owned(), json!({ "requestHeaders": names }));
        let headers: Map<String, Value> =
            call.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        arguments.push(("headers", headers.into()));
    }
    if !config.is_empty() {
        arguments.push(("config", config.into()));
    }
    let answers = answers(call);
    if !answers.is_empty() {
        arguments.push(("answers", answers.into()));
    }
    arguments
}

fn user(call: &CallLine) -> Value {
    let user = &call.user;
    let mut members = json!({"sub": user.sub});
    for (name, value) in [("email", &user.email), ("name", &user.name), ("issuer", &user.issuer)] {
        if !value.is_empty() {
            members[name] = json!(value);
        }
    }
    for (name, values) in [("groups", &user.groups), ("scopes", &user.scopes)] {
        if !values.is_empty() {
            members[name] = json!(values);
        }
    }
    let claims = parsed(&user.claims);
    if claims.as_object().is_some_and(|claims| !claims.is_empty()) {
        members["claims"] = claims;
    }
    members
}

fn client(call: &CallLine) -> Value {
    let info = call.client.client_info();
    // A command has no revision; like the latest one, it allows structured content of any type.
    let revision = call.client.revision().unwrap_or(Revision::LATEST);
    let mut members = json!({"protocol_version": revision.as_str(), "capabilities": info.capabilities()});
    for (name, value) in [("name", info.name()), ("version", info.version())] {
        if !value.is_empty() {
            members[name] = json!(value);
        }
    }
    members
}

/// The answers that were given during the call, or sent with it.
fn answers(call: &CallLine) -> Vec<Value> {
    let mut answers: Vec<Value> = call.questions.iter().map(|question| parsed(&question.answer)).collect();
    let params = call.params.as_deref().and_then(|params| Object::of(params).ok());
    let sent = params.as_ref().and_then(|params| Object::of(params.get("inputResponses")?).ok());
    answers.extend(sent.iter().flat_map(|sent| sent.iter()).map(|(_, answer)| parsed(&answer.to_owned())));
    for answer in answers.iter_mut().filter_map(Value::as_object_mut) {
        answer.retain(|member, _| matches!(member.as_str(), "action" | "content"));
    }
    answers
}

fn parsed(raw: &Raw) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
