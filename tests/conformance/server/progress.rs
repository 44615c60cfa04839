//! The tool that tells how far it is.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, Tool};
use serde_json::json;

use crate::call::Call;
use crate::fixtures::tool;

pub const NAME: &str = "test_tool_with_progress";

pub fn definition() -> Tool {
    tool(NAME, "Reports its progress in three steps.", &json!({}))
}

pub async fn report(call: &Call) {
    let Some(token) = call.context.meta.get_progress_token() else { return };
    for done in [0.0, 50.0, 100.0] {
        let step = ProgressNotificationParam::new(token.clone(), done)
            .with_total(100.0)
            .with_message(format!("{done} of 100"));
        // Progress is a courtesy; the result matters.
        let _ = call.context.peer.notify_progress(step).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
