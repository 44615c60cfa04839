//! An MCP server that lists other tools for each person, in the test's own process. It knows people by the tokens of
//! [`super::token_endpoint`], and remembers who came with what.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, Response};
use serde_json::{Value, json};

use super::listener;

#[derive(Clone, Debug)]
pub struct PersonalServer {
    pub url: String,
    state: Arc<ServerState>,
}

#[derive(Debug, Default)]
struct ServerState {
    visits: Mutex<Vec<PersonalVisit>>,
    refuses: Mutex<Refuses>,
}

/// Which tokens are not good.
#[derive(Clone, Copy, Debug, Default)]
enum Refuses {
    #[default]
    Nothing,
    /// Those that came among so many first visits.
    SeenBefore(usize),
    Everything,
}

/// A request.
#[derive(Clone, Debug)]
pub struct PersonalVisit {
    /// The JSON-RPC method; empty for other requests.
    pub method: String,
    pub authorization: Option<String>,
    /// The whole request, as it is shown for debugging.
    pub text: String,
}

impl PersonalServer {
    pub async fn start() -> Self {
        let (listener, origin) = listener::bind().await;
        let server = PersonalServer { url: format!("{origin}/mcp"), state: Arc::default() };
        let answering = server.clone();
        listener::serve(listener, move |request| {
            let server = answering.clone();
            async move { Some(server.answer(&request)) }
        });
        server
    }

    /// Refuses every token that was shown so far.
    pub fn refuse_known_tokens(&self) {
        let visits = self.visits().len();
        *lock(&self.state.refuses) = Refuses::SeenBefore(visits);
    }

    pub fn refuse_all_tokens(&self) {
        *lock(&self.state.refuses) = Refuses::Everything;
    }

    pub fn refuse_nothing(&self) {
        *lock(&self.state.refuses) = Refuses::Nothing;
    }

    pub fn visits(&self) -> Vec<PersonalVisit> {
        lock(&self.state.visits).clone()
    }

    /// How often this method was called.
    pub fn count(&self, method: &str) -> usize {
        self.visits().iter().filter(|visit| visit.method == method).count()
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<Body> {
        let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let authorization = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let authorization = authorization.map(str::to_owned);
        let is_refused = {
            let mut visits = lock(&self.state.visits);
            let refused = match *lock(&self.state.refuses) {
                Refuses::Nothing => false,
                Refuses::SeenBefore(number) => {
                    visits.iter().take(number).any(|visit| visit.authorization == authorization)
                }
                Refuses::Everything => true,
            };
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            let text = format!("{:?} {}", request.headers(), String::from_utf8_lossy(request.body()));
            visits.push(PersonalVisit { method, authorization: authorization.clone(), text });
            refused
        };
        let token = authorization.as_deref().and_then(|value| value.strip_prefix("Bearer exchanged-"));
        let person = token.and_then(|token| token.rsplit_once('-')).map(|(person, _)| person);
        let Some(person) = person.filter(|_| !is_refused) else {
            let mut refused = listener::text(401, "who are you?");
            refused
                .headers_mut()
                .insert("www-authenticate", "Bearer error=\"invalid_token\"".parse().expect("a header"));
            return refused;
        };
        if request.method() != Method::POST {
            return listener::text(405, "");
        }
        if message.get("id").is_none() {
            return listener::text(202, "");
        }
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "personal", "version": "1"},
            }),
            "tools/list" => {
                let tool = |name: &str| json!({"name": name, "description": format!("{name} of the desk"), "inputSchema": {"type": "object"}});
                json!({"tools": [tool("common"), tool(&format!("only_{person}"))]})
            }
            "tools/call" => {
                let text = format!("{} called {}", person, message["params"]["name"].as_str().unwrap_or_default());
                json!({"content": [{"type": "text", "text": text}]})
            }
            "ping" => json!({}),
            _ => {
                let error = json!({"code": -32601, "message": "Method not found"});
                return listener::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
        };
        listener::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
