//! Tools that show what reached the server, or return exactly what they are given.

use serde_json::json;

use crate::call::Call;

pub fn echo(call: &Call) {
    call.structured(call.raw_arguments());
}

/// The result as an object is returned token for token; as a text it is returned character for character, which can
/// carry what is not JSON at all.
pub fn raw(call: &Call) {
    match call.argument::<String>("result") {
        Some(text) => call.answer(&text),
        None => call.answer(call.raw_argument("result").unwrap_or("{}")),
    }
}

pub fn params(call: &Call) {
    call.structured(call.request.params_text());
}

/// Everything received so far. With `wait_for` it waits until a message holds that text, or a line about HTTP such as
/// `GET session=…`, `DELETE session=…` or `closed ID` for a reply stream the client left.
pub async fn seen(call: &Call) {
    let wanted: Option<String> = call.argument("wait_for");
    if let Some(record) = record_with(call, wanted.as_deref()).await {
        call.structured(&record);
    }
}

/// What was received, once it holds that text; nothing if the call is cancelled before.
pub async fn record_with(call: &Call, wanted: Option<&str>) -> Option<String> {
    loop {
        let changed = call.shared.changed.notified();
        tokio::pin!(changed);
        // Registered before looking, so that nothing recorded in between is missed.
        changed.as_mut().enable();
        if let Some(record) = look(call, wanted) {
            return Some(record);
        }
        tokio::select! {
            () = changed => {}
            () = call.request.cancelled.cancelled() => return None,
        }
    }
}

/// Waits for a message that holds this text, come what may.
pub async fn message_with(call: &Call, wanted: &str) {
    loop {
        let changed = call.shared.changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        // The call that waits names the text, too.
        if call.shared.lock().record.messages.iter().filter(|message| message.contains(wanted)).count() > 1 {
            return;
        }
        changed.await;
    }
}

fn look(call: &Call, wanted: Option<&str>) -> Option<String> {
    let inner = call.shared.lock();
    let record = &inner.record;
    // This very call names what it waits for, and so do others like it.
    let others = record.messages.iter().filter(|message| !message.contains("wait_for"));
    let found = wanted.is_none_or(|wanted| others.chain(&record.http).any(|text| text.contains(wanted)));
    found.then(|| json!({"messages": record.messages, "http": record.http}).to_string())
}

pub fn headers(call: &Call) {
    let headers = json!(call.request.headers);
    call.structured(&format!(r#"{{"headers":{headers},"arguments":{}}}"#, call.raw_arguments()));
}

pub fn pid(call: &Call) {
    call.structured(&json!({"pid": std::process::id()}).to_string());
}

pub fn env(call: &Call) {
    let variables: serde_json::Map<_, _> = std::env::vars().map(|(name, value)| (name, value.into())).collect();
    call.structured(&serde_json::Value::Object(variables).to_string());
}

pub fn cwd(call: &Call) {
    let directory = std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default();
    call.structured(&json!({"cwd": directory}).to_string());
}

pub fn big(call: &Call) {
    call.text(&"x".repeat(call.argument("n").unwrap_or(1)));
}
