//! A prompt with the servers live: lines are tried before they go into a script.

mod pieces;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use pieces::Pieces;

use crate::author::lsp;
use crate::author::reference;
use crate::builtins::{self, Settings, presets};
use crate::calls::{Calls, TestOverrides};
use crate::diagnostic::{Diagnostic, nearest};
use crate::gateway::Gateway;
use crate::json::{Raw, RawRef};
use crate::model::{Principal, SurfaceKey};
use crate::script::{self, Context, Failure, Limits, LogLevel, Paths, Program, Source, converse, on_big_stack};

/// What a prompt needs.
pub struct Setting {
    pub gateway: Arc<Gateway>,
    pub settings: Arc<Settings>,
    /// Where `load("//...")` begins.
    pub root: PathBuf,
    pub principal: Principal,
    /// Ends the line that is running.
    pub interrupt: Interrupt,
    /// Shows what a line prints.
    pub print: fn(&str),
    pub runtime: tokio::runtime::Handle,
}

/// Stops what runs now, and nothing that comes later.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Mutex<CancellationToken>>);

impl Interrupt {
    pub fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    fn fresh(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }
}

/// What comes of a line.
#[derive(Debug)]
pub enum Shown {
    Value(String),
    Text(String),
    Problem(Box<Diagnostic>),
}

/// Whoever types, and reads the answers.
pub trait Person {
    /// What comes next, as one statement; none at the end. `names` are those that lines have made.
    fn next(&mut self, names: &[String]) -> Option<String>;

    fn show(&mut self, shown: Shown);
}

const HELP: &str = "\
a line of Starlark runs at once; its value is shown, its names stay
:doc NAME    what a built-in does, also help(NAME)
:help        this
:quit        ends, as does Ctrl-D; Ctrl-C ends a running line";

/// Talks until the person ends it. Blocking: call it off the async threads.
pub fn talk(setting: &Setting, person: &mut (impl Person + Send)) -> Result<(), Failure> {
    on_big_stack(|| {
        converse(|prompt| {
            let mut number = 0;
            while let Some(text) = person.next(&prompt.names()) {
                let line = text.trim();
                if let Some(shown) = command(line) {
                    match shown {
                        Some(shown) => person.show(shown),
                        None => return,
                    }
                    continue;
                }
                number += 1;
                match run(setting, prompt, &text, number) {
                    Ok(Some(value)) => person.show(Shown::Value(value)),
                    Ok(None) => {}
                    Err(failure) => person.show(Shown::Problem(failure.diagnostic)),
                }
            }
        });
    })
}

fn run(
    setting: &Setting,
    prompt: &script::Prompt<'_, '_>,
    text: &str,
    number: usize,
) -> Result<Option<String>, Failure> {
    let source = Source::new(format!("<line {number}>"), text);
    let limits = Limits::HANDLER;
    // Each line sees the servers as they are when it begins.
    let visitor = SurfaceKey { principal: setting.principal.clone(), client: Arc::default() };
    let world = builtins::world(setting.gateway.snapshot(), Arc::clone(&setting.settings), visitor);
    let calls = Calls {
        test_overrides: Some(Arc::new(AtPrompt { print: setting.print })),
        ..Calls::clone(&setting.gateway.calls())
    };
    let host = calls.host(setting.principal.clone(), setting.interrupt.fresh(), "repl", setting.runtime.clone());
    let context = Context::prompt(world, host, &limits);
    prompt.run(&Program {
        source: &source,
        globals: builtins::session(),
        context: &context,
        limits: &limits,
        root: Some(&setting.root),
        embedded: presets::LIBRARY,
        paths: Paths::Full,
        collects: false,
    })
}

/// This machine's own, but for what lines print: that is for the person who typed them.
struct AtPrompt {
    print: fn(&str),
}

impl TestOverrides for AtPrompt {
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

    fn stands_in(&self, _kind: &str, _request: &RawRef) -> Option<Result<Raw, String>> {
        None
    }
}

/// What is said to the prompt itself: something to show, or the wish to end.
fn command(line: &str) -> Option<Option<Shown>> {
    let asked = line.strip_prefix("help(").and_then(|rest| rest.strip_suffix(')'));
    let asked = asked.or_else(|| line.strip_prefix(":doc").map(str::trim));
    match (line, asked) {
        (":quit" | ":q" | ":exit" | "exit" | "quit" | "exit()" | "quit()", _) => Some(None),
        (":help" | "help" | "?" | "help()", _) => Some(Some(Shown::Text(HELP.to_owned()))),
        (_, Some(name)) => Some(Some(document(name.trim_matches(['"', '\''])))),
        _ if line.starts_with(':') => {
            let unknown =
                Diagnostic::error(format!("the prompt does not know `{line}`")).hint("`:help` lists what it knows");
            Some(Some(Shown::Problem(Box::new(unknown))))
        }
        _ => None,
    }
}

fn document(name: &str) -> Shown {
    let found = reference::find(name);
    let members = || reference::entries().iter().filter(|entry| entry.name.split('.').next() == Some(name));
    if found.is_empty() && members().next().is_some() {
        let lines: Vec<String> = members().map(|entry| entry.signature.clone()).collect();
        return Shown::Text(lines.join("\n"));
    }
    if found.is_empty() {
        let unknown = Diagnostic::error(format!("there is no built-in `{name}`"));
        let known = reference::entries().iter().map(|entry| entry.name.as_str());
        return Shown::Problem(Box::new(match nearest(name, known) {
            Some(near) => unknown.hint(format!("did you mean `{near}`?")),
            None => unknown,
        }));
    }
    let texts: Vec<String> = found
        .iter()
        .map(|entry| format!("{}  ({})\n\n{}", entry.signature, entry.availability(), entry.text))
        .collect();
    Shown::Text(texts.join("\n\n"))
}

/// The names that could be meant at the end of what is typed, and where the typed part begins.
pub fn completions(line: &str, gateway: &Gateway, root: &Path, names: &[String]) -> (usize, Vec<String>) {
    lsp::completions(line, gateway.snapshot(), root, names)
}
