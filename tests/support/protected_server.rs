//! An MCP server that wants a token: a door before the fake backend. It knows the tokens of authorization servers in this
//! process, answers with challenges, and remembers who came with what.

use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, Response};
use serde_json::{Value, json};

use super::authorization_server::AuthorizationServer;
use super::listener;
use super::program::Program;
use super::programs::fake_http_backend;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

pub struct ProtectedServer {
    /// Its MCP endpoint.
    pub url: String,
    door: Arc<Door>,
    _backend: Program,
}

struct Door {
    rules: Mutex<Rules>,
    visits: Mutex<Vec<Visit>>,
    /// Where the door is, and what is behind it.
    origin: String,
    path: String,
    behind: String,
    client: reqwest::Client,
}

/// Who may come in, and what the others are told.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Their tokens are good; the metadata name them.
    pub authorization_servers: Vec<AuthorizationServer>,
    /// An authorization server that is not in this process.
    pub foreign: Option<Foreign>,
    /// Tokens that have been shown before this number of visits are refused.
    pub forget_before: usize,
    /// Another `resource` in the metadata than the server's URL.
    pub resource: Option<String>,
    pub scopes_supported: Option<Vec<&'static str>>,
    /// `scope` in the challenge of a 401.
    pub challenge_scope: Option<&'static str>,
    /// Whether a challenge says where the metadata are.
    pub names_metadata: bool,
    /// Whether the metadata are at the root, instead of the path of the server.
    pub metadata_at_root: bool,
    /// Whether a 401 has a challenge.
    pub challenges: bool,
    /// Whether the handshake needs no token.
    pub open_handshake: bool,
    /// Tools that need a scope.
    pub tool_scopes: Vec<(&'static str, &'static str)>,
    /// No scope is ever enough for tools that need one.
    pub never_content: bool,
}

/// An authorization server that says by introspection whether a token is good.
#[derive(Clone, Debug)]
pub struct Foreign {
    pub issuer: String,
    pub introspection: String,
    pub client: &'static str,
    pub secret: &'static str,
}

/// A request at the door.
#[derive(Clone, Debug)]
pub struct Visit {
    pub verb: Method,
    pub path: String,
    /// The JSON-RPC method, if any.
    pub method: Option<String>,
    pub authorization: Option<String>,
    pub status: u16,
}

impl ProtectedServer {
    pub async fn start(authorization: &AuthorizationServer) -> Self {
        Self::with(authorization, |_| ()).await
    }

    pub async fn with(authorization: &AuthorizationServer, change: impl FnOnce(&mut Rules)) -> Self {
        Self::before(authorization, &["--only", "echo,stall,seen,add_tool"], change).await
    }

    /// The door before a fake backend with these flags.
    pub async fn before(
        authorization: impl Into<Option<&AuthorizationServer>>,
        flags: &[&str],
        change: impl FnOnce(&mut Rules),
    ) -> Self {
        let authorization: Option<&AuthorizationServer> = authorization.into();
        let (backend, behind) = fake_http_backend(flags).await;
        let behind = url::Url::parse(&behind).expect("a URL");
        let (listener, origin) = listener::bind().await;
        let mut rules = Rules {
            authorization_servers: authorization.into_iter().cloned().collect(),
            foreign: None,
            forget_before: 0,
            resource: None,
            scopes_supported: None,
            challenge_scope: None,
            names_metadata: true,
            metadata_at_root: false,
            challenges: true,
            open_handshake: false,
            tool_scopes: Vec::new(),
            never_content: false,
        };
        change(&mut rules);
        let door = Arc::new(Door {
            rules: Mutex::new(rules),
            visits: Mutex::default(),
            path: behind.path().to_owned(),
            behind: behind.origin().ascii_serialization(),
            origin,
            client: reqwest::Client::builder().no_proxy().build().expect("a client"),
        });
        let answering = Arc::clone(&door);
        listener::serve(listener, move |request| {
            let door = Arc::clone(&answering);
            async move { Some(door.answer(request).await) }
        });
        Self { url: format!("{}{}", door.origin, door.path), door, _backend: backend }
    }

    pub fn set(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut lock(&self.door.rules));
    }

    /// Refuses every token that was shown so far.
    pub fn refuse_known_tokens(&self) {
        let visits = self.visits().len();
        self.set(|rules| rules.forget_before = visits);
    }

    /// Who has come so far, to the MCP endpoint and its streams.
    pub fn visits(&self) -> Vec<Visit> {
        lock(&self.door.visits).clone()
    }
}

impl Door {
    async fn answer(&self, request: Request<Bytes>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        if path.starts_with(WELL_KNOWN) {
            return self.metadata(&path);
        }
        let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let authorization = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let mut visit = Visit {
            verb: request.method().clone(),
            path,
            method: message["method"].as_str().map(str::to_owned),
            authorization: authorization.map(str::to_owned),
            status: 0,
        };
        let response = match self.refusal(&visit, &message).await {
            Some(refused) => refused,
            None => self.pass(request).await,
        };
        visit.status = response.status().as_u16();
        lock(&self.visits).push(visit);
        response
    }

    fn rules(&self) -> Rules {
        lock(&self.rules).clone()
    }

    fn metadata_url(&self, rules: &Rules) -> String {
        let path = if rules.metadata_at_root { "" } else { &self.path };
        format!("{}{WELL_KNOWN}{path}", self.origin)
    }

    fn metadata(&self, path: &str) -> Response<Body> {
        let rules = self.rules();
        if format!("{}{path}", self.origin) != self.metadata_url(&rules) {
            return listener::text(404, "not found");
        }
        let mut issuers: Vec<_> = rules.authorization_servers.iter().map(AuthorizationServer::issuer).collect();
        issuers.extend(rules.foreign.map(|foreign| foreign.issuer));
        let resource = rules.resource.unwrap_or_else(|| format!("{}{}", self.origin, self.path));
        let mut document = json!({"resource": resource, "authorization_servers": issuers});
        if let Some(scopes) = rules.scopes_supported {
            document["scopes_supported"] = json!(scopes);
        }
        listener::json(200, &document)
    }

    /// What a request is told that may not come in.
    async fn refusal(&self, visit: &Visit, message: &Value) -> Option<Response<Body>> {
        let rules = self.rules();
        let method = visit.method.as_deref().unwrap_or_default();
        if rules.open_handshake && (method == "initialize" || method.starts_with("notifications/")) {
            return None;
        }
        let token = visit.authorization.as_deref().and_then(|value| value.strip_prefix("Bearer "));
        let scopes = match token {
            Some(token) => self.scopes_of(&rules, token).await,
            None => None,
        };
        let Some(scopes) = scopes else {
            let mut challenge = Vec::new();
            if token.is_some() {
                challenge.push("error=\"invalid_token\"".to_owned());
            }
            challenge.extend(rules.challenge_scope.map(|scope| format!("scope=\"{scope}\"")));
            return Some(self.challenged(401, &rules, challenge));
        };
        let tool = message["params"]["name"].as_str().filter(|_| method == "tools/call")?;
        let (_, scope) = rules.tool_scopes.iter().find(|(needing, _)| *needing == tool)?;
        if !rules.never_content && scopes.iter().any(|had| had == scope) {
            return None;
        }
        let challenge = vec!["error=\"insufficient_scope\"".to_owned(), format!("scope=\"{scope}\"")];
        Some(self.challenged(403, &rules, challenge))
    }

    /// The scopes of a token that is good here.
    async fn scopes_of(&self, rules: &Rules, token: &str) -> Option<Vec<String>> {
        let shown = format!("Bearer {token}");
        let known = |visit: &Visit| visit.authorization.as_ref() == Some(&shown);
        if lock(&self.visits).iter().take(rules.forget_before).any(known) {
            return None;
        }
        let Some(foreign) = &rules.foreign else {
            return rules.authorization_servers.iter().find_map(|server| server.scopes_of(token));
        };
        let question = self.client.post(&foreign.introspection).basic_auth(foreign.client, Some(foreign.secret));
        let form = url::form_urlencoded::Serializer::new(String::new()).append_pair("token", token).finish();
        let question = question.header("content-type", "application/x-www-form-urlencoded").body(form);
        let answer = question.send().await.ok()?.text().await.ok()?;
        let answer: Value = serde_json::from_str(&answer).ok()?;
        // It must be for this server and nobody else.
        let good = answer["active"] == true && answer["aud"] == format!("{}{}", self.origin, self.path);
        good.then(|| answer["scope"].as_str().unwrap_or_default().split(' ').map(str::to_owned).collect())
    }

    fn challenged(&self, status: u16, rules: &Rules, mut parameters: Vec<String>) -> Response<Body> {
        let mut response = listener::json(status, &json!({"error": "no"}));
        if rules.names_metadata {
            parameters.push(format!("resource_metadata=\"{}\"", self.metadata_url(rules)));
        }
        if rules.challenges {
            let challenge = format!("Bearer {}", parameters.join(", "));
            response.headers_mut().insert("www-authenticate", challenge.parse().expect("a header"));
        }
        response
    }

    async fn pass(&self, request: Request<Bytes>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let mut forwarded = self.client.request(head.method, format!("{}{target}", self.behind)).body(body);
        for (name, value) in &head.headers {
            if !["host", "content-length", "authorization", "connection"].contains(&name.as_str()) {
                forwarded = forwarded.header(name, value);
            }
        }
        let Ok(answer) = forwarded.send().await else { return listener::text(502, "nothing behind the door") };
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if !["content-length", "transfer-encoding", "connection"].contains(&name.as_str()) {
                response = response.header(name, value);
            }
        }
        response.body(listener::passed_on(answer)).expect("a response")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with this lock")
}
