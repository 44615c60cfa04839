//! Clients of other people log in to an authorization server of other people, and are let in.

use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use rmcp::ServiceExt;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationRequest, OAuthState};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdout;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::log_ins::redirected;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers;

const REDIRECT: &str = "http://127.0.0.1:9/callback";

/// An authorization server, and a proxy that accepts its tokens.
struct World {
    proxy: HttpProxy,
    issuer: String,
    _provider: Program,
    /// It ends when nobody reads what it writes.
    _output: ChildStdout,
}

async fn world() -> Option<World> {
    let (command, issuer) = real_servers::oidc_provider("jwt")?;
    let (mut provider, _stdin, output) = Program::start(command);
    provider.stderr.patience = LONG_PATIENCE;
    provider.stderr.line("listening on").await;
    let auth = format!("auth: {{issuers: ['{issuer}'], requiredScopes: [tools]}}");
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }").section(&auth);
    let config = config.section("profiles: { team: { servers: ['*'] }, other: { servers: ['*'] } }");
    let proxy = Proxy::new(&config).file("policy.star", super::SCRIPT).http().await;
    Some(World { proxy, issuer, _provider: provider, _output: output })
}

impl World {
    fn check(&self, who: &Value) {
        let expected = json!({"sub": "ann", "issuer": self.issuer, "scopes": ["tools"], "anonymous": false});
        for name in ["sub", "issuer", "scopes", "anonymous"] {
            assert_eq!(who[name], expected[name], "{who}");
        }
    }

    /// A program that writes which address to visit, reads where that led, and says what it was told. Returns its token.
    async fn log_in_with(&self, command: Command) -> String {
        let (program, mut stdin, stdout) = Program::start(command);
        let mut lines = BufReader::new(stdout).lines();
        let log = program.stderr.clone();
        let mut next = async || {
            let line = tokio::time::timeout(LONG_PATIENCE, lines.next_line()).await;
            let Ok(Ok(Some(line))) = line else { panic!("it said nothing more: {}", log.text()) };
            line
        };
        let line = next().await;
        let address = line.strip_prefix("visit ").unwrap_or_else(|| panic!("{line}")).to_owned();
        let led = redirected(address, REDIRECT).await;
        stdin.write_all(format!("{led}\n").as_bytes()).await.expect("it reads");
        assert_eq!(next().await, "tools whoami");
        let who = next().await;
        let who = who.strip_prefix("whoami ").unwrap_or_else(|| panic!("{who}"));
        self.check(&serde_json::from_str(who).expect("JSON"));
        let token = next().await;
        token.strip_prefix("token ").unwrap_or_else(|| panic!("no token")).to_owned()
    }

    /// The status of a request with this token at a profile; at the top level, if the name is empty.
    async fn status(&self, profile: &str, token: &str) -> u16 {
        let url = format!("{}/{profile}", self.proxy.url);
        let client = HttpClient::new(url.trim_end_matches('/'), self.proxy.program.stderr.clone());
        let client = client.with_header("Authorization", &format!("Bearer {token}"));
        client.send(&HttpRequest::modern("1", "tools/list", "{}")).await.status
    }
}

/// The claims in a token, which nobody verifies here.
fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).expect("a token with three parts");
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).expect("base64url");
    serde_json::from_slice(&payload).expect("JSON")
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn the_typescript_sdk_logs_in() {
    let Some(world) = world().await else { return };
    let Some(command) = real_servers::typescript_client(&world.proxy.url) else { return };
    world.log_in_with(command).await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn the_python_sdk_logs_in() {
    let Some(world) = world().await else { return };
    let Some(command) = real_servers::python_client(&world.proxy.url) else { return };
    world.log_in_with(command).await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn the_sdks_log_in_for_one_profile() {
    let Some(world) = world().await else { return };
    let url = format!("{}/team", world.proxy.url);
    // Each finds the metadata of this path, and gets a token for this URL, which opens nothing else.
    let Some(typescript) = real_servers::typescript_client(&url) else { return };
    let Some(python) = real_servers::python_client(&url) else { return };
    for command in [typescript, python] {
        let token = world.log_in_with(command).await;
        assert_eq!(claims(&token)["aud"], url);
        for (profile, status) in [("team", 200), ("", 401), ("other", 401), ("team", 200)] {
            assert_eq!(world.status(profile, &token).await, status, "`{profile}`");
        }
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn rmcp_logs_in() {
    let Some(world) = world().await else { return };
    let mut state = OAuthState::new(world.proxy.url.as_str(), None).await.expect("a URL");
    let request = AuthorizationRequest::new(REDIRECT).with_application_type("native");
    state.start_authorization(request).await.expect("metadata and a registration");
    let address = state.get_authorization_url().await.expect("an address");
    let led = redirected(address, REDIRECT).await;
    state.handle_callback_url(&led).await.expect("a token");
    let manager = state.into_authorization_manager().expect("it is logged in");
    let client = AuthClient::new(reqwest::Client::new(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(Arc::from(world.proxy.url.as_str()));
    let service = ().serve(StreamableHttpClientTransport::with_client(client, config)).await.expect("it is let in");
    let called = service.call_tool(rmcp::model::CallToolRequestParams::new("whoami")).await.expect("a result");
    world.check(&serde_json::to_value(&called.structured_content).expect("JSON"));
    service.cancel().await.expect("it ends");
}
