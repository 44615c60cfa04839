//! Tests of whole session scripts: what a script publishes for given backends, or with which error it fails.

mod errors;
mod handlers;
mod limits;
mod metadata;
mod naming;
mod other_kinds;
mod parallel;
mod provenance;
mod publish;
mod pure;
mod redaction;
mod replay;

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::{Handler, Plan, Settings, run_session_script};
use proxy_base::diagnostic::Diagnostic;
use proxy_json::{Raw, RawRef, raw};
use proxy_model::{
    BackendKind, BackendView, Definition, ItemKind, ItemRef, Lists, Question, ServerInfo, Snapshot, SurfaceKey,
};
use proxy_script::{
    CallOptions, Effects, Failure, Host, JournalCursor, Limits, LogLevel, Output, Questions, Source, Stop,
};

/// A tool with a schema of two parameters.
pub(super) fn tool(name: &str) -> Value {
    json!({
        "name": name, "description": format!("does {name}"), "x-vendor": 1.10,
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]},
    })
}

pub(super) fn backend(name: &str, tools: &[Value]) -> Arc<BackendView> {
    let tools = tools.iter().map(|tool| Arc::new(Definition::parse(ItemKind::Tool, raw(tool)).unwrap())).collect();
    Arc::new(BackendView::ready(
        name,
        BackendKind::Stdio,
        ServerInfo { name: format!("{name}-server"), version: "1.2".into(), ..ServerInfo::default() },
        Lists { tools, ..Lists::default() },
    ))
}

/// A backend with tools of these names, all with the same schema.
pub(super) fn named(name: &str, tools: &[&str]) -> Arc<BackendView> {
    backend(name, &tools.iter().map(|name| tool(name)).collect::<Vec<_>>())
}

/// Two backends that both have a tool `search`.
pub(super) fn two() -> Vec<Arc<BackendView>> {
    vec![named("github", &["search", "create_issue"]), named("docs", &["search", "read"])]
}

pub(super) fn run_with(
    backends: Vec<Arc<BackendView>>,
    sections: Value,
    limits: &Limits,
    script: &str,
) -> Result<Plan, Diagnostic> {
    let Value::Object(sections) = sections else { panic!("sections are an object") };
    run_session_script(
        &Source::new("policy.star", script),
        Path::new("."),
        Arc::new(Snapshot { version: 1, generation: 1, backends }),
        Arc::new(Settings { sections, ..Settings::default() }),
        SurfaceKey::anonymous(),
        limits,
    )
    .map_err(|error| *error.diagnostic)
}

pub(super) fn run(script: &str) -> Result<Plan, Diagnostic> {
    run_with(two(), json!({"params": {}}), &Limits::SESSION_SCRIPT, script)
}

pub(super) fn names(plan: &Plan) -> Vec<&str> {
    plan.items.tools.iter().map(|tool| tool.definition.key()).collect()
}

pub(super) fn fault(script: &str) -> String {
    run(script).unwrap_err().to_string()
}

/// The value of an expression, for tests of pure built-ins. The script passes it out as the description of a tool.
pub(super) fn evaluate(expression: &str) -> Value {
    let plan = run(&format!("publish(metadata('x', json.encode({expression}), {{}}, {{}}), lambda args: None)\n"));
    let plan = plan.unwrap_or_else(|error| panic!("{expression}: {error}"));
    serde_json::from_str(&plan.items.tools[0].definition.text("description")).unwrap()
}

/// The runtime for effects that wait.
static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());

/// A host that records calls and answers each with its arguments, unless `answer` is set.
#[derive(Default)]
pub(super) struct Recorder {
    pub calls: Mutex<Vec<(ItemRef, String, Option<Duration>)>>,
    pub logged: Mutex<Vec<String>>,
    pub stop: Mutex<Option<Stop>>,
    pub answer: Option<&'static str>,
    pub delay: Duration,
    pub cursor: Mutex<Option<JournalCursor>>,
    /// Whether the client supports elicitation.
    pub can_ask: bool,
}

impl Effects for Recorder {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        options: CallOptions,
        _: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        std::thread::sleep(self.delay);
        if let Some(stop) = *self.stop.lock() {
            return Err(stop);
        }
        self.calls.lock().push((target.clone(), arguments.get().to_owned(), options.timeout));
        let answer = match self.answer {
            Some(text) => text.to_owned(),
            None => json!({"content": [{"type": "text", "text": arguments.get()}]}).to_string(),
        };
        Ok(proxy_json::valid(answer).unwrap())
    }

    fn stopped(&self) -> Option<Stop> {
        *self.stop.lock()
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        proxy_fiber::wait(future, RUNTIME.handle());
        Ok(())
    }
}

impl Output for Recorder {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        self.logged.lock().push(format!("{} {message} {}", level.as_str(), Value::from(fields.clone())));
    }

    fn print(&self, text: &str) {
        self.log(LogLevel::Info, text, &Map::new());
    }

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}

    fn notify(&self, params: &RawRef) {
        self.logged.lock().push(format!("notify {params}"));
    }
}

impl Questions for Recorder {
    fn cursor(&self) -> Option<JournalCursor> {
        self.cursor.lock().clone()
    }

    fn can_ask(&self, _: &Question) -> bool {
        self.can_ask
    }

    fn asked(&self) -> u64 {
        0
    }
}

/// Calls a published tool, whose handler must be a function of the script.
pub(super) fn call(
    plan: &Plan,
    name: &str,
    arguments: &str,
    host: &Arc<Recorder>,
    limits: &Limits,
) -> Result<Value, Failure> {
    let tool = plan.items.tools.iter().find(|tool| tool.definition.key() == name).unwrap();
    let Handler::Script(function) = &tool.handler else { panic!("`{name}` is published unwrapped") };
    let arguments = proxy_json::valid(arguments.to_owned()).unwrap();
    let _context = RUNTIME.enter();
    let host = Host { output: host.clone(), questions: host.clone(), ..Host::outside_request(host.clone()) };
    function.call(&arguments, Arc::new(host), limits)
}

/// Publishes a tool whose handler has this body, and calls it.
pub(super) fn handle(body: &str, arguments: &str) -> Result<Value, Failure> {
    let script = format!(
        "def handler(args):\n    {}\npublish(metadata('x', '', {{}}, {{}}), handler)\n",
        body.replace('\n', "\n    ")
    );
    let plan = run(&script).unwrap_or_else(|error| panic!("{error}"));
    call(&plan, "x", arguments, &Arc::default(), &Limits::HANDLER)
}
