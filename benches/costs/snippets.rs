//! Scripts that models wrote: how long one takes, and what many of them, or hostile ones, cost a client that runs none.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::client::{Client, call};

/// Long enough for some thousand calls.
const LOOK: Duration = Duration::from_secs(6);
/// Between a bomb and the next of its kind.
const PAUSE: Duration = Duration::from_millis(50);
const SNIPPET: &str = "return echo(text = 'some argument')";

/// Each ends at a limit; none may be felt by anybody else.
fn bombs() -> Vec<String> {
    let plain = [
        "return 'a' * 2000000000",
        "s = 'ab'\nfor i in range(60):\n    s = s + s",
        "s = [1]\nfor i in range(60):\n    s = s + s",
        "return max(range(2000000000))",
        "x = 7\nfor i in range(60):\n    x = x * x",
        "s = 'a' * 100000\nreturn s.replace('a', s)",
        "s = 'a' * 1000000\nreturn s.join([s for i in range(1000)])",
        "d = {}\nfor i in range(900000):\n    d[str(i) * 20] = i",
        "x = []\nfor i in range(900000):\n    x = [x]\nreturn str(x)",
        "def f(n):\n    return f(n + 1)\nreturn f(0)",
        "for i in range(1000000):\n    print('x')",
    ];
    let deep = [
        format!("return {}{}", "[".repeat(1_000_000), "]".repeat(1_000_000)),
        format!("return {}{}", "[".repeat(30_000), "]".repeat(30_000)),
        format!("return {}", vec!["1"; 100_000].join("+")),
        format!("return {}", vec!["1"; 30_000].join("+")),
    ];
    plain.into_iter().map(str::to_owned).chain(deep).collect()
}

/// The proxy at an address, and somebody who calls a tool there.
pub struct Snippets<'a> {
    address: &'a str,
    client: Client,
}

impl<'a> Snippets<'a> {
    pub async fn at(address: &'a str) -> Self {
        let mut client = Client::connect(address).await;
        client.open_session().await;
        Snippets { address, client }
    }

    /// Milliseconds for a script that calls one tool, shortest first; one after the other, with a pause between them.
    pub async fn alone(&mut self, count: usize, pause: Duration) -> Vec<f64> {
        let mut times = Vec::new();
        let snippet = script(SNIPPET);
        for _ in 0..count {
            tokio::time::sleep(pause).await;
            let started = Instant::now();
            run(&mut self.client, &snippet, "the answer").await;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        times
    }

    /// Milliseconds until so many scripts of one session, started at once, have all ended; the middle one of some rounds.
    pub async fn at_once(&mut self, count: usize) -> f64 {
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push((self.client.another().await, script(SNIPPET)));
        }
        let mut times = Vec::new();
        for _ in 0..21 {
            // What was started for the next script is there by then.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let started = Instant::now();
            futures::future::join_all(clients.iter_mut().map(|(client, call)| run(client, call, "the answer"))).await;
            times.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    /// The latency that one call in a hundred of a tool exceeds, in milliseconds.
    pub async fn latency(&mut self) -> f64 {
        let latencies = self.client.latencies(LOOK).await;
        latencies[latencies.len() * 99 / 100]
    }

    /// The same while so many others run scripts all the time; and how many of these end in a second.
    pub async fn beside_many(&mut self, others: usize) -> (f64, f64) {
        let mut running = JoinSet::new();
        let (count, mut counted) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..others {
            let (address, count) = (self.address.to_owned(), count.clone());
            running.spawn(async move {
                let mut client = Client::connect(&address).await;
                client.open_session().await;
                let snippet = script(SNIPPET);
                loop {
                    run(&mut client, &snippet, "the answer").await;
                    count.send(()).unwrap();
                }
            });
        }
        let latency = self.latency().await;
        running.shutdown().await;
        let mut ended = 0;
        while counted.try_recv().is_ok() {
            ended += 1;
        }
        (latency, f64::from(ended) / LOOK.as_secs_f64())
    }

    /// The same while one other session runs all bombs at once, again and again.
    pub async fn beside_bombs(&mut self) -> f64 {
        let mut client = Client::connect(self.address).await;
        client.open_session().await;
        let mut running = JoinSet::new();
        for bomb in bombs() {
            let (mut client, bomb) = (client.another().await, script(&bomb));
            running.spawn(async move {
                loop {
                    run(&mut client, &bomb, "\"isError\":true").await;
                    // Some are refused at once; a flood of requests is not what is measured here.
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
        let latency = self.latency().await;
        running.shutdown().await;
        latency
    }
}

/// The call that runs a script, made once: who sends it again and again must not be what is slow.
fn script(text: &str) -> String {
    call("execute_tool_script", &json!({ "script": text }))
}

async fn run(client: &mut Client, call: &str, expected: &str) {
    let reply = client.post(call).await;
    assert!(reply.contains(expected), "{}: {}", call.chars().take(200).collect::<String>(), reply);
}
