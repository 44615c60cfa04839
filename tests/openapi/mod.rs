//! APIs with an OpenAPI description as servers: what a client sees of them, and what the API is sent.

mod answers;
#[cfg(target_os = "linux")]
mod costs;
mod credentials;
mod fetched;
mod files;
mod hosts;
mod listed;
mod log_in;
mod parity;
mod public;
mod script;

use std::sync::{Arc, Mutex};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::listener;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::real_servers;

/// Two operations that differ in what a script may decide by.
const PETS: &str = "\
openapi: 3.0.3
info: {title: Pets, version: 1.2.0}
paths:
  /pets/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      operationId: getPet
      tags: [pets]
      summary: One pet
      parameters: [{name: verbose, in: query, schema: {type: boolean}}]
      responses: {'200': {description: a pet, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}}
    delete:
      operationId: deletePet
      tags: [admin]
      deprecated: true
      responses: {'204': {description: gone}}
  /pets:
    post:
      operationId: addPet
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
      responses: {'201': {description: a pet}}
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties: {name: {type: string}, friends: {type: array, items: {$ref: '#/components/schemas/Pet'}}}
";

/// An API that remembers what it was sent.
struct Api {
    url: String,
    requests: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Api {
    async fn start(answer: impl Fn(&Request<Bytes>) -> Response<Body> + Clone + Send + Sync + 'static) -> Self {
        let (listener, url) = listener::bind().await;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        listener::serve(listener, move |request: Request<Bytes>| {
            let answer = answer.clone();
            let seen = Arc::clone(&seen);
            async move {
                let answered = answer(&request);
                seen.lock().expect("no test panics with it").push(request);
                Some(answered)
            }
        });
        Api { url, requests }
    }

    /// An API of pets, each with the name that its path has.
    async fn of_pets() -> Self {
        Api::start(|request| match request.method().as_str() {
            "DELETE" => listener::text(204, ""),
            _ => {
                let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
                listener::json(200, &json!({ "name": name }))
            }
        })
        .await
    }

    /// The lines of the requests so far: method and target.
    fn lines(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("no test panics with it");
        requests.iter().map(|request| format!("{} {}", request.method(), request.uri())).collect()
    }

    /// A header of the last request.
    fn last_header(&self, name: &str) -> Option<String> {
        let requests = self.requests.lock().expect("no test panics with it");
        requests.last()?.headers().get(name)?.to_str().ok().map(str::to_owned)
    }

    fn last_body(&self) -> String {
        let requests = self.requests.lock().expect("no test panics with it");
        String::from_utf8_lossy(requests.last().expect("a request").body()).into_owned()
    }
}

/// A config with one API.
fn config(entry: Value) -> Config {
    Config::new().section(&format!("mcpServers: {}", json!({ "pets": entry })))
}

/// The entry of an API with the description beside the config.
fn entry(url: &str) -> Value {
    json!({"openapi": "pets.yaml", "url": url})
}

/// A proxy before the API of pets, with a session.
async fn pets(api: &Api) -> StdioProxy {
    started(Proxy::new(&config(entry(&api.url))).file("pets.yaml", PETS)).await
}

async fn started(proxy: Proxy) -> StdioProxy {
    let mut proxy = proxy.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    proxy.client.tools_until(|names| !names.is_empty()).await;
    proxy
}

/// What a command says, whatever it thinks of it.
async fn said(proxy: &Proxy, command: &str) -> String {
    let finished = proxy.run([command]).await;
    finished.stdout + &finished.stderr
}

/// The value of a text.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What the client of the TypeScript SDK lists, and the results of its calls; `None` if it is not there.
async fn by_another_client(url: &str, era: &str, calls: &[(String, Value)]) -> Option<Value> {
    let mut command = real_servers::calling_client()?;
    let call = |(name, arguments): &(String, Value)| json!({"name": name, "arguments": arguments});
    let calls: Vec<Value> = calls.iter().map(call).collect();
    command.args([url, era, &json!(calls).to_string()]);
    Some(Finished::run(command).await.expect(0).json())
}
