//! What it costs to know who calls and to ask policies.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proxy_config::{self as config, Config};
use proxy_engine::gateway::script_source;
use proxy_identity::cedar::{AccessCaller, AccessItem, AccessRequest, Decision, Policies, PolicyAction};
use proxy_json::raw;
use proxy_model::{ClientInfo, ItemKind, Principal, Snapshot, SurfaceKey};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::signing_key::SigningKey;
use crate::surface::servers;

const DECISIONS: u32 = 2_000;

/// So many policies: for groups, for names of tools, for servers. None reads arguments.
pub fn policies(number: usize) -> String {
    let mut text = "permit(principal, action, resource);\n".to_owned();
    for index in 1..number {
        text += &match index % 4 {
            0 => format!("forbid(principal, action, resource == Tool::\"tool_1_{index}\");\n"),
            1 => {
                format!("permit(principal in THVGroup::\"team{index}\", action == Action::\"call_tool\", resource);\n")
            }
            2 => format!("forbid(principal in THVGroup::\"guests{index}\", action, resource in MCP::\"server3\");\n"),
            _ => format!(
                "forbid(principal, action, resource) when {{ resource.name like \"*_secret{index}\" }} unless {{ principal in THVGroup::\"ops\" }};\n"
            ),
        };
    }
    text
}

/// An issuer with one key.
pub struct Issuer {
    url: String,
    key: SigningKey,
}

impl Issuer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let key = SigningKey::new("ES256");
        let keys = json!({"keys": [key.jwk()]}).to_string();
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{keys}",
            keys.len()
        );
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        Issuer { url, key }
    }

    /// What to write into a config.
    pub fn config(&self) -> String {
        let url = &self.url;
        format!("auth: {{ issuers: [{{ issuer: '{url}', jwksUrl: '{url}/keys', audiences: [bench] }}] }}\n")
    }

    /// A header with the token of a user who is in these groups.
    pub fn header(&self, user: &str, groups: &[&str]) -> String {
        let expires = SystemTime::now() + Duration::from_secs(3600);
        let claims = json!({
            "iss": self.url, "sub": user, "aud": "bench", "groups": groups, "scope": "read write",
            "exp": expires.duration_since(UNIX_EPOCH).unwrap().as_secs(),
        });
        format!("authorization: Bearer {}\r\n", self.key.sign(&self.key.header(), &claims))
    }
}

fn load(folder: &Path, text: &str) -> Arc<Policies> {
    std::fs::write(folder.join("bench.cedar"), text).unwrap();
    let config = config::load_text(&folder.join("proxy.yaml"), "cedar: { policies: [bench.cedar] }", &|_| None);
    let cedar = config.unwrap().0.cedar.unwrap();
    Arc::new(Policies::load(&cedar, folder).unwrap())
}

/// Milliseconds to decide which of a thousand tools a user may see; the middle one of several users.
pub fn listing(folder: &Path) -> f64 {
    let policies = load(folder, &policies(200));
    let snapshot = Arc::new(Snapshot { version: 1, generation: 1, backends: servers() });
    let script_source = script_source(&Config::default_for(Path::new(".")), None).unwrap();
    let surface = Arc::new(script_source.build(&snapshot).unwrap());
    let user = |number: usize| {
        let key = SurfaceKey::of(Principal::named(&format!("user{number}")), Arc::default());
        let started = Instant::now();
        let own = surface.permitted_to(&policies, &key);
        assert!((900..1000).contains(&own.listed(ItemKind::Tool)));
        started.elapsed().as_secs_f64() * 1e3
    };
    crate::watched::middle((0..9).map(user).collect())
}

/// Microseconds of one decision that depends on the arguments of a call, among 50 policies.
pub fn decision(folder: &Path) -> f64 {
    let text = policies(50)
        + "forbid(principal, action, resource == Tool::\"tool_0_0\") when { context.arguments.limit > 100 };\n";
    let policies = load(folder, &text);
    let (principal, client) = (Principal::named("ann"), ClientInfo::default());
    let servers = servers();
    let definition = &servers[0].lists.tools[0];
    let arguments = raw(&json!({"query": "some words to look for", "limit": 10}));
    let item = AccessItem {
        action: PolicyAction::of(ItemKind::Tool),
        id: "tool_0_0",
        server: "server0",
        original: "tool_0_0",
        definition: Some(definition),
    };
    let caller = AccessCaller { principal: &principal, client: &client };
    let started = Instant::now();
    for _ in 0..DECISIONS {
        let decision = policies.decide(&AccessRequest { caller, item, arguments: Some(&arguments), via: "" });
        assert!(matches!(black_box(decision), Decision::Allowed { .. }));
    }
    started.elapsed().as_secs_f64() * 1e6 / f64::from(DECISIONS)
}
