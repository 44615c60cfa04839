//! The user interface of a local tool (MCP Apps), as the SDK of that extension reads it.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_host_on_the_sdk_of_mcp_apps_shows_the_example_and_a_person_clicks_in_it() {
    let config = Config::new().section(&format!(
        "extensions: {{ paths: [{:?}] }}",
        concat!(env!("CARGO_MANIFEST_DIR"), "/extensions/checklist.star")
    ));
    let proxy = Proxy::new(&config).http().await;
    for revision in ["legacy", "2026-07-28"] {
        let Some(host) = real_servers::app_host(&proxy.url, revision) else { return };
        let finished = Finished::run(host).await.expect(0);
        let seen: Value = serde_json::from_str(&finished.stdout).expect("the host writes what it saw");
        let expected = json!({"tool": "show_checklist", "uri": "ui://checklist/page",
            "before": [false, false, false], "after": [true, false, false]});
        assert_eq!(seen, expected, "{revision}: {}", finished.stderr);
    }
}
