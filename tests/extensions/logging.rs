//! What extensions write to the operator's log.

use serde_json::json;

use super::{one_tool, started, world};

#[tokio::test]
async fn debug_writes_to_the_log_at_its_level() {
    let extension = one_tool("log('handled')\nreturn debug('found', [1, 'a'], None)", "");
    let mut verbose = started(world(&[("one.star", &extension)]).argument("--log").argument("debug")).await;
    let text = "found [1, \"a\"] None";
    assert_eq!(verbose.text("run", json!({})).await, text);
    let line = verbose.client.stderr().line(text).await;
    assert!(line.contains("DEBUG"), "{line}");
    let mut usual = started(world(&[("one.star", &extension)]).argument("--log").argument("info")).await;
    assert_eq!(usual.text("run", json!({})).await, text);
    usual.client.stderr().line("handled").await;
    assert!(!usual.client.stderr().text().contains(text));
}
