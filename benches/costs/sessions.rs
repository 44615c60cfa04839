//! Sessions: those that nobody uses, and what the id of one costs a request.

use crate::client::Client;
use crate::cpu;

const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

/// Opens so many at the proxy that listens there, looks around once in each, and leaves them. Returns what they are known by.
pub async fn open(address: &str, count: usize) -> Vec<String> {
    let mut client = Client::connect(address).await;
    let mut sessions = Vec::new();
    for _ in 0..count {
        client.open_session().await;
        sessions.push(client.session().to_owned());
    }
    sessions
}

/// The CPU microseconds per request that a proxy spends on sessions that another one opened.
pub struct Costs {
    /// On the first request of each.
    pub first: f64,
    /// On the next request of each.
    pub next: f64,
    /// On as many requests of one of them.
    pub same: f64,
}

/// A proxy that has the keys with which the ids of these sessions are sealed, and does not know them yet.
pub async fn costs(address: &str, pid: u32, sessions: &[String]) -> Costs {
    let mut client = Client::connect(address).await;
    let first = ping(&mut client, pid, sessions).await;
    let next = ping(&mut client, pid, sessions).await;
    let same = ping(&mut client, pid, &vec![sessions[0].clone(); sessions.len()]).await;
    Costs { first, next, same }
}

async fn ping(client: &mut Client, pid: u32, sessions: &[String]) -> f64 {
    let before = cpu::seconds(pid);
    for session in sessions {
        client.join(session);
        let reply = client.post(PING).await;
        assert!(reply.contains("\"result\""), "{reply}");
    }
    (cpu::seconds(pid) - before) * 1e6 / sessions.len() as f64
}
