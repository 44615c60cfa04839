//! One call in detail.

use serde_json::Value;

use super::line::{milliseconds, refusal, what};
use crate::admin::{CallDetails, EventDetails, ShownText};
use crate::cli::output;
use proxy_base::foreign_text::visible;

pub(super) fn print(details: &CallDetails) {
    let call = &details.call;
    let one_line = |text: &str| output::one_line(text).into_owned();
    let mut lines = vec![format!("{}: {} in {}", what(call), one_line(&call.outcome), milliseconds(call.ms))];
    let mut fact = |name: &str, text: String| lines.push(format!("{name:<8} {text}"));
    fact("id", one_line(&call.id));
    fact("at", one_line(&call.at));
    fact("user", one_line(&call.user));
    let client = if call.client.is_empty() { "none" } else { &call.client };
    fact("client", format!("{}, over {}", one_line(client), one_line(&call.source)));
    if let Some(server) = &call.server {
        fact("server", one_line(server));
    }
    if let Some(policy) = &details.policy {
        fact("policy", one_line(policy));
    }
    if let Some(trace) = &call.trace {
        fact("trace", one_line(trace));
    }
    if let Some(refused) = &call.refusal {
        fact("refused", format!("{} ({})", one_line(&refusal(refused)), one_line(&refused.reason)));
    }
    if let Some(error) = &call.error {
        fact("error", one_line(error));
    }
    texts(&mut lines, "", details.params.as_ref(), details.result.as_ref());
    let mut steps: Vec<(f64, Vec<String>)> =
        details.events.iter().map(|event| (event.after_ms, of_event(event))).collect();
    for call in &details.server_calls {
        let head = format!("{} {}", one_line(&call.call.server), one_line(&call.call.method));
        let error = call.call.error.as_ref().map(|error| format!(": {}", one_line(error))).unwrap_or_default();
        let (outcome, ms) = (one_line(&call.call.outcome), milliseconds(call.call.ms));
        let mut step = vec![format!("\n-> {head}: {outcome} in {ms}{error}")];
        texts(&mut step, "   ", Some(&call.params), call.result.as_ref());
        steps.push((call.call.after_ms, step));
    }
    // Server calls and other events, in chronological order.
    steps.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    lines.extend(steps.into_iter().flat_map(|(_, step)| step));
    if call.more_server_calls > 0 {
        lines.push(format!("\nand {} more server calls", call.more_server_calls));
    }
    output::out(&lines.join("\n"));
    if details.redacted && !output::is_quiet() {
        output::err("recognized personal data and secrets are hidden; `--show-secrets` shows them");
    }
}

/// An elicitation, a log line, or an event without a text.
fn of_event(event: &EventDetails) -> Vec<String> {
    let kind = event.level.as_ref().map_or_else(|| event.kind.clone(), |level| format!("{} {level}", event.kind));
    let text = event.text.as_ref().map(|text| format!(": {}", output::one_line(text))).unwrap_or_default();
    vec![format!("\n-> {}{text}", output::one_line(&kind))]
}

fn texts(lines: &mut Vec<String>, indent: &str, params: Option<&ShownText>, result: Option<&ShownText>) {
    for (name, text) in [("params", params), ("result", result)] {
        let Some(text) = text else { continue };
        let (shown, size) = match (&text.json, &text.head) {
            (Some(json), _) => (laid_out(json.get()), format!("{} bytes", text.bytes)),
            (None, head) => {
                let head = head.clone().unwrap_or_default();
                let size = format!("the first {} of {} bytes", head.len(), text.bytes);
                (head, size)
            }
        };
        lines.push(format!("{indent}{name} ({size}):"));
        lines.extend(visible(&shown).lines().map(|line| format!("{indent}  {line}")));
    }
}

fn laid_out(json: &str) -> String {
    let value = serde_json::from_str::<Value>(json).and_then(|value| serde_json::to_string_pretty(&value));
    value.unwrap_or_else(|_| json.to_owned())
}
