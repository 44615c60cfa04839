//! A client of `proxy lsp`: whole messages with their headers.

use std::process::{Command, ExitStatus};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};

use super::patience::{LONG_PATIENCE, within};
use super::program::Program;

pub struct LspClient {
    program: Program,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// Notifications that came before the answer somebody waited for.
    told: Vec<Value>,
    next_id: i64,
}

impl LspClient {
    pub fn start(command: Command) -> Self {
        let (mut program, stdin, stdout) = Program::start(command);
        program.stderr.patience = LONG_PATIENCE;
        Self { program, stdin: Some(stdin), stdout, told: Vec::new(), next_id: 0 }
    }

    pub async fn initialize(&mut self, root: &str) -> Value {
        let answer = self.request("initialize", json!({"processId": null, "rootUri": root, "capabilities": {}})).await;
        self.notify("initialized", json!({})).await;
        answer
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).await.expect("the server reads");
        stdin.flush().await.expect("the server reads");
    }

    async fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes()).await;
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// The answer to a request: `result` or `error`.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.read().await;
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }

    pub async fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "starlark", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document})).await;
    }

    pub async fn change(&mut self, uri: &str, version: i64, text: &str) {
        let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]});
        self.notify("textDocument/didChange", params).await;
    }

    /// A request about a place: the line and the character behind `before`, which must be in the text once.
    pub async fn at(&mut self, method: &str, uri: &str, text: &str, before: &str) -> Value {
        let offset = text.find(before).expect("the text has it") + before.len();
        let line = text[..offset].matches('\n').count();
        let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let character = text[start..offset].encode_utf16().count();
        let params = json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": character}});
        self.request(method, params).await["result"].clone()
    }

    /// What was found in a version of a file.
    pub async fn diagnostics(&mut self, version: i64) -> Vec<Value> {
        let fits = |message: &Value| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["version"] == version
        };
        let message = match self.told.iter().position(fits) {
            Some(place) => self.told.remove(place),
            None => loop {
                let message = self.read().await;
                if fits(&message) {
                    break message;
                }
            },
        };
        message["params"]["diagnostics"].as_array().expect("it is a list").clone()
    }

    pub async fn read(&mut self) -> Value {
        let log = self.program.stderr.clone();
        let stdout = &mut self.stdout;
        let message = async {
            let mut header = Vec::new();
            while !header.ends_with(b"\r\n\r\n") {
                header.push(stdout.read_u8().await.expect("the server answers"));
            }
            let header = String::from_utf8(header).expect("headers are text");
            let length = header.trim().strip_prefix("Content-Length: ").and_then(|length| length.parse().ok());
            let mut body = vec![0; length.expect("the length is a number")];
            stdout.read_exact(&mut body).await.expect("the body is as long as the header says");
            serde_json::from_slice(&body).expect("it is JSON")
        };
        within("a message of the language server", &log, message).await
    }

    pub async fn exit(mut self) -> ExitStatus {
        self.notify("exit", Value::Null).await;
        self.end().await
    }

    /// Closes the connection without a word.
    pub async fn end(mut self) -> ExitStatus {
        self.stdin = None;
        self.program.exit().await
    }
}
