//! What somebody with a token, or without one, can send. Each attack goes on until it is over and counts what it did.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::support::proxy::HttpProxy;

/// Between two attacks of one kind: the processors are shared with the attackers and everything else that is tested.
const PAUSE: Duration = Duration::from_millis(100);

pub async fn all(proxy: &HttpProxy, token: &str, over: &CancellationToken) -> Vec<(&'static str, usize)> {
    let attacker = || Attacker::new(&proxy.url, token, over);
    let attacks: [(&'static str, BoxFuture<'_, usize>); 9] = [
        ("patterns that take long", attacker().patterns().boxed()),
        ("schemas that explode", attacker().schemas().boxed()),
        ("sessions", attacker().sessions().boxed()),
        ("huge client infos", attacker().client_infos().boxed()),
        ("connections that say nothing", attacker().idle_connections().boxed()),
        ("clients that do not read", attacker().deaf_clients().boxed()),
        ("batches of large answers", attacker().batches().boxed()),
        ("objects of many members", attacker().large_objects().boxed()),
        ("wrong tokens", attacker().wrong_tokens().boxed()),
    ];
    let only = std::env::var("ATTACK_ONLY").unwrap_or_default();
    let attacks = attacks.into_iter().filter(|(name, _)| name.contains(&only));
    join_all(attacks.map(|(name, attack)| async move { (name, attack.await) })).await
}

struct Attacker {
    http: reqwest::Client,
    url: String,
    token: String,
    over: CancellationToken,
}

impl Attacker {
    fn new(url: &str, token: &str, over: &CancellationToken) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build();
        Self {
            http: http.expect("a client without settings"),
            url: url.to_owned(),
            token: token.to_owned(),
            over: over.clone(),
        }
    }

    /// Does this again and again until it is over; counts how often it was answered at all, or was still going on.
    async fn again<F: Future<Output = bool>>(&self, attack: impl Fn(usize) -> F) -> usize {
        let mut count = 0;
        while !self.over.is_cancelled() {
            let done = tokio::select! {
                done = attack(count) => done,
                () = self.over.cancelled() => true,
            };
            count += usize::from(done);
            tokio::time::sleep(PAUSE).await;
        }
        count
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

    /// A session to attack with. Without one, the number of attacks that this was: one if the proxy, under all the others,
    /// had not answered when it was over, and none if it refused.
    async fn session(&self, version: &str, name: &str) -> Result<String, usize> {
        loop {
            let params =
                json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
            let answer = tokio::select! {
                answer = self.request(None, message("initialize", &params)).send() => answer,
                () = self.over.cancelled() => return Err(1),
            };
            if let Ok(answer) = answer {
                let session = answer.headers().get("mcp-session-id").and_then(|session| session.to_str().ok());
                return session.map(str::to_owned).ok_or(0);
            }
        }
    }

    /// Calls a tool four times at once, in a new session.
    async fn call_at_once(&self, tool: &str, arguments: &Value) -> bool {
        let Some(session) = self.open("2025-11-25", json!({"name": "mallory", "version": "1"})).await else {
            return false;
        };
        let call =
            || self.request(Some(&session), message("tools/call", &json!({"name": tool, "arguments": arguments})));
        join_all((0..4).map(|_| call().send())).await.iter().any(Result::is_ok)
    }

    async fn patterns(self) -> usize {
        let text = "A".repeat(160_000);
        let arguments = json!({"text": text, "pattern": ".*[^A-Z]|[A-Z]", "regex": true});
        self.again(|_| self.call_at_once("search", &arguments)).await
    }

    async fn schemas(self) -> usize {
        let arguments = json!({"value": "abc"});
        self.again(|_| self.call_at_once("bomb", &arguments)).await
    }

    async fn sessions(self) -> usize {
        let open = |number| self.open("2025-11-25", json!({"name": format!("mallory {number}"), "version": "1"}));
        self.again(|number| async move { open(number).await.is_some() }).await
    }

    async fn client_infos(self) -> usize {
        let name = "m".repeat(1_000_000);
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let body = message("initialize", &params);
        self.again(|_| async { self.request(None, body.clone()).send().await.is_ok() }).await
    }

    /// Takes a thousand, and takes back those that are closed.
    async fn idle_connections(self) -> usize {
        let host = self.url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let mut held = Vec::new();
        let mut count = 0;
        while !self.over.is_cancelled() {
            match tokio::time::timeout(PAUSE, TcpStream::connect(&host)).await {
                Ok(Ok(connection)) => {
                    held.push(connection);
                    count += 1;
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
            if held.len() >= 1_000 {
                tokio::time::sleep(PAUSE).await;
                held.retain(|connection| matches!(connection.try_read(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
            }
        }
        count
    }

    /// Asks for much and reads nothing, on ten connections at a time.
    async fn deaf_clients(self) -> usize {
        let host = self.url.trim_start_matches("http://").split('/').next().unwrap_or_default().to_owned();
        let session = match self.session("2025-11-25", "deaf").await {
            Ok(session) => session,
            Err(count) => return count,
        };
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
    async fn batches(self) -> usize {
        let session = match self.session("2025-03-26", "batch").await {
            Ok(session) => session,
            Err(count) => return count,
        };
        let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "big", "arguments": {"n": 500_000}}});
        let body = Value::from((0..40).map(call).collect::<Vec<_>>()).to_string();
        self.again(|_| async { self.request(Some(&session), body.clone()).send().await.is_ok() }).await
    }

    async fn large_objects(self) -> usize {
        let members: serde_json::Map<_, _> = (0..20_000).map(|number| (format!("key{number}"), json!(1))).collect();
        let arguments = json!({"text": "a", "pattern": "a", "more": members});
        self.again(|_| self.call_at_once("search", &arguments)).await
    }

    async fn wrong_tokens(self) -> usize {
        let guess = |number| self.http.post(&self.url).bearer_auth(format!("guess-number-{number}")).body("{}").send();
        self.again(|number| async move { guess(number).await.is_ok() }).await
    }
}

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}
