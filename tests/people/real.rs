//! The pages before what other people have written.

use serde_json::json;
use tokio::process::{ChildStdin, ChildStdout};

use super::SERVER;
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::issuer::Issuer;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::protected_server::{Foreign, ProtectedServer};
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::real_servers::{self, free_port};

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn oidc_provider_signs_people_in_and_another_one_lets_them_in_at_a_server() {
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let back = format!("{url}/sign-in/callback");
    let Some((mut command, issuer)) = real_servers::oidc_provider("jwt") else { return };
    command.env("SIGN_IN_CALLBACK", &back);
    let (mut signing_in, _stdin, _stdout) = Program::start(command);
    let Some((command, authorization)) = real_servers::oidc_provider("opaque") else { return };
    let (mut letting_in, _stdin, _stdout) = Program::start(command);
    for program in [&mut signing_in, &mut letting_in] {
        program.stderr.patience = LONG_PATIENCE;
        program.stderr.line("listening on").await;
    }
    let server = ProtectedServer::before(None, &["--only", "echo"], |rules| {
        rules.foreign = Some(Foreign {
            introspection: format!("{authorization}/token/introspection"),
            issuer: authorization,
            client: "door",
            secret: "secret-of-the-door",
        });
        rules.challenge_scope = Some("tools");
    })
    .await;
    let sign_in = "signIn: {clientId: pages, clientSecret: secret-of-the-pages, scopes: [tools]}";
    let config = Config::new()
        .remote_with(SERVER, &server.url, json!({"auth": {"type": "oauth", "per": "person"}}))
        .section(&format!("auth: {{issuers: [{{issuer: '{issuer}', {sign_in}}}]}}\nserve: {{publicUrl: '{url}'}}"));
    let proxy = Proxy::new(&config).http_at(port).await;
    let ann = Browser::of("ann");
    let page = ann.open(&format!("{url}/connect/{SERVER}")).await;
    let page = ann.press(&page, "Sign in").await;
    assert!(page.html.contains("You are <strong>ann"), "{page:?}\n{}", signing_in.stderr.text());
    let page = ann.press(&page, "Connect").await;
    assert!(page.html.contains("connected as ann"), "{page:?}\n{}", letting_in.stderr.text());
    let list = ann.open(&format!("{url}/connect")).await;
    assert!(list.html.contains("crm</a>: connected"), "{}", list.html);
    drop(proxy);
}

/// The protected server of the Python SDK, and people before it with accounts of their own.
struct Team {
    program: Program,
    _streams: (ChildStdin, ChildStdout),
    issuer: Issuer,
    url: String,
    proxy: HttpProxy,
}

impl Team {
    async fn start() -> Option<Self> {
        let (command, server) = real_servers::python_protected()?;
        let (mut program, stdin, stdout) = Program::start(command);
        program.stderr.patience = LONG_PATIENCE;
        program.stderr.line("running on").await;
        let issuer = Issuer::start().await;
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let sections = super::sections(&issuer, &url);
        let config = Config::new().remote_with(SERVER, &server, super::personal()).section(&sections);
        let proxy = Proxy::new(&config).http_at(port).await;
        Some(Team { program, _streams: (stdin, stdout), issuer, url, proxy })
    }

    fn client(&self, person: &str) -> HttpClient {
        let token = self.issuer.token_with(person, json!({"aud": self.url}));
        self.proxy.client().with_header("Authorization", &format!("Bearer {token}"))
    }
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_protected_server_of_the_python_sdk_knows_a_person_by_their_own_log_in() {
    let Some(team) = Team::start().await else { return };
    let ann = Browser::of("ann");
    let page = ann.open(&format!("{}/connect/{SERVER}", team.url)).await;
    let page = ann.press(&page, "Sign in").await;
    let page = ann.press(&page, "Connect").await;
    assert!(page.html.contains("connected as ann"), "{page:?}");
    let mut client = team.client("ann");
    // A token is good for a few requests only.
    for _ in 0..10 {
        let answer = client.modern_call("shout", r#"{"text":"hello"}"#).await;
        assert!(answer.raw.contains("HELLO"), "{}", answer.raw);
    }
    team.program.stderr.times("refreshed", 1).await;
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn two_people_use_their_own_accounts_at_a_server_of_the_python_sdk_in_both_eras() {
    // given
    let Some(team) = Team::start().await else { return };
    // when
    for person in ["ann", "bob"] {
        assert_eq!(team.client(person).modern("tools/list", "{}").await.tool_names(), ["crm_log_in"]);
        let browser = Browser::of(person);
        let page = browser.open(&format!("{}/connect/{SERVER}", team.url)).await;
        let page = browser.press(&page, "Sign in").await;
        let page = browser.press(&page, "Connect").await;
        assert!(page.html.contains(&format!("connected as {person}")), "{page:?}");
    }
    // then
    let mut sessions = Vec::new();
    for person in ["ann", "bob"] {
        let mut session = team.client(person);
        session.initialize("2025-11-25").await.result();
        sessions.push(session);
    }
    for _ in 0..3 {
        for (number, person) in ["ann", "bob"].into_iter().enumerate() {
            let account = format!("account-{}", number + 1);
            let stateless = team.client(person).modern_call("account", "{}").await;
            let session = sessions[number].call("account", "{}").await;
            for answer in [stateless, session] {
                assert!(answer.raw.contains(&account), "{person}: {}", answer.raw);
            }
            let listed = sessions[number].request("tools/list", "{}").await.tool_names();
            assert_eq!(listed, ["shout", "account"], "{person}");
        }
    }
    // Nobody else has a way there.
    assert_eq!(team.client("carl").modern("tools/list", "{}").await.tool_names(), ["crm_log_in"]);
    let stranger = team.client("carl").with_session(sessions[0].session().expect("a session"));
    let body = crate::support::message::request("9", "tools/list", "{}");
    assert_eq!(stranger.send(&stranger.legacy(&body)).await.status, 404);
}
