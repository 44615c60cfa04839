//! A language server for scripts: tells what is wrong while somebody types, says what names mean, and offers the names
//! there are, also those of the servers and their tools.

mod complete;
mod definition;
mod diagnose;
mod document;
mod frame;
mod hover;
mod loadable;
mod text;
mod world;
mod worker;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use document::Document;
use frame::Incoming;
use worker::Worker;

use crate::model::Snapshot;
pub use world::Workspace;

/// How it ended: a client that left without asking for the end went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Asked,
    Unasked,
}

const PARSE_ERROR: i64 = -32700;
const UNKNOWN_METHOD: i64 = -32601;
const WRONG_PARAMS: i64 = -32602;
const NOT_INITIALIZED: i64 = -32002;
const INVALID_REQUEST: i64 = -32600;

/// Where answers and diagnostics go; both threads write whole messages.
type Output = Arc<Mutex<Box<dyn Write + Send>>>;

/// Serves until the client says `exit` or goes away.
pub fn serve(mut input: impl BufRead, output: Box<dyn Write + Send>, workspace: Workspace) -> std::io::Result<End> {
    let output: Output = Arc::new(Mutex::new(output));
    let worker = Worker::start(workspace.clone(), Arc::clone(&output))?;
    let mut server = Server { output, workspace, worker, documents: HashMap::new(), state: State::New };
    loop {
        match frame::read(&mut input)? {
            Incoming::Message(message) => {
                if let Some(end) = server.message(&message) {
                    return Ok(end);
                }
            }
            Incoming::Malformed(why) => {
                server.send(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": PARSE_ERROR, "message": why}}));
            }
            Incoming::End => return Ok(if server.state == State::ExitReason { End::Asked } else { End::Unasked }),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Ready,
    /// `shutdown` was asked for; only `exit` can follow.
    ExitReason,
}

struct Server {
    output: Output,
    workspace: Workspace,
    worker: Worker,
    documents: HashMap<String, Document>,
    state: State,
}

type Answer = Result<Value, (i64, String)>;

impl Server {
    fn message(&mut self, message: &Value) -> Option<End> {
        let method = message["method"].as_str()?;
        let params = &message["params"];
        match message.get("id") {
            Some(id) => {
                let answer = self.request(method, params);
                let member = match &answer {
                    Ok(result) => ("result", result.clone()),
                    Err((code, text)) => ("error", json!({"code": code, "message": text})),
                };
                self.send(&json!({"jsonrpc": "2.0", "id": id, member.0: member.1}));
                None
            }
            None if method == "exit" => Some(if self.state == State::ExitReason { End::Asked } else { End::Unasked }),
            None => {
                self.notification(method, params);
                None
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Answer {
        match (self.state, method) {
            (State::New, "initialize") => Ok(self.initialize(params)),
            (State::New, _) => Err((NOT_INITIALIZED, "`initialize` comes first".to_owned())),
            (State::ExitReason, _) => Err((INVALID_REQUEST, "after `shutdown` only `exit` follows".to_owned())),
            (State::Ready, "shutdown") => {
                self.state = State::ExitReason;
                Ok(Value::Null)
            }
            (State::Ready, "textDocument/completion") => {
                self.at(params, |document, offset, world| complete::complete(document, offset, world).into())
            }
            (State::Ready, "textDocument/hover") => self.at(params, hover::hover),
            (State::Ready, "textDocument/definition") => self.at(params, definition::definition),
            (State::Ready, _) => Err((UNKNOWN_METHOD, format!("`{method}` is not known here"))),
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let root = params["workspaceFolders"][0]["uri"].as_str().or_else(|| params["rootUri"].as_str());
        if let Some(folder) = root.and_then(document::path_of) {
            self.workspace.folder = folder.clone();
            self.worker.look_in(folder);
        }
        self.state = State::Ready;
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": {"openClose": true, "change": 1, "save": true},
                "completionProvider": {"triggerCharacters": [".", "\"", "'", "/"]},
                "hoverProvider": true,
                "definitionProvider": true,
            },
            "serverInfo": {"name": "proxy", "version": env!("CARGO_PKG_VERSION")},
        })
    }

    /// Answers about a place in an open file.
    fn at(&self, params: &Value, answer: impl FnOnce(&Document, usize, &world::World) -> Value) -> Answer {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let document = self.documents.get(uri).ok_or_else(|| (WRONG_PARAMS, format!("`{uri}` is not open")))?;
        if !params["position"].is_object() {
            return Err((WRONG_PARAMS, "there is no `position`".to_owned()));
        }
        Ok(answer(document, document.offset(&params["position"]), &self.worker.world()))
    }

    fn notification(&mut self, method: &str, params: &Value) {
        if self.state != State::Ready {
            return;
        }
        let named = &params["textDocument"];
        let Some(uri) = named["uri"].as_str().map(str::to_owned) else { return };
        match method {
            "textDocument/didOpen" => self.opened(uri, named["version"].as_i64(), named["text"].as_str()),
            "textDocument/didChange" => {
                // The whole text is sent each time; the last one counts.
                let changes = params["contentChanges"].as_array();
                let text = changes.and_then(|changes| changes.last()?["text"].as_str());
                self.opened(uri, named["version"].as_i64(), text);
            }
            "textDocument/didSave" => {
                self.worker.look_again();
                for document in self.documents.values() {
                    self.worker.check(document.clone());
                }
            }
            "textDocument/didClose" => {
                self.documents.remove(&uri);
                self.worker.forget(&uri);
                worker::publish(&self.output, &uri, None, &[]);
            }
            _ => {}
        }
    }

    fn opened(&mut self, uri: String, version: Option<i64>, text: Option<&str>) {
        let Some(text) = text else { return };
        let document = Document { uri: uri.clone(), version, text: text.into() };
        self.documents.insert(uri, document.clone());
        self.worker.check(document);
    }

    fn send(&self, message: &Value) {
        send(&self.output, message);
    }
}

/// The names that could be meant at the end of a line, and where the typed part begins.
pub fn completions(line: &str, snapshot: Arc<Snapshot>, root: &Path, names: &[String]) -> (usize, Vec<String>) {
    let world = world::World { config: None, snapshot: Some(snapshot) };
    // As if it were a line of a file there.
    let uri = document::uri_of(&root.join("prompt.star"));
    let document = Document { uri, version: None, text: line.into() };
    let items = complete::complete(&document, line.len(), &world);
    let typed = match text::open_string(line) {
        Some(start) => start,
        None => line.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |at| at + 1),
    };
    let labels = items.iter().filter_map(|item| item["label"].as_str().map(str::to_owned));
    let own = names.iter().filter(|name| name.starts_with(&line[typed..]) && !line[..typed].ends_with('.')).cloned();
    let mut found: Vec<String> =
        if text::open_string(line).is_some() { labels.collect() } else { own.chain(labels).collect() };
    found.sort();
    found.dedup();
    (typed, found)
}

/// A client that does not read any more has gone, which its input tells soon.
fn send(output: &Output, message: &Value) {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = frame::write(&mut *output, message);
}
