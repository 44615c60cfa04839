//! A raw client on a program's pipes: it sends what the test writes and shows what comes back, byte for byte.

use std::collections::VecDeque;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::message::{self, Message};
use super::modern::{modern_meta, with_meta};
use super::patience::{LONG_PATIENCE, within};
use super::program::Program;
use super::stderr_log::StderrLog;

pub struct StdioClient {
    stdin: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    lines: UnboundedReceiver<Vec<u8>>,
    /// Messages that came while another one was awaited.
    waiting: VecDeque<Message>,
    next_id: u64,
    pub program: Program,
}

impl StdioClient {
    pub fn start(command: Command) -> Self {
        let (program, stdin, stdout) = Program::start(command);
        Self::new(program, stdin, stdout)
    }

    /// A client of a server in the test's own process.
    pub fn on_streams(program: Program, stdin: DuplexStream, stdout: DuplexStream) -> Self {
        Self::new(program, stdin, stdout)
    }

    fn new(
        program: Program,
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let (sender, lines) = unbounded_channel();
        tokio::spawn(read_lines(stdout, sender));
        Self { stdin: Some(Box::new(stdin)), lines, waiting: VecDeque::new(), next_id: 1, program }
    }

    pub fn stderr(&self) -> &StderrLog {
        &self.program.stderr
    }

    /// Writes bytes as they are; the caller ends the line.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is still open");
        let written = async {
            stdin.write_all(bytes).await?;
            stdin.flush().await
        };
        let outcome = within("room in the program's stdin", &self.program.stderr, written).await;
        if let Err(problem) = outcome {
            panic!("cannot write ({problem})\n--- stderr ---\n{}", self.program.stderr.text());
        }
    }

    pub async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    /// Sends a request and returns its id as raw text.
    pub async fn begin(&mut self, method: &str, params: &str) -> String {
        let id = self.next_id.to_string();
        self.next_id += 1;
        self.send(&message::request(&id, method, params)).await;
        id
    }

    /// Sends a request and waits for its response.
    pub async fn request(&mut self, method: &str, params: &str) -> Message {
        let id = self.begin(method, params).await;
        self.response(&id).await
    }

    /// A request with the modern `_meta`.
    pub async fn modern(&mut self, method: &str, params: &str) -> Message {
        self.request(method, &with_meta(params, &modern_meta())).await
    }

    pub async fn notify(&mut self, method: &str, params: &str) {
        self.send(&message::notification(method, params)).await;
    }

    /// The legacy handshake, without client capabilities.
    pub async fn initialize(&mut self, version: &str) -> Message {
        self.initialize_with(version, "{}").await
    }

    pub async fn initialize_with(&mut self, version: &str, capabilities: &str) -> Message {
        let answer = self.request("initialize", &message::initialize_params(version, capabilities)).await;
        self.notify("notifications/initialized", "{}").await;
        answer
    }

    /// A legacy tool call.
    pub async fn call(&mut self, tool: &str, arguments: &str) -> Message {
        self.request("tools/call", &message::call(tool, arguments)).await
    }

    /// Calls until there is an answer other than that the server is away.
    pub async fn call_until_it_works(&mut self, tool: &str, arguments: &str) -> Message {
        let deadline = Instant::now() + LONG_PATIENCE;
        loop {
            let answer = self.call(tool, arguments).await;
            if answer.value()["result"]["isError"] != true {
                return answer;
            }
            assert!(Instant::now() < deadline, "{}\n--- stderr ---\n{}", answer.raw, self.program.stderr.text());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// A modern tool call.
    pub async fn modern_call(&mut self, tool: &str, arguments: &str) -> Message {
        self.modern("tools/call", &message::call(tool, arguments)).await
    }

    /// Lists the tools until they are as wanted, again after every word of a change.
    pub async fn tools_until(&mut self, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let names = self.request("tools/list", "{}").await.tool_names();
            if wanted(&names) {
                return names;
            }
            self.expect_notification("notifications/tools/list_changed").await;
        }
    }

    /// The response with this raw id; everything else is kept.
    pub async fn response(&mut self, id: &str) -> Message {
        let what = format!("the response to id {id}");
        self.find(&what, |message| message.is_response() && message.id().as_deref() == Some(id)).await
    }

    /// The next notification, or request, of the server with this method.
    pub async fn expect_notification(&mut self, method: &str) -> Message {
        self.find(method, |message| message.method().as_deref() == Some(method)).await
    }

    /// The next message of any kind.
    pub async fn next(&mut self) -> Message {
        self.find("any message", |_| true).await
    }

    /// What came and was not asked for so far.
    pub fn unclaimed(&self) -> impl Iterator<Item = &Message> {
        self.waiting.iter()
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes stdin and waits for the program to leave.
    pub async fn finish(&mut self) -> ExitStatus {
        self.close_stdin();
        self.program.exit().await
    }

    async fn find(&mut self, what: &str, wanted: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.waiting.iter().position(&wanted) {
            return self.waiting.remove(at).expect("the position was just found");
        }
        loop {
            let line = match within(what, &self.program.stderr, self.lines.recv()).await {
                Some(line) => line,
                None => panic!("stdout ended before {what}\n--- stderr ---\n{}", self.program.stderr.text()),
            };
            let message = Message::new(String::from_utf8_lossy(&line).trim_end());
            if wanted(&message) {
                return message;
            }
            self.waiting.push_back(message);
        }
    }
}

async fn read_lines(stdout: impl AsyncRead + Unpin, lines: UnboundedSender<Vec<u8>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match stdout.read_until(b'\n', &mut line).await {
            Ok(count) if count > 0 => {
                line.pop_if(|last| *last == b'\n');
                if lines.send(line).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}
