//! Results and errors as outcomes that are counted and recorded.

use proxy_json::{Needle, Raw, RawRef};
use proxy_mcp_client::{CallError, wants_more};
use proxy_model::CallOutcome;

/// The outcome of a result: `isError` and questions are not successes.
pub(super) fn of_result(result: &RawRef) -> CallOutcome {
    static IS_ERROR: Needle = Needle::new("\"isError\"");
    // Most results have no such value, and are not parsed for that.
    if IS_ERROR.has_value(result.get(), |byte| byte == b't') && is_error(result) {
        CallOutcome::ToolError
    } else if wants_more(result) {
        CallOutcome::Asked
    } else {
        CallOutcome::Ok
    }
}

/// The outcome of a call.
pub(super) fn of_call(outcome: Result<&Raw, &CallError>) -> CallOutcome {
    match outcome {
        Ok(result) => of_result(result),
        Err(CallError::Rpc(error) | CallError::Rejected(error)) => {
            CallOutcome::Error { code: error.code(), message: error.message() }
        }
        Err(CallError::Cancelled) => CallOutcome::Cancelled,
        // Who has to log in is asked to, if only by a text.
        Err(CallError::Asks(_) | CallError::LogInFirst { .. }) => CallOutcome::Asked,
        Err(error @ (CallError::Timeout { .. } | CallError::Busy { .. })) => {
            CallOutcome::Timeout { message: error.to_string() }
        }
        Err(error) => CallOutcome::Failed { message: error.to_string() },
    }
}

/// The outcome of a call that got no response from its server, which the client sees as an error result.
pub(super) fn without_response(error: &CallError) -> Option<CallOutcome> {
    // These are errors of the script, or of the request.
    if matches!(error, CallError::Unknown | CallError::Failed { .. } | CallError::Locked(_) | CallError::Stopped(_)) {
        return None;
    }
    let outcome = of_call(Err(error));
    let is_shown_as_error = matches!(outcome, CallOutcome::Timeout { .. } | CallOutcome::Failed { .. })
        || matches!(error, CallError::LogInFirst { .. });
    is_shown_as_error.then_some(outcome)
}

fn is_error(result: &RawRef) -> bool {
    result.member("isError").is_some_and(|value| value.get() == "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_json::valid;

    #[test]
    fn who_has_to_log_in_first_was_asked_and_nothing_has_failed() {
        let advice = "open a page".to_owned();
        let error = CallError::LogInFirst { backend: "crm".into(), advice, url: None, reason: None };
        assert_eq!(of_call(Err(&error)), CallOutcome::Asked);
        // The client sees an error result.
        assert_eq!(without_response(&error), Some(CallOutcome::Asked));
    }

    #[test]
    fn a_result_with_is_error_is_a_tool_error() {
        let outcome = |text: &str| of_result(&valid(text.to_owned()).unwrap());
        assert_eq!(outcome(r#"{"content":[],"isError":true}"#), CallOutcome::ToolError);
        assert_eq!(outcome(r#"{"content":[],"isError":false}"#), CallOutcome::Ok);
        assert_eq!(outcome(r#"{"content":[{"type":"text","text":"\"isError\":true"}]}"#), CallOutcome::Ok);
        assert_eq!(outcome(r#"{"resultType":"input_required","inputRequests":{}}"#), CallOutcome::Asked);
    }
}
