//! Tools that break the protocol.

use super::inspection;
use crate::call::Call;
use crate::message::{Refusal, quoted};

pub fn twice(call: &Call) {
    call.text("first");
    call.text("second");
}

pub fn unknown_id(call: &Call) {
    let stranger = call.with_text("for nobody", "");
    call.request.outbox.text(crate::message::result(r#""never-asked""#, &stranger));
    call.text("for you");
}

pub fn both(call: &Call) {
    let (id, result) = (&call.request.id, call.with_text("both", ""));
    call.request.outbox.response(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{result},"error":{{"code":-32000,"message":"both"}}}}"#
    ));
}

pub fn neither(call: &Call) {
    call.request.outbox.response(format!(r#"{{"jsonrpc":"2.0","id":{}}}"#, call.request.id));
}

/// The answer inside an array, as the revision 2025-03-26 allowed.
pub fn batch(call: &Call) {
    let log = crate::message::notification("notifications/message", r#"{"level":"info","data":"batched"}"#);
    let answer = crate::message::result(&call.request.id, &call.with_text("batched", ""));
    call.request.outbox.response(format!("[{log},{answer}]"));
}

pub fn garbage(call: &Call) {
    for line in ["this is not JSON", "{\"jsonrpc\":\"2.0\",", "[]", "42", "\u{0}\u{1}"] {
        call.request.outbox.text(line.to_owned());
    }
    call.structured(call.raw_arguments());
}

/// At once, or as soon as a message holds `wait_for`.
pub async fn rpc_error(call: &Call) {
    if let Some(wanted) = call.argument::<String>("wait_for")
        && inspection::record_with(call, Some(&wanted)).await.is_none()
    {
        return;
    }
    let code = call.argument("code").unwrap_or(-32000);
    let message = call.argument::<String>("message").unwrap_or_else(|| "refused on demand".to_owned());
    // The statuses the modern era ties to these codes.
    let status = match code {
        _ if call.argument::<u16>("status").is_some() => call.argument("status").unwrap_or(200),
        -32601 if call.request.modern => 404,
        -32022..=-32020 if call.request.modern => 400,
        _ => 200,
    };
    let mut refusal = Refusal::new(status, code, message);
    refusal.data = call.raw_argument("data").map(str::to_owned);
    call.refuse(&refusal);
}

pub fn fail(call: &Call) {
    let message = call.argument::<String>("message").unwrap_or_else(|| "failed on demand".to_owned());
    let is_poor = call.request.modern && call.shared.options.poor_modern;
    let message = if is_poor { "internal error".to_owned() } else { message };
    let kind = if call.request.modern { r#","resultType":"complete""# } else { "" };
    call.answer(&format!(r#"{{"content":[{{"type":"text","text":{}}}],"isError":true{kind}}}"#, quoted(&message)));
}
