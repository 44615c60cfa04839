//! The interactive prompt of `proxy repl`: runs Starlark statements against the live servers.

mod statements;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use statements::StatementBuffer;

use crate::{lsp, reference};
use proxy_base::diagnostic::{Diagnostic, Location, nearest};
use proxy_builtins::{self as builtins, Settings, presets};
use proxy_engine::calls::{Calls, PromptRequest, RecordedRequest, RequestOrigin, TestOverrides};
use proxy_engine::gateway::Gateway;
use proxy_json::{Raw, RawRef};
use proxy_model::{CallOutcome, CallPeer, CallSource, Principal, REPL, SurfaceKey};
use proxy_script::{
    self as script, Context, Failure, Limits, LogLevel, Paths, Program, Source, converse, on_big_stack,
};

/// The environment of a prompt.
pub struct PromptContext {
    pub gateway: Arc<Gateway>,
    pub settings: Arc<Settings>,
    /// The folder that `//` paths start at.
    pub root: PathBuf,
    pub principal: Principal,
    /// The user id of this process.
    pub uid: Option<u32>,
    /// Cancels the running statement.
    pub interrupt: Interrupt,
    /// Shows the output of `print()`.
    pub print: fn(&str),
    pub runtime: tokio::runtime::Handle,
}

/// Cancels the statement that is running, but not later ones.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Mutex<CancellationToken>>);

impl Interrupt {
    pub fn stop(&self) {
        self.0.lock().cancel();
    }

    /// A new token for the next statement.
    fn new_token(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.0.lock() = token.clone();
        token
    }
}

/// Output of the prompt.
#[derive(Debug)]
pub enum PromptOutput {
    Value(String),
    Text(String),
    Problem(Box<Diagnostic>),
}

/// The user interface of a prompt.
pub trait PromptUi {
    /// The next statement or command; None at the end of the input. `names` are the names defined so far.
    fn next(&mut self, names: &[String]) -> Option<String>;

    fn show(&mut self, shown: PromptOutput);
}

const HELP: &str = "\
Enter Starlark statements. The value of an expression is shown; names stay defined.
:doc NAME    show the documentation of a built-in (also help(NAME))
:help        show this help
:quit        quit (also Ctrl-D); Ctrl-C cancels a running statement";

/// Runs statements until the user quits. Blocks: must not run on a thread of the async runtime.
pub fn run_prompt(setting: &PromptContext, ui: &mut (impl PromptUi + Send)) -> Result<(), Failure> {
    on_big_stack(|| {
        converse(|prompt| {
            let mut number = 0;
            while let Some(text) = ui.next(&prompt.names()) {
                let line = text.trim();
                if let Some(shown) = command(line) {
                    match shown {
                        Some(shown) => ui.show(shown),
                        None => return,
                    }
                    continue;
                }
                number += 1;
                match run(setting, prompt, &text, number) {
                    Ok(Some(value)) => ui.show(PromptOutput::Value(value)),
                    Ok(None) => {}
                    Err(failure) => ui.show(PromptOutput::Problem(failure.diagnostic)),
                }
            }
        });
    })
}

fn run(
    setting: &PromptContext,
    prompt: &script::Prompt<'_, '_>,
    text: &str,
    number: usize,
) -> Result<Option<String>, Failure> {
    let source = Source::new(format!("<line {number}>"), text);
    let limits = Limits::HANDLER;
    // Each statement sees the current state of the servers.
    let surface_key = SurfaceKey::of(setting.principal.clone(), Arc::default());
    let world = builtins::world(setting.gateway.snapshot(), Arc::clone(&setting.settings), surface_key);
    let calls = Calls {
        test_overrides: Some(Arc::new(PrintRedirect { print: setting.print })),
        ..Calls::clone(&setting.gateway.calls())
    };
    let nobody = Arc::default();
    let origin = RequestOrigin {
        method: REPL,
        id: None,
        revision: None,
        params: None,
        principal: &setting.principal,
        client: &nobody,
        source: CallSource::Control,
        session: None,
        peer: setting.uid.map(CallPeer::User),
        ambient: None,
    };
    let recorded = RecordedRequest::begin(calls.dispatcher.telemetry(), origin);
    let request = PromptRequest {
        principal: setting.principal.clone(),
        cancel: setting.interrupt.new_token().into(),
        recording: Arc::clone(recorded.recording()),
        surface: setting.gateway.watch().borrow().surface.clone(),
    };
    let context = Context::prompt(world, calls.prompt_host(request, "repl", setting.runtime.clone()), &limits);
    let outcome = prompt.run(&Program {
        source: &source,
        globals: builtins::session(),
        context: &context,
        limits: &limits,
        root: Some(&setting.root),
        embedded: presets::LIBRARY,
        paths: Paths::Full,
        collects: false,
    });
    recorded.end_as(if outcome.is_ok() { CallOutcome::Ok } else { CallOutcome::ToolError });
    outcome
}

/// Redirects `print()` to the user interface. The clock and all effects are real.
struct PrintRedirect {
    print: fn(&str),
}

impl TestOverrides for PrintRedirect {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        level.record(message, fields);
    }

    fn print(&self, text: &str) -> bool {
        (self.print)(text);
        true
    }

    fn mock(&self, _kind: &str, _request: &RawRef, _place: Option<Location>) -> Option<Result<Raw, String>> {
        None
    }
}

/// Runs a line that is a command of the prompt. `Some(None)` quits; None means that the line is not a command.
fn command(line: &str) -> Option<Option<PromptOutput>> {
    let documented = line.strip_prefix("help(").and_then(|rest| rest.strip_suffix(')'));
    let documented = documented.or_else(|| line.strip_prefix(":doc").map(str::trim));
    match (line, documented) {
        (":quit" | ":q" | ":exit" | "exit" | "quit" | "exit()" | "quit()", _) => Some(None),
        (":help" | "help" | "?" | "help()", _) => Some(Some(PromptOutput::Text(HELP.to_owned()))),
        (_, Some(name)) => Some(Some(document(name.trim_matches(['"', '\''])))),
        _ if line.starts_with(':') => {
            let unknown = Diagnostic::error(format!("unknown command `{line}`")).hint("`:help` lists the commands");
            Some(Some(PromptOutput::Problem(Box::new(unknown))))
        }
        _ => None,
    }
}

fn document(name: &str) -> PromptOutput {
    let found = reference::find(name);
    let members = || reference::entries().iter().filter(|entry| entry.name.split('.').next() == Some(name));
    if found.is_empty() && members().next().is_some() {
        let lines: Vec<String> = members().map(|entry| entry.signature.clone()).collect();
        return PromptOutput::Text(lines.join("\n"));
    }
    if found.is_empty() {
        let unknown = Diagnostic::error(format!("unknown built-in `{name}`"));
        let known = reference::entries().iter().map(|entry| entry.name.as_str());
        return PromptOutput::Problem(Box::new(match nearest(name, known) {
            Some(near) => unknown.hint(format!("did you mean `{near}`?")),
            None => unknown,
        }));
    }
    let texts: Vec<String> = found
        .iter()
        .map(|entry| format!("{}  ({})\n\n{}", entry.signature, entry.availability(), entry.text))
        .collect();
    PromptOutput::Text(texts.join("\n\n"))
}

/// The completions at the end of a line, and the offset at which the completed part starts.
pub fn completions(line: &str, gateway: &Gateway, root: &Path, names: &[String]) -> (usize, Vec<String>) {
    lsp::completions(line, gateway.snapshot(), root, names)
}
