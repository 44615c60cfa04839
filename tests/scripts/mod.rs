//! Session scripts through the real program: given this script, the client sees exactly that.

mod aggregation;
mod depth;
mod failures;
mod handlers;
mod limits;
mod loading;
mod memory;
mod relay;
mod selection;

use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// A proxy before the server `fake` with these tools, and with this session script.
fn world(tools: &str, script: &str) -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", tools]))
        .section("sessionInit: { scriptFile: policy.star }");
    Proxy::new(&config).file("policy.star", script)
}

/// The same, serving a client that has shaken hands.
async fn serving(tools: &str, script: &str) -> StdioProxy {
    started(world(tools, script)).await
}

async fn started(proxy: impl Into<StdioProxy>) -> StdioProxy {
    let mut proxy = proxy.into();
    proxy.client.initialize("2025-11-25").await.result();
    proxy
}

/// How `proxy serve` ends with a script that cannot run.
async fn refused(script: &str) -> String {
    let proxy = world("echo", script);
    let finished = proxy.refused().await;
    assert_eq!(finished.stdout, "", "stdout is the protocol's");
    // The log comes first; what is told to the person begins with `error:`.
    let start = finished
        .stderr
        .find("error: ")
        .or_else(|| finished.stderr.find("error["))
        .unwrap_or_else(|| panic!("no error in {}", finished.stderr));
    finished.stderr[start..].trim_end().to_owned()
}

impl StdioProxy {
    /// The text of a result that is an error.
    async fn error_of(&mut self, tool: &str, arguments: &str) -> String {
        let answer = self.client.call(tool, arguments).await;
        assert!(is_error(&answer), "expected an error, got {}", answer.raw);
        answer.text()
    }
}

fn is_error(answer: &Message) -> bool {
    answer.value()["result"]["isError"] == true
}
