//! Two roles: an edge that clients connect to, and a host with the servers. The edge says who calls, and the host decides.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::programs::fake_backend;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::temp_dir::TempDir;

const KEY: &str = "the-key-of-the-edge-with-more-than-thirty-two-bytes";
const EDGE: &str = "http://127.0.0.1:1/edge";

/// A tool that says who calls, and one for operators only.
const POLICY: &str = r#"sessionInit:
  script: |
    user = current_user()

    def who(args):
        return "%s %s" % (current_user().sub, list(current_user().groups))

    publish(metadata("who", "Says who calls.", {}, {}), who)
    if "ops" in user.groups:
        publish(metadata("deploy", "Deploys.", {}, {}), lambda args: "deployed")
"#;

const PEOPLE: &str = "auth: {tokens: [{token: secret-token-of-a, sub: ann, groups: [ops]}, \
                      {token: secret-token-of-b, sub: bob}], allowAnonymous: true}";

struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        World { folder: TempDir::new() }
    }

    /// A host that accepts what this edge signs.
    async fn host(&self, key: &str) -> HttpProxy {
        let edge = Proxy::new(&edge_config("http://127.0.0.1:1/mcp", key));
        let keys = edge.run(["identity-key"]).await.expect(0).stdout;
        assert!(!keys.contains(key), "{keys}");
        let file = self.folder.write("edge.jwks.json", &keys);
        let issuer = format!("{{issuer: '{EDGE}', jwksFile: '{}', prefix: 'edge:'}}", file.display());
        let config = Config::new().section(POLICY).section(&format!("auth: {{issuers: [{issuer}]}}"));
        Proxy::new(&config).http().await
    }
}

fn edge_config(host: &str, key: &str) -> Config {
    let fake = fake_backend(["--only", "echo"]);
    Config::new()
        .server("fake", &fake)
        .remote_with("host", host, json!({"auth": {"type": "signed"}}))
        .section(&format!("serve: {{publicUrl: '{EDGE}', identityKey: {key}, stateKeys: [{KEY}]}}"))
        .section(PEOPLE)
}

async fn edge(host: &HttpProxy, key: &str) -> HttpProxy {
    Proxy::new(&edge_config(&host.url, key)).http().await
}

fn client(proxy: &HttpProxy, token: &str) -> HttpClient {
    proxy.client().with_header("Authorization", &format!("Bearer {token}"))
}

async fn tools(client: &mut HttpClient) -> Vec<String> {
    client.modern("tools/list", "{}").await.tool_names()
}

#[tokio::test]
async fn the_host_knows_who_calls_and_its_policy_holds_at_each_edge() {
    let world = World::new();
    let host = world.host(KEY).await;
    let edges = [edge(&host, KEY).await, edge(&host, KEY).await];
    for edge in &edges {
        let mut ann = client(edge, "secret-token-of-a");
        assert_eq!(tools(&mut ann).await, ["echo", "who", "deploy"]);
        assert_eq!(ann.modern_call("who", "{}").await.text(), r#"edge:ann ["ops"]"#);
        assert_eq!(ann.modern_call("deploy", "{}").await.text(), "deployed");
        let mut bob = client(edge, "secret-token-of-b");
        assert_eq!(tools(&mut bob).await, ["echo", "who"]);
        assert_eq!(bob.modern_call("who", "{}").await.text(), "edge:bob []");
        assert!(bob.modern_call("deploy", "{}").await.error_code() != 0, "it is hidden from bob");
        let mut nobody = edge.client();
        assert_eq!(tools(&mut nobody).await, ["echo"], "anonymous callers do not see the host");
    }
    let log = edges[0].program.stderr.text();
    assert!(!log.contains(KEY) && !log.contains("eyJ"), "{log}");
}

#[tokio::test]
async fn an_edge_with_another_key_is_told_what_the_host_must_accept() {
    let world = World::new();
    let host = world.host(KEY).await;
    let stranger = edge(&host, "another-key-with-more-than-thirty-two-bytes").await;
    let mut ann = client(&stranger, "secret-token-of-a");
    assert_eq!(tools(&mut ann).await, ["echo"]);
    stranger.program.stderr.line("it refuses the signed identity of the caller").await;
}

#[tokio::test]
async fn what_the_edge_signs_for_another_server_counts_nowhere_else() {
    let world = World::new();
    let host = world.host(KEY).await;
    // The audience is the URL of the server: another URL of the same host is another server.
    let edge = Proxy::new(&edge_config(&format!("{}?other", host.url), KEY)).http().await;
    let mut ann = client(&edge, "secret-token-of-a");
    assert_eq!(tools(&mut ann).await, ["echo"]);
    edge.program.stderr.line("it refuses the signed identity of the caller").await;
}

#[tokio::test]
async fn without_a_key_the_command_says_how_to_make_one() {
    let failed = Proxy::new(&Config::new()).run(["identity-key"]).await.expect(1);
    assert!(
        failed.stderr.contains("no `serve.identityKey`") && failed.stderr.contains("openssl rand"),
        "{}",
        failed.stderr
    );
}

#[tokio::test]
async fn log_ins_and_status_name_the_kind() {
    let world = Proxy::new(&edge_config("http://127.0.0.1:1/mcp", KEY));
    let listed: Value = world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert!(listed.to_string().contains(r#""signed""#), "{listed}");
}
