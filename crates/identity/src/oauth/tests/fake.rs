//! A server on a loopback port that answers what a test tells it, and remembers what it was asked.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::oauth::{CredentialStorage, LogInRequest, LogIns, PendingLogIn};
use proxy_config::{AuthConfig, OAuthConfig, ServerConfig, TransportConfig};

/// A request that the server got.
#[derive(Clone, Debug)]
pub(in crate::oauth) struct Asked {
    /// Such as `POST /token`.
    pub(in crate::oauth) line: String,
    pub(in crate::oauth) authorization: Option<String>,
    pub(in crate::oauth) body: String,
}

impl Asked {
    pub(in crate::oauth) fn form(&self) -> HashMap<String, String> {
        url::form_urlencoded::parse(self.body.as_bytes()).into_owned().collect()
    }

    pub(in crate::oauth) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

type Answer = Box<dyn Fn(&Asked) -> (u16, Value) + Send + Sync>;

pub(in crate::oauth) struct Fake {
    pub(in crate::oauth) origin: String,
    log: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<Mutex<Answer>>,
}

impl Fake {
    pub(in crate::oauth) async fn start() -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let nothing: Answer = Box::new(|_| (404, Value::Null));
        let fake = Fake { origin, log: Arc::default(), answer: Arc::new(Mutex::new(nothing)) };
        let (log, answer) = (Arc::clone(&fake.log), Arc::clone(&fake.answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&log), Arc::clone(&answer)));
            }
        });
        fake
    }

    /// A server whose metadata lead to itself, and which answers other requests by this function, else with 404.
    pub(in crate::oauth) async fn with_metadata(
        answer: impl Fn(&Asked) -> Option<(u16, Value)> + Send + Sync + 'static,
    ) -> Fake {
        let fake = Fake::start().await;
        let origin = fake.origin.clone();
        fake.answers(move |asked| {
            answer(asked).unwrap_or_else(|| match asked.line.as_str() {
                "GET /.well-known/oauth-protected-resource/mcp" => (200, resource_metadata(&origin)),
                "GET /.well-known/oauth-authorization-server" => (200, server_metadata(&origin)),
                "POST /register" => (201, json!({"client_id": "client-1", "redirect_uris": []})),
                _ => (404, Value::Null),
            })
        });
        fake
    }

    pub(in crate::oauth) fn answers(&self, answer: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static) {
        *self.answer.lock() = Box::new(answer);
    }

    pub(in crate::oauth) fn asked(&self) -> Vec<Asked> {
        self.log.lock().clone()
    }

    pub(in crate::oauth) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }

    /// The requests of this line.
    pub(in crate::oauth) fn asked_for(&self, line: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.line == line).collect()
    }

    pub(in crate::oauth) fn forget(&self) {
        self.log.lock().clear();
    }

    pub(in crate::oauth) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub(in crate::oauth) fn server(&self, auth: Option<OAuthConfig>) -> ServerConfig {
        let transport = TransportConfig::Http { url: self.url(), headers: Default::default(), sse: false };
        ServerConfig { auth: auth.map(AuthConfig::OAuth), ..ServerConfig::new(transport) }
    }
}

pub(in crate::oauth) fn resource_metadata(origin: &str) -> Value {
    json!({"resource": origin, "authorization_servers": [origin], "scopes_supported": ["read"]})
}

pub(in crate::oauth) fn server_metadata(origin: &str) -> Value {
    json!({
        "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"), "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "scopes_supported": ["read", "offline_access"],
    })
}

async fn serve(mut stream: TcpStream, log: Arc<Mutex<Vec<Asked>>>, answer: Arc<Mutex<Answer>>) {
    let Some(asked) = read(&mut stream).await else { return };
    let (status, body) = (answer.lock())(&asked);
    log.lock().push(asked);
    // A status of 0 is a connection that breaks.
    if status == 0 {
        return;
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header = |name: &str| {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
            };
            let length = header("content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                let line = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
                return Some(Asked { line, authorization: header("authorization"), body: body.to_owned() });
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}

/// A folder of credentials that is deleted at the end.
pub(in crate::oauth) struct StateFolder(pub(in crate::oauth) PathBuf);

impl StateFolder {
    pub(in crate::oauth) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("log-ins-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        StateFolder(folder)
    }

    /// As a process has them.
    pub(in crate::oauth) fn log_ins(&self) -> Arc<LogIns> {
        LogIns::new(CredentialStorage::files(self.0.join("credentials")))
    }

    /// The records, as their files have them.
    pub(in crate::oauth) fn records(&self) -> Vec<Value> {
        let files = std::fs::read_dir(self.0.join("credentials")).into_iter().flatten().flatten();
        let records = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "json"));
        records.map(|file| serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap()).collect()
    }

    pub(in crate::oauth) fn record(&self) -> Value {
        let mut records = self.records();
        assert_eq!(records.len(), 1);
        records.remove(0)
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        use std::os::unix::fs::PermissionsExt;
        let credentials = self.0.join("credentials");
        let _ = std::fs::set_permissions(credentials, std::fs::Permissions::from_mode(0o700));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(in crate::oauth) const REDIRECT: &str = "http://127.0.0.1:7777/callback";

pub(in crate::oauth) fn request() -> LogInRequest {
    LogInRequest {
        challenge: None,
        redirect_uri: REDIRECT.to_owned(),
        more_redirect_uris: Vec::new(),
        scopes: Vec::new(),
    }
}

/// The parameters of the authorization URL.
pub(in crate::oauth) fn parameters(pending: &PendingLogIn) -> HashMap<String, String> {
    url::Url::parse(pending.authorization_url()).unwrap().query_pairs().into_owned().collect()
}

/// The redirect that a person comes back with.
pub(in crate::oauth) fn redirect(pending: &PendingLogIn, code: &str) -> String {
    format!("{REDIRECT}?code={code}&state={}", parameters(pending)["state"])
}

/// Tokens with this number: `access-1` and `refresh-1`.
pub(in crate::oauth) fn tokens(number: u64, expires_in: u64) -> Value {
    json!({"access_token": format!("access-{number}"), "refresh_token": format!("refresh-{number}"),
        "token_type": "Bearer", "expires_in": expires_in})
}

/// Logs in to a server that gives tokens for any code.
pub(in crate::oauth) async fn log_in(log_ins: &Arc<LogIns>, server: &ServerConfig) {
    let mut pending = log_ins.begin("a", server, None, request()).await.unwrap();
    let redirect = redirect(&pending, "code-1");
    pending.finish(&redirect).await.unwrap();
}
