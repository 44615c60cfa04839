//! Tests of log-ins: a supervised server with and without a log-in. The test controls both the log-in and the server.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, ready};
use http::HeaderValue;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use super::{
    Audience, Backend, BackendCall, Cache, CallError, CredentialsSource, Environment, Handle, StartPolicy, StartSlots,
    start,
};
use proxy_config::{AuthConfig, CircuitBreaker, OAuthConfig, PersonalAccounts, ServerConfig, TransportConfig};
use proxy_model::{AuthorizationRefusal, BackendView, Credentials, LoginNeeded, Remedy, Status};
use proxy_wire::http::HttpPool;

/// More than anything takes here.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longer than the first delays of a reconnect.
const WHILE: Duration = Duration::from_millis(1600);

#[derive(Debug)]
struct FakeLogIn {
    token: watch::Sender<Option<&'static str>>,
    /// What helps after a refusal; `None` for a log-in.
    remedy: Mutex<Option<Remedy>>,
}

impl Credentials for FakeLogIn {
    fn ready(&self) -> Poll<Option<HeaderValue>> {
        Poll::Ready(self.token.borrow().map(HeaderValue::from_static))
    }

    fn authorization(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, LoginNeeded>> {
        let token = *self.token.borrow();
        ready(Ok(token.map(HeaderValue::from_static))).boxed()
    }

    fn refused(&self, _: AuthorizationRefusal) -> BoxFuture<'_, Remedy> {
        let log_in = || Remedy::LogIn(LoginNeeded("run `proxy login s`".to_owned()));
        ready(self.remedy.lock().clone().unwrap_or_else(log_in)).boxed()
    }

    fn look_out(&self) {}

    fn changed(&self) -> BoxFuture<'_, ()> {
        let mut token = self.token.subscribe();
        async move { drop(token.changed().await) }.boxed()
    }
}

/// What the server lets in, and how often it was asked.
#[derive(Debug)]
struct Door {
    lets_in: &'static str,
    requests: usize,
    /// The headers of the handshakes.
    handshakes: Vec<String>,
    /// Whether handshakes are answered now.
    greets: watch::Sender<bool>,
}

struct GuardedServer {
    handle: Handle,
    log_in: Arc<FakeLogIn>,
    door: Arc<Mutex<Door>>,
    changes: Arc<Notify>,
}

impl GuardedServer {
    async fn new(token: Option<&'static str>) -> Self {
        Self::of(token, |_, _| ()).await
    }

    /// After a change of the server's config, and of the server.
    async fn of(token: Option<&'static str>, change: impl FnOnce(&mut ServerConfig, &mut Door)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let mut server = ServerConfig::new(TransportConfig::Http { url, headers: Default::default(), sse: false });
        server.circuit_breaker = CircuitBreaker { failures: 1, cooldown: Duration::from_secs(3600) };
        let greets = watch::Sender::new(true);
        let mut door = Door { lets_in: "Bearer good", requests: 0, handshakes: Vec::new(), greets };
        change(&mut server, &mut door);
        let door = Arc::new(Mutex::new(door));
        tokio::spawn(serve(listener, Arc::clone(&door)));
        let log_in = Arc::new(FakeLogIn { token: watch::Sender::new(token), remedy: Mutex::default() });
        let (changes, shown) = (Arc::new(Notify::new()), Arc::clone(&log_in));
        let environment = Environment {
            person_changes: Arc::default(),
            pool: HttpPool::default(),
            credentials: CredentialsSource::new(move |_, _| Some(Arc::clone(&shown) as Arc<dyn Credentials>)),
            cache: Cache::at(None),
            descriptions: Default::default(),
            executable: std::env::current_exe().unwrap(),
            variables: Vec::new(),
            start_slots: StartSlots::of_this_machine(),
            comparing: Arc::default(),
            lists_answered: Default::default(),
            changes: Arc::clone(&changes),
            audience: Audience::new(false),
            start: StartPolicy::All,
            holders: Default::default(),
            lock: Default::default(),
            attribution: Default::default(),
            question_gate: Default::default(),
        };
        GuardedServer { handle: start("s", &server, &environment), log_in, door, changes }
    }

    /// Waits for a status.
    async fn becomes(&self, status: Status) -> Arc<BackendView> {
        let reached = async {
            loop {
                let view = self.handle.view();
                if view.status == status {
                    return view;
                }
                self.changes.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, reached).await.unwrap_or_else(|_| panic!("{:?}", self.handle.view()))
    }

    async fn call(&self) -> Result<String, CallError> {
        let params = proxy_json::raw(&json!({"name": "t"}));
        let call = BackendCall { timeout: Some(PATIENCE), ..BackendCall::new("tools/call", params) };
        self.handle.call(call).await.map(|answer| answer.result.get().to_owned())
    }

    fn requests(&self) -> usize {
        self.door.lock().requests
    }

    /// The headers of a handshake, once it has begun.
    async fn handshake(&self, number: usize) -> String {
        let begun = async {
            loop {
                if let Some(head) = self.door.lock().handshakes.get(number) {
                    return head.clone();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, begun).await.unwrap_or_else(|_| panic!("{:?}", self.door.lock()))
    }
}

async fn serve(listener: TcpListener, door: Arc<Mutex<Door>>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(converse(stream, Arc::clone(&door)));
    }
}

/// Answers the requests of one connection.
async fn converse(mut stream: TcpStream, door: Arc<Mutex<Door>>) {
    let mut received = Vec::new();
    loop {
        let (head, body) = match split(&received) {
            Some((head, body, end)) => {
                received.drain(..end);
                (head, body)
            }
            None => match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) => continue,
            },
        };
        let is_let_in = {
            let mut door = door.lock();
            door.requests += 1;
            head.contains(door.lets_in)
        };
        if body.contains(r#""initialize""#) {
            let mut greets = {
                let mut door = door.lock();
                door.handshakes.push(head.clone());
                door.greets.subscribe()
            };
            if greets.wait_for(|greets| *greets).await.is_err() {
                return;
            }
        }
        let (status, body) = if is_let_in { answer(&body) } else { ("401 Unauthorized", String::new()) };
        let response = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nwww-authenticate: Bearer\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The head and the body of the first request, and where it ends.
fn split(received: &[u8]) -> Option<(String, String, usize)> {
    let text = String::from_utf8_lossy(received);
    let body = text.find("\r\n\r\n")? + 4;
    let head = &text[..body];
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let end = body + length.unwrap_or(0);
    (text.len() >= end).then(|| (head.to_owned(), text[body..end].to_owned(), end))
}

fn answer(body: &str) -> (&'static str, String) {
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}),
        Some("tools/list") => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        Some("tools/call") => json!({"content": []}),
        Some(_) => return ("202 Accepted", String::new()),
        None => return ("405 Method Not Allowed", String::new()),
    };
    ("200 OK", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
}

#[tokio::test]
async fn a_server_without_a_log_in_is_left_alone_until_there_is_one() {
    let world = GuardedServer::new(None).await;
    let view = world.becomes(Status::Login).await;
    assert_eq!(view.error, "run `proxy login s`");
    let requests = world.requests();
    assert!(requests <= 2, "{requests}");
    for _ in 0..3 {
        // The error of a call that waits is another one.
        let error = world.call().await.unwrap_err();
        assert!(matches!(error, CallError::LoginNeeded { .. }), "{error:?}: neither a failure nor an open circuit");
        assert!(error.to_string().contains("run `proxy login s`"), "{error}");
    }
    tokio::time::sleep(WHILE).await;
    assert_eq!(world.requests(), requests);
    world.log_in.token.send_replace(Some("Bearer good"));
    let view = world.becomes(Status::Ready).await;
    assert_eq!((view.lists.tools.len(), view.error.as_str()), (1, ""));
    world.call().await.unwrap();
    world.handle.stop().await;
}

#[tokio::test]
async fn a_log_in_that_ends_in_the_middle_of_a_session_keeps_the_lists() {
    let world = GuardedServer::new(Some("Bearer good")).await;
    world.becomes(Status::Ready).await;
    world.call().await.unwrap();
    world.door.lock().lets_in = "Bearer better";
    assert!(matches!(world.call().await.unwrap_err(), CallError::LoginNeeded { .. }));
    let view = world.becomes(Status::Login).await;
    assert_eq!(view.lists.tools.len(), 1, "names stay");
    let requests = world.requests();
    tokio::time::sleep(WHILE).await;
    assert_eq!(world.requests(), requests);
    world.log_in.token.send_replace(Some("Bearer better"));
    world.becomes(Status::Ready).await;
    world.call().await.unwrap();
    world.handle.stop().await;
}

#[tokio::test]
async fn a_call_that_is_not_allowed_leaves_the_server_up() {
    let world = GuardedServer::new(Some("Bearer good")).await;
    world.becomes(Status::Ready).await;
    world.door.lock().lets_in = "nobody";
    *world.log_in.remedy.lock() = Some(Remedy::MoreScopes("needs `write`".to_owned()));
    let error = world.call().await.unwrap_err();
    assert!(matches!(&error, CallError::Forbidden { reason, .. } if reason == "needs `write`"), "{error:?}");
    *world.log_in.remedy.lock() = Some(Remedy::Later("the network is gone".to_owned()));
    let error = world.call().await.unwrap_err();
    assert!(matches!(&error, CallError::Refused { reason, .. } if reason == "the network is gone"), "{error:?}");
    assert_eq!(world.handle.view().status, Status::Ready);
    world.door.lock().lets_in = "Bearer good";
    world.call().await.unwrap();
    world.handle.stop().await;
}

#[tokio::test]
async fn an_account_that_is_replaced_during_the_handshake_is_connected_anew() {
    // Given a server with an account for each person, which has begun to connect
    let world = GuardedServer::of(Some("Bearer good-1"), |server, door| {
        let personal = Some(PersonalAccounts::default());
        server.auth = Some(AuthConfig::OAuth(OAuthConfig { personal, ..OAuthConfig::default() }));
        door.greets = watch::Sender::new(false);
    })
    .await;
    assert!(world.handshake(0).await.contains("Bearer good-1"));
    // When the person connects another account before the answer
    world.log_in.token.send_replace(Some("Bearer good-2"));
    world.door.lock().greets.send_replace(true);
    // Then the session of the first one is not used
    assert!(world.handshake(1).await.contains("Bearer good-2"));
    world.becomes(Status::Ready).await;
    world.handle.stop().await;
}
