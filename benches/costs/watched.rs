//! What it costs to count, to audit and to follow calls.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use starlark_mcp_proxy::calls::{RecordedRequest, RequestOrigin};
use starlark_mcp_proxy::json::raw;
use starlark_mcp_proxy::model::{CallOutcome, CallSource, ClientInfo, Principal};
use starlark_mcp_proxy::telemetry::Telemetry;

const RECORDS: u32 = 1_000_000;

/// The time to count one call of a server while nobody reads records, in microseconds.
pub fn unread() -> f64 {
    let telemetry = Arc::new(Telemetry::default());
    let (principal, client) = (Principal::anonymous(), Arc::new(ClientInfo::default()));
    let params = raw(&serde_json::json!({"name": "echo", "arguments": {"text": "some argument"}}));
    let (item, server) = (telemetry.operation("tools/call", Some("echo")), telemetry.server(&"b".into()));
    let result = Ok(raw(&serde_json::json!({"content": [{"type": "text", "text": "the answer"}]})));
    let began = Instant::now();
    for _ in 0..RECORDS {
        let origin = RequestOrigin {
            method: "tools/call",
            id: None,
            revision: None,
            params: Some(&params),
            principal: &principal,
            client: &client,
            source: CallSource::Http,
            session: None,
            peer: None,
            ambient: None,
        };
        let recorded = RecordedRequest::begin(&telemetry, origin);
        recorded.recording().set_item(&item);
        let called = Instant::now();
        let ended = Instant::now();
        server.record("tools/call", ended, ended - called, &CallOutcome::Ok);
        recorded.recording().server_called(ended - called, None);
        recorded.end(Some(black_box(&result)));
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(RECORDS)
}

/// The middle one of several measurements.
pub fn middle(mut measured: Vec<f64>) -> f64 {
    measured.sort_by(f64::total_cmp);
    measured[measured.len() / 2]
}

/// How long the slowest of a hundred calls takes, in milliseconds.
pub async fn p99(client: &mut crate::client::Client, time: Duration) -> f64 {
    let latencies = client.latencies(time).await;
    latencies[latencies.len() * 99 / 100]
}
