//! A thousand handlers that wait for a slow server at once: how long all of them take, and what calls that wait for
//! nobody notice of it.

use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use crate::stdio;

/// How long the slow server takes for a call.
pub const DELAY: Duration = Duration::from_millis(50);
pub const SCRIPT: &str = r#"
def logged(call):
    def handler(args):
        return call(args)
    return handler

meta, call = backends()["slow"].tools()[0]
publish(meta.replace(name = "waiting"), logged(call))
meta, call = backends()["quick"].tools()[0]
publish(meta.replace(name = "direct"), call)
"#;

const HANDLERS: usize = 1000;
const ROUNDS: usize = 20;

pub struct Measured {
    /// Until all handlers of a round have answered; half of the rounds took no longer.
    pub all: Duration,
    /// Of a hundred direct calls meanwhile, ninety-nine took no longer.
    pub direct: Duration,
}

pub async fn measure(program: &[String]) -> Measured {
    let mut child = stdio::start(program);
    let mut client = Client {
        input: child.stdin.take().unwrap(),
        output: BufReader::with_capacity(65536, child.stdout.take().unwrap()),
        next: 1,
    };
    client.shake_hands().await;
    // The first round makes the threads and connections that the others find.
    client.round(&mut Vec::new()).await;
    let (mut rounds, mut direct) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        rounds.push(client.round(&mut direct).await);
    }
    rounds.sort();
    direct.sort();
    Measured { all: rounds[rounds.len() / 2], direct: direct[direct.len() * 99 / 100] }
}

struct Client {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: usize,
}

impl Client {
    async fn shake_hands(&mut self) {
        let hello = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"b\",\"version\":\"1\"}}}\n";
        self.input.write_all(hello.as_bytes()).await.unwrap();
        self.output.read_line(&mut String::new()).await.unwrap();
    }

    fn call(&mut self, tool: &str) -> (usize, String) {
        let id = self.next;
        self.next += 1;
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{{}}}}}}\n"
        );
        (id, call)
    }

    /// All handlers at once, and one direct call after the other until they have answered.
    async fn round(&mut self, direct: &mut Vec<Duration>) -> Duration {
        let started = Instant::now();
        let calls: String = (0..HANDLERS).map(|_| self.call("waiting").1).collect();
        let (mut id, call) = self.call("direct");
        self.input.write_all((calls + &call).as_bytes()).await.unwrap();
        let (mut sent, mut open, mut line) = (Instant::now(), HANDLERS, String::new());
        let mut took = None;
        loop {
            line.clear();
            self.output.read_line(&mut line).await.unwrap();
            assert!(line.contains("the answer"), "{line}");
            if !line.contains(&format!("\"id\":{id},")) {
                open -= 1;
                took = took.or((open == 0).then(|| started.elapsed()));
                continue;
            }
            direct.push(sent.elapsed());
            if let Some(took) = took {
                return took;
            }
            let call;
            (id, call) = self.call("direct");
            sent = Instant::now();
            self.input.write_all(call.as_bytes()).await.unwrap();
        }
    }
}
