//! The return value of an executable, as if it were a function.

use serde_json::{Value as Json, json};

use super::spec::ExecutableSpec;
use proxy_host_io::command::MAX_EXECUTABLE_OUTPUT;
use proxy_model::ItemKind;

/// How much of the end of the standard error is in an error, in bytes.
const SHOWN_ERRORS: usize = 2000;

/// The value that a handler of this kind returns for the outcome of a run, which is a dict as of `exec.run()`.
pub(super) fn returned(outcome: &Json, spec: &ExecutableSpec, kind: Option<ItemKind>) -> Json {
    let stdout = outcome["stdout"].as_str().unwrap_or_default();
    if let Some(problem) = problem(outcome, spec) {
        let stderr = outcome["stderr"].as_str().unwrap_or_default().trim();
        return error(&match end_of(if stderr.is_empty() { stdout.trim() } else { stderr }) {
            "" => problem,
            end => format!("{problem}: {end}"),
        });
    }
    let text = stdout.trim_end_matches(['\n', '\r']);
    if let Some(value) = serde_json::from_str(text).ok().filter(|value| is_return_value(value, kind)) {
        return value;
    }
    match kind {
        // As a function that returns nothing.
        None | Some(ItemKind::Tool) if text.is_empty() => Json::Null,
        _ => text.into(),
    }
}

/// An error result.
pub(super) fn error(text: &str) -> Json {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

fn problem(outcome: &Json, spec: &ExecutableSpec) -> Option<String> {
    let command = &spec.command;
    if outcome["timed_out"] == true {
        return Some(format!("`{command}` did not finish within {} s (timeout)", spec.timeout));
    }
    if outcome["truncated"] == true {
        return Some(format!("`{command}` printed more than {} MiB", MAX_EXECUTABLE_OUTPUT >> 20));
    }
    match outcome["exit_code"].as_i64().unwrap_or(-1) {
        0 => None,
        signal @ ..0 => Some(format!("`{command}` was killed by signal {}", -signal)),
        code => Some(format!("`{command}` failed with exit code {code}")),
    }
}

/// Whether JSON is what a handler of this kind returns. The text of a resource or prompt may be JSON of any shape.
fn is_return_value(value: &Json, kind: Option<ItemKind>) -> bool {
    let has = |member: &str| value.get(member).is_some_and(Json::is_array) || value.get("isError").is_some();
    match kind {
        None | Some(ItemKind::Tool) => true,
        Some(ItemKind::Resource | ItemKind::ResourceTemplate) => has("contents"),
        Some(ItemKind::Prompt) => has("messages"),
    }
}

/// The end of a text.
fn end_of(text: &str) -> &str {
    let start = text.len().saturating_sub(SHOWN_ERRORS);
    let start = (start..=text.len()).find(|start| text.is_char_boundary(*start)).unwrap_or(text.len());
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::super::spec::ExecutableInput;
    use super::*;

    fn value(outcome: &Json, kind: ItemKind) -> Json {
        let spec = ExecutableSpec::new(&["./x".to_owned()], ExecutableInput::Json, Vec::new(), 2.0).unwrap();
        returned(outcome, &spec, Some(kind))
    }

    fn printed(stdout: &str, kind: ItemKind) -> Json {
        value(&json!({"stdout": stdout, "stderr": "noise", "exit_code": 0}), kind)
    }

    #[test]
    fn json_is_data_and_everything_else_is_text() {
        assert_eq!(printed("{\"a\": 1}\n", ItemKind::Tool), json!({"a": 1}));
        assert_eq!(printed("42\n", ItemKind::Tool), json!(42));
        assert_eq!(printed("two\nlines\n\n", ItemKind::Tool), json!("two\nlines"));
        assert_eq!(printed("\n", ItemKind::Tool), Json::Null);
        assert_eq!(printed("{\"a\": 1}\n", ItemKind::Resource), json!("{\"a\": 1}"));
        assert_eq!(printed("", ItemKind::Resource), json!(""));
        assert_eq!(printed("{\"contents\": []}", ItemKind::ResourceTemplate), json!({"contents": []}));
        assert_eq!(printed("[1]", ItemKind::Prompt), json!("[1]"));
        assert_eq!(printed("{\"messages\": []}", ItemKind::Prompt), json!({"messages": []}));
    }

    #[test]
    fn a_failure_has_the_end_of_what_was_said() {
        let failed = |outcome: Json| value(&outcome, ItemKind::Tool)["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!(
            failed(json!({"stdout": "out", "stderr": "no such file\n", "exit_code": 3})),
            "`./x` failed with exit code 3: no such file"
        );
        assert_eq!(
            failed(json!({"stdout": "out", "stderr": "", "exit_code": 1})),
            "`./x` failed with exit code 1: out"
        );
        assert_eq!(failed(json!({"stdout": "", "stderr": "", "exit_code": -9})), "`./x` was killed by signal 9");
        assert_eq!(failed(json!({"timed_out": true, "exit_code": -1})), "`./x` did not finish within 2 s (timeout)");
        assert_eq!(failed(json!({"truncated": true, "exit_code": -1})), "`./x` printed more than 8 MiB");
        let long = failed(json!({"stderr": "ä".repeat(5000), "exit_code": 1}));
        assert!(long.ends_with("ää") && long.len() < 2100, "{}", long.len());
    }
}
