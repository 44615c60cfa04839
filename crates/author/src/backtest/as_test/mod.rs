//! A recorded call as a test function, for `proxy calls --as-test`.

mod expectation;
mod fake_server;
mod literal;
mod selection;
mod test_source;
mod text;

use super::recording::{CatalogLine, RecordingFile, SingleRecording};
use super::replay::backtest;
use proxy_base::diagnostic::Diagnostic;
use proxy_engine::surface::ScriptSource;
use proxy_model::CallOutcome;

use test_source::TestSource;

/// A test function that makes the call and expects its recorded outcome. The test's servers offer only the items that
/// the script needs for that.
///
/// # Errors
/// If the call has no outcome to expect, or the script is in no file.
pub async fn as_test(
    recorded: &SingleRecording,
    script: &ScriptSource,
    show_secrets: bool,
) -> Result<String, Diagnostic> {
    let (call, source) = (&recorded.call, TestSource::of(script, show_secrets)?);
    if !call.ended || call.outcome == CallOutcome::Cancelled {
        return Err(Diagnostic::error("a test cannot reproduce this call: it was cancelled or interrupted"));
    }
    if call.more_server_calls > 0 {
        return Err(Diagnostic::error("this call made more server calls than a record holds"));
    }
    let mut notes = Vec::new();
    for catalog in selection::candidates(&recorded.catalog, call, !source.config.is_empty()) {
        match difference(&catalog, recorded, script).await {
            None => return Ok(text::test(&catalog, call, &source, &[])),
            Some(why) => notes = vec![why],
        }
    }
    Ok(text::test(&recorded.catalog, call, &source, &notes))
}

/// Why the call ends differently when it is made alone, with what these servers offer.
async fn difference(catalog: &CatalogLine, recorded: &SingleRecording, script: &ScriptSource) -> Option<String> {
    let single = RecordingFile::of_call(catalog.clone(), recorded.call.clone());
    // The test is about the script: its policies are in its own config, if it has any.
    match backtest(&single, script.clone(), None).await {
        Ok(report) if report.is_same() => None,
        Ok(report) => report
            .differences
            .first()
            .map(|difference| format!("on its own, this call ends differently: {}", difference.verdict.describe())),
        Err(problems) => problems.first().map(|problem| format!("the script fails: {}", problem.message)),
    }
}
