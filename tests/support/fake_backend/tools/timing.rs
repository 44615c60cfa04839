//! Tools that answer late, in another order, or never.

use std::time::Duration;

use crate::call::Call;
use crate::message::quoted;
use crate::shared::Held;

pub async fn slow(call: &Call) {
    if pause(call, call.argument("ms").unwrap_or(0)).await {
        call.structured(call.raw_arguments());
    }
}

/// Sends progress only if the request has a token, as the protocol wants. A `mark` is repeated in every message.
pub async fn progress(call: &Call) {
    let steps: u32 = call.argument("n").unwrap_or(3);
    let token = call.request.meta("progressToken");
    if let (Some(values), Some(token)) = (call.argument::<Vec<serde_json::Number>>("values"), &token) {
        return progress_of(call, &values, token.get());
    }
    for step in 1..=steps {
        if !pause(call, call.argument("ms").unwrap_or(0)).await {
            return;
        }
        if let Some(token) = &token {
            let message = quoted(&format!("step {step}{}", mark(call)));
            let params =
                format!(r#"{{"progressToken":{},"progress":{step},"total":{steps},"message":{message}}}"#, token.get());
            call.request.outbox.notify("notifications/progress", &params);
        }
    }
    call.structured(call.raw_arguments());
}

/// Exactly these values, in this order, and the last one again when the answer is out.
fn progress_of(call: &Call, values: &[serde_json::Number], token: &str) {
    let tell = |value: &serde_json::Number| {
        let params = format!(r#"{{"progressToken":{token},"progress":{value}}}"#);
        call.request.outbox.notify("notifications/progress", &params);
    };
    values.iter().for_each(tell);
    call.structured(call.raw_arguments());
    values.last().into_iter().for_each(tell);
}

pub async fn stall(call: &Call) {
    call.request.cancelled.cancelled().await;
}

/// With a `mark` the messages are texts that repeat it.
pub fn flood(call: &Call) {
    let mark = mark(call);
    let silent = call.request.modern && call.shared.options.poor_modern;
    let count = if silent { 0 } else { call.argument::<u32>("n").unwrap_or(100) };
    for number in 1..=count {
        let data = if mark.is_empty() { number.to_string() } else { quoted(&format!("{number}{mark}")) };
        let params = format!(r#"{{"level":"info","logger":"flood","data":{data}}}"#);
        call.request.outbox.notify("notifications/message", &params);
    }
    call.structured(call.raw_arguments());
}

/// Holds calls until `n` of them are here, then answers the last one first.
pub fn reorder(call: &Call) {
    let group = call.argument::<usize>("n").unwrap_or(2);
    let arguments = call.raw_arguments();
    let held = Held {
        id: call.request.id.clone(),
        outbox: call.request.outbox.clone(),
        result: call.with_text(arguments, &format!(r#","structuredContent":{arguments}"#)),
    };
    let complete = {
        let mut inner = call.shared.lock();
        inner.held.push(held);
        if inner.held.len() >= group { std::mem::take(&mut inner.held) } else { Vec::new() }
    };
    for held in complete.into_iter().rev() {
        held.outbox.result(&held.id, &held.result);
    }
}

fn mark(call: &Call) -> String {
    call.argument::<String>("mark").map(|mark| format!(" {mark}")).unwrap_or_default()
}

/// Whether the time passed before the call was cancelled.
async fn pause(call: &Call, milliseconds: u64) -> bool {
    if milliseconds == 0 {
        return !call.request.cancelled.is_cancelled();
    }
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(milliseconds)) => true,
        () = call.request.cancelled.cancelled() => false,
    }
}
