//! Tools that need something from the client before they can answer: a request of their own in the legacy era, an
//! `input_required` result in the modern one.

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::inspection;
use crate::call::Call;
use crate::message::{self, quoted};
use crate::outbox::Outbox;

/// With `after` it asks only when a message holds that text, whether or not its call was cancelled meanwhile. With `later` it
/// asks when the call has its answer, which only standard output has room for.
pub async fn ask(call: &Call) {
    if let Some(wanted) = call.argument::<String>("after") {
        inspection::message_with(call, &wanted).await;
    }
    let message = call.argument::<String>("message").unwrap_or_else(|| "Which colour?".to_owned());
    let rounds: usize = call.argument("rounds").unwrap_or(1);
    let schema = r#"{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}"#;
    let params = format!(r#"{{"message":{},"requestedSchema":{schema}}}"#, quoted(&message));
    if call.argument::<bool>("later") == Some(true) {
        let id = format!(r#""later-{}""#, call.shared.next_number());
        // One write for both: the client cannot begin another call in between, to which the question would seem to belong.
        let answer = message::result(&call.request.id, &call.with_text("{}", r#","structuredContent":{}"#));
        let question = message::request(&id, "elicitation/create", &params);
        return outbox(call).text(format!("{answer}\n{question}"));
    }
    need(call, "elicitation/create", &params, rounds).await;
}

pub async fn sample(call: &Call) {
    let params = r#"{"messages":[{"role":"user","content":{"type":"text","text":"Say a word."}}],"maxTokens":8}"#;
    need(call, "sampling/createMessage", params, 1).await;
}

pub async fn roots(call: &Call) {
    need(call, "roots/list", "{}", 1).await;
}

/// Legacy only: a modern server never asks whether the client is there.
pub async fn ping(call: &Call) {
    need(call, "ping", "{}", 1).await;
}

async fn need(call: &Call, method: &str, params: &str, rounds: usize) {
    if call.request.modern && call.shared.options.poor_modern {
        return call.answer(
            r#"{"content":[{"type":"text","text":"there is no way to ask"}],"isError":true,"resultType":"complete"}"#,
        );
    }
    if call.request.modern {
        return require_input(call, method, params, rounds);
    }
    let mut answers = Vec::new();
    for _ in 0..rounds {
        let id = format!(r#""ask-{}""#, call.shared.next_number());
        let (sender, answer) = oneshot::channel();
        call.shared.lock().asked.insert(id.clone(), sender);
        outbox(call).text(message::request(&id, method, params));
        tokio::select! {
            answer = answer => answers.extend(answer),
            () = call.request.cancelled.cancelled() => return,
        }
    }
    call.structured(&format!(r#"{{"answers":[{}]}}"#, answers.join(",")));
}

/// Where a legacy question goes: the stream of the call, or with `via: "get"` the standalone stream, where nothing tells
/// which call it belongs to.
fn outbox(call: &Call) -> Outbox {
    let standalone = call.argument::<String>("via").as_deref() == Some("get");
    let inner = call.shared.lock();
    let session = call.request.header("mcp-session-id");
    let listener = inner
        .listeners
        .iter()
        .find(|listener| standalone && listener.subscription.is_none() && listener.session.as_deref() == session);
    listener.map_or_else(|| call.request.outbox.clone(), |listener| listener.outbox.clone())
}

/// The state counts the rounds that are done, so that this server itself remembers nothing.
fn require_input(call: &Call, method: &str, params: &str, rounds: usize) {
    let state: Option<String> = call.request.text_parameter("requestState");
    let done: usize = state.as_deref().and_then(|state| state.strip_prefix("round-")?.parse().ok()).unwrap_or(0);
    let responses = call.request.parameter("inputResponses");
    if done < rounds || responses.is_none() {
        let state = format!("round-{}", done + 1);
        return call.answer(&format!(
            r#"{{"resultType":"input_required","inputRequests":{{"question":{{"method":"{method}","params":{params}}}}},"requestState":"{state}"}}"#
        ));
    }
    let responses = responses.as_deref().map_or("null", RawValue::get);
    call.structured(&format!(
        r#"{{"inputResponses":{responses},"requestState":{}}}"#,
        quoted(&state.unwrap_or_default())
    ));
}
