//! What it costs to run a handler again after a question: it had done twenty things before.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use proxy_builtins::{Handler, Settings, run_session_script};
use proxy_json::{Raw, RawRef, raw};
use proxy_model::{
    BackendKind, BackendView, Definition, ItemKind, ItemRef, JournalSnapshot, Lists, Question, ServerInfo, Snapshot,
    SurfaceKey,
};
use proxy_script::{CallOptions, Effects, Function, Host, Journal, JournalCursor, Limits, Questions, Source, Stop};
use serde_json::json;

const SCRIPT: &str = r#"
call = backends()["b"].tools()[0][1]

def handler(args):
    for i in range(20):
        call({"n": i})
    return elicit("Sure?", when_unavailable = "error").action

publish(metadata("x", "", {}, {}), handler)
"#;
const ROUNDS: u32 = 200;

/// A client that can be asked anything.
struct Client(JournalCursor);

impl Effects for Client {
    fn call(&self, _: &ItemRef, _: &RawRef, _: CallOptions, _: Option<JournalCursor>) -> Result<Raw, Stop> {
        Ok(raw(&json!({"content": [{"type": "text", "text": "x".repeat(1000)}]})))
    }

    fn wait(&self, _: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        Err(Stop::Cancelled)
    }

    fn stopped(&self) -> Option<Stop> {
        None
    }
}

impl Questions for Client {
    fn cursor(&self) -> Option<JournalCursor> {
        Some(self.0.clone())
    }

    fn can_ask(&self, _: &Question) -> bool {
        true
    }

    fn asked(&self) -> u64 {
        0
    }
}

fn run(function: &Function, past: JournalSnapshot) -> (bool, JournalSnapshot) {
    let cursor = JournalCursor::first(Journal::of(past));
    let client = Arc::new(Client(cursor.clone()));
    let host = Host { questions: client.clone(), ..Host::outside_request(client) };
    let outcome = function.call(&raw(&json!({})), Arc::new(host), &Limits::HANDLER);
    (outcome.is_ok(), cursor.journal().take_snapshot())
}

/// In milliseconds: from the kept journal to the result.
pub fn cost() -> f64 {
    let tool =
        Definition::parse(ItemKind::Tool, raw(&json!({"name": "t", "inputSchema": {"type": "object"}}))).unwrap();
    let backend = BackendView::ready(
        "b",
        BackendKind::Stdio,
        ServerInfo::default(),
        Lists { tools: vec![Arc::new(tool)], ..Lists::default() },
    );
    let snapshot = Arc::new(Snapshot { version: 1, generation: 1, backends: vec![Arc::new(backend)] });
    let settings = Arc::new(Settings::default());
    let source = Source::new("policy.star", SCRIPT);
    let plan = run_session_script(
        &source,
        Path::new("."),
        snapshot,
        settings,
        SurfaceKey::anonymous(),
        &Limits::SESSION_SCRIPT,
    )
    .unwrap();
    let Handler::Script(function) = &plan.items.tools[0].handler else { panic!("it is a handler of the script") };
    let (_, mut past) = run(function, JournalSnapshot::default());
    let key = past.questions()[0].0.clone();
    past.answer(&key, raw(&json!({"action": "accept", "content": {}})));
    let kept = past.to_bytes().unwrap();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        let (done, _) = run(function, JournalSnapshot::from_bytes(&kept).unwrap());
        assert!(done);
    }
    start.elapsed().as_secs_f64() * 1000.0 / f64::from(ROUNDS)
}
