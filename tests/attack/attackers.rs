//! What somebody with a token, or without one, can send. Each attack goes on until it is over and counts what it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::support::proxy::HttpProxy;

/// Between two attacks of one kind: the processors are shared with the attackers and everything else that is tested.
const PAUSE: Duration = Duration::from_millis(100);

/// How often each attack has been carried out.
#[derive(Debug, Default)]
pub struct AttackCounts(Vec<(&'static str, Arc<AtomicUsize>)>);

impl AttackCounts {
    /// The attacks that have not been carried out.
    pub fn missing(&self) -> Vec<&'static str> {
        self.0.iter().filter(|(_, count)| count.load(Relaxed) == 0).map(|(name, _)| *name).collect()
    }
}

/// All attacks at once, until it is over.
pub fn all(proxy: &HttpProxy, token: &str, over: &CancellationToken) -> (AttackCounts, BoxFuture<'static, ()>) {
    type Attack = fn(Attacker) -> BoxFuture<'static, ()>;
    let attacks: [(&'static str, Attack); 9] = [
        ("patterns that take long", |attacker| attacker.patterns().boxed()),
        ("schemas that explode", |attacker| attacker.schemas().boxed()),
        ("sessions", |attacker| attacker.sessions().boxed()),
        ("huge client infos", |attacker| attacker.client_infos().boxed()),
        ("connections that say nothing", |attacker| attacker.idle_connections().boxed()),
        ("clients that do not read", |attacker| attacker.deaf_clients().boxed()),
        ("batches of large answers", |attacker| attacker.batches().boxed()),
        ("objects of many members", |attacker| attacker.large_objects().boxed()),
        ("wrong tokens", |attacker| attacker.wrong_tokens().boxed()),
    ];
    let only = std::env::var("ATTACK_ONLY").unwrap_or_default();
    let (mut counts, mut running) = (AttackCounts::default(), Vec::new());
    for (name, attack) in attacks.into_iter().filter(|(name, _)| name.contains(&only)) {
        let attacker = Attacker::new(&proxy.url, token, over);
        counts.0.push((name, Arc::clone(&attacker.count)));
        running.push(attack(attacker));
    }
    (counts, join_all(running).map(drop).boxed())
}

struct Attacker {
    count: Arc<AtomicUsize>,
    http: reqwest::Client,
    url: String,
    token: String,
    over: CancellationToken,
}

impl Attacker {
    fn new(url: &str, token: &str, over: &CancellationToken) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build();
        Self {
            count: Arc::default(),
            http: http.expect("a client without settings"),
            url: url.to_owned(),
            token: token.to_owned(),
            over: over.clone(),
        }
    }

    /// Does this again and again until it is over; counts how often it was answered at all.
    async fn again<F: Future<Output = bool>>(&self, attack: impl Fn(usize) -> F) {
        let mut number = 0;
        while !self.over.is_cancelled() {
            let done = tokio::select! {
                done = attack(number) => done,
                () = self.over.cancelled() => false,
            };
            number += 1;
            self.count.fetch_add(usize::from(done), Relaxed);
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn request(&self, session: Option<&str>, body: String) -> reqwest::RequestBuilder {
        let request = self
            .http
            .post(&self.url)
            .bearer_auth(&self.token)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body);
        match session {
            Some(session) => request.header("Mcp-Session-Id", session),
            None => request,
        }
    }

    async fn open(&self, version: &str, client_info: Value) -> Option<String> {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client_info});
        let answer = self.request(None, message("initialize", &params)).send().await.ok()?;
        answer.headers().get("mcp-session-id")?.to_str().ok().map(str::to_owned)
    }

    /// A session to attack with; `None` if it is over before there is one.
    async fn session(&self, version: &str, name: &str) -> Option<String> {
        loop {
            let session = tokio::select! {
                session = self.open(version, json!({"name": name, "version": "1"})) => session,
                () = self.over.cancelled() => return None,
            };
            if session.is_some() {
                return session;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Calls a tool four times at once, in a new session.
    async fn call_at_once(&self, tool: &str, arguments: &Value) -> bool {
        let Some(session) = self.open("2025-11-25", json!({"name": "mallory", "version": "1"})).await else {
            return false;
        };
        let call =
            || self.request(Some(&session), message("tools/call", &json!({"name": tool, "arguments": arguments})));
        join_all((0..4).map(|_| call().send())).await.iter().any(was_sent)
    }

    async fn patterns(self) {
        let text = "A".repeat(160_000);
        let arguments = json!({"text": text, "pattern": ".*[^A-Z]|[A-Z]", "regex": true});
        self.again(|_| self.call_at_once("search", &arguments)).await
    }

    async fn schemas(self) {
        let arguments = json!({"value": "abc"});
        self.again(|_| self.call_at_once("bomb", &arguments)).await
    }

    async fn sessions(self) {
        let open = |number| self.open("2025-11-25", json!({"name": format!("mallory {number}"), "version": "1"}));
        self.again(|number| async move { open(number).await.is_some() }).await
    }

    async fn client_infos(self) {
        let name = "m".repeat(1_000_000);
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let body = message("initialize", &params);
        self.again(|_| async { was_sent(&self.request(None, body.clone()).send().await) }).await
    }

    /// Takes a thousand, and takes back those that are closed.
    async fn idle_connections(self) {
        let host = self.url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let mut held = Vec::new();
        while !self.over.is_cancelled() {
            match tokio::time::timeout(PAUSE, TcpStream::connect(&host)).await {
                Ok(Ok(connection)) => {
                    held.push(connection);
                    self.count.fetch_add(1, Relaxed);
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
            if held.len() >= 1_000 {
                tokio::time::sleep(PAUSE).await;
                held.retain(|connection| matches!(connection.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
            }
        }
    }

    /// Asks for much and reads nothing, on ten connections at a time.
    async fn deaf_clients(self) {
        let host = self.url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let Some(session) = self.session("2025-11-25", "deaf").await else { return };
        let arguments = json!({"n": 100, "mark": "x".repeat(200_000)});
        let params = json!({"name": "flood", "arguments": arguments, "_meta": {"progressToken": 1}});
        let body = message("tools/call", &params);
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nMcp-Session-Id: {session}\r\nContent-Type: \
             application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        let bytes = head + &body;
        let ask = || async {
            let mut connection = TcpStream::connect(&host).await.ok()?;
            connection.write_all(bytes.as_bytes()).await.ok()?;
            Some(connection)
        };
        self.again(|_| async {
            let connections = join_all((0..10).map(|_| ask())).await;
            tokio::time::sleep(Duration::from_secs(4)).await;
            connections.iter().any(Option::is_some)
        })
        .await
    }

    /// Only the revision of 2025-03-26 has batches.
    async fn batches(self) {
        let Some(session) = self.session("2025-03-26", "batch").await else { return };
        let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "big", "arguments": {"n": 500_000}}});
        let body = Value::from((0..40).map(call).collect::<Vec<_>>()).to_string();
        self.again(|_| async { was_sent(&self.request(Some(&session), body.clone()).send().await) }).await
    }

    async fn large_objects(self) {
        let members: serde_json::Map<_, _> = (0..20_000).map(|number| (format!("key{number}"), json!(1))).collect();
        let arguments = json!({"text": "a", "pattern": "a", "more": members});
        self.again(|_| self.call_at_once("search", &arguments)).await
    }

    async fn wrong_tokens(self) {
        let guess = |number| self.http.post(&self.url).bearer_auth(format!("guess-number-{number}")).body("{}").send();
        self.again(|number| async move { was_sent(&guess(number).await) }).await
    }
}

/// Whether the proxy has the request, whether or not it answered in time.
fn was_sent(outcome: &reqwest::Result<reqwest::Response>) -> bool {
    outcome.as_ref().map_or_else(reqwest::Error::is_timeout, |_| true)
}

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}
