//! A client as others are: one request at a time on each connection, each with a session of its own if it has one.

use std::time::Instant;

use crate::client::{Client, call};

/// What the client and the server speak.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Stateless,
    Session,
}

impl Era {
    pub fn name(self) -> &'static str {
        match self {
            Era::Stateless => "stateless",
            Era::Session => "session",
        }
    }

    async fn connect(self, address: &str) -> Client {
        let mut client = Client::connect(address).await;
        match self {
            Era::Stateless => client.be_stateless(),
            Era::Session => client.open_session().await,
        }
        client
    }

    fn call(self) -> String {
        let arguments = serde_json::json!({"text": "some argument", "number": 42});
        match self {
            Era::Session => call("echo", &arguments),
            Era::Stateless => {
                let meta = serde_json::json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                let params = serde_json::json!({"name": "echo", "arguments": arguments, "_meta": meta});
                serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
            }
        }
    }
}

/// In microseconds; half of the calls took no longer.
pub async fn latency(address: &str, era: Era, calls: usize) -> f64 {
    let mut client = era.connect(address).await;
    let mut latencies = Vec::with_capacity(calls);
    for _ in 0..calls {
        let (message, started) = (era.call(), Instant::now());
        let reply = client.post(&message).await;
        latencies.push(started.elapsed().as_secs_f64() * 1e6);
        assert!(reply.contains("the answer"), "{reply}");
    }
    latencies.sort_by(f64::total_cmp);
    latencies[calls / 2]
}

pub async fn drive(address: &str, era: Era, connections: usize, calls: usize) {
    let tasks = (0..connections).map(|_| {
        let address = address.to_owned();
        tokio::spawn(async move {
            let mut client = era.connect(&address).await;
            for _ in 0..calls / connections {
                let reply = client.post(&era.call()).await;
                assert!(reply.contains("the answer"), "{reply}");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}
