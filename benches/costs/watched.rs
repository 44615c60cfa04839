//! What it costs to count, to audit and to follow calls.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use proxy_config::{Audit, AuditDetail};
use proxy_engine::calls::{RecordedRequest, RequestOrigin};
use proxy_json::{Raw, raw};
use proxy_model::{CallOutcome, CallSource, ClientInfo, Principal, Secret, ServerCallRecord};
use proxy_telemetry::audit::AuditLog;
use proxy_telemetry::{OperationStats, ServerStats, Telemetry};
use proxy_wire::RpcError;

const RECORDS: u32 = 1_000_000;
/// So many records at once never fill the queue of the audit log.
const BATCH: u32 = 2_000;
const BATCHES: u32 = 50;

/// The time to count one call of a server while nobody reads records, in microseconds.
pub fn unread() -> f64 {
    let calls = RecordedCalls::new();
    let began = Instant::now();
    (0..RECORDS).for_each(|_| calls.one());
    began.elapsed().as_secs_f64() * 1e6 / f64::from(RECORDS)
}

/// What a call itself waits for while it is counted and audited, in microseconds. Another thread writes the log.
pub fn audited(folder: &Path) -> f64 {
    let calls = RecordedCalls::new();
    let settings = Audit {
        file: folder.join("waited.jsonl"),
        key: Some(Secret::new("k".repeat(32))),
        arguments: AuditDetail::Digest,
        results: AuditDetail::None,
        max_size: 1 << 30,
        keep: 1,
        required: false,
    };
    let log = AuditLog::start(&settings, str::to_owned).unwrap();
    calls.telemetry.set_audit(Arc::clone(&log));
    let mut waited = Duration::ZERO;
    let first = log.progress().0;
    for batch in 1..=BATCHES {
        let began = Instant::now();
        (0..BATCH).for_each(|_| calls.one());
        waited += began.elapsed();
        while log.progress().0 < first + u64::from(batch * BATCH) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    waited.as_secs_f64() * 1e6 / f64::from(BATCH * BATCHES)
}

/// Calls of one tool, recorded as the proxy records them.
struct RecordedCalls {
    telemetry: Arc<Telemetry>,
    principal: Principal,
    client: Arc<ClientInfo>,
    params: Raw,
    item: Arc<OperationStats>,
    server: Arc<ServerStats>,
    result: Result<Raw, RpcError>,
}

impl RecordedCalls {
    fn new() -> Self {
        let telemetry = Arc::new(Telemetry::default());
        RecordedCalls {
            principal: Principal::anonymous(),
            client: Arc::new(ClientInfo::default()),
            params: raw(&serde_json::json!({"name": "echo", "arguments": {"text": "some argument"}})),
            item: telemetry.operation("tools/call", Some("echo")),
            server: telemetry.server(&"b".into()),
            result: Ok(raw(&serde_json::json!({"content": [{"type": "text", "text": "the answer"}]}))),
            telemetry,
        }
    }

    fn one(&self) {
        let origin = RequestOrigin {
            method: "tools/call",
            id: None,
            revision: None,
            params: Some(&self.params),
            principal: &self.principal,
            client: &self.client,
            source: CallSource::Http,
            session: None,
            peer: None,
            ambient: None,
        };
        let recorded = RecordedRequest::begin(&self.telemetry, origin);
        recorded.recording().set_item(&self.item);
        let called = Instant::now();
        let details = recorded.recording().details().map(|_| SystemTime::now());
        let ended = Instant::now();
        let duration = ended - called;
        self.server.record("tools/call", ended, duration, &CallOutcome::Ok);
        let record = details.map(|began| ServerCallRecord {
            server: "b".into(),
            method: "tools/call".into(),
            began,
            duration,
            params: Raw::clone(&self.params),
            result: self.result.as_ref().ok().cloned(),
            outcome: CallOutcome::Ok,
            is_local: false,
            address: None,
            span: None,
        });
        recorded.recording().server_called(duration, record);
        recorded.end(Some(black_box(&self.result)));
    }
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
