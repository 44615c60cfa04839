//! People without a page: those of static tokens, and the local user.

use serde_json::{Value, json};

use super::{SERVER, personal};
use crate::support::authorization_server::AuthorizationServer;
use crate::support::config::Config;
use crate::support::issuer::Issuer;
use crate::support::log_ins::{log_in_with, open, opened, records, with_browser};
use crate::support::patience::within;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;
use crate::support::real_servers::free_port;
use crate::support::stderr_log::StderrLog;

const TOKENS: &str =
    "auth: {tokens: [{token: token-of-ann-0123456, sub: ann}, {token: token-of-bob-0123456, sub: bob}]}";

async fn log_in(world: &Proxy, arguments: &[&str]) -> crate::support::finished::Finished {
    let seen = opened(world).len();
    let command = ["login", SERVER].into_iter().chain(arguments.iter().copied());
    let login = world.run(command);
    let follow = async {
        loop {
            if let Some(url) = opened(world).into_iter().nth(seen) {
                open(url).await;
                return std::future::pending().await;
            }
            // No event tells of another process's file.
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        finished = login => finished,
        never = follow => never,
    }
}

#[tokio::test]
async fn an_operator_logs_in_for_the_people_of_static_tokens() {
    // given
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let world = with_browser(Proxy::new(&Config::new().remote_with(SERVER, &server.url, personal()).section(TOKENS)));
    let nobody = world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert_eq!((nobody[0]["server"].as_str(), nobody[0]["status"].as_str()), (Some(SERVER), Some("none")), "{nobody}");
    let done = log_in(&world, &["--as-user", "ann"]).await.expect(0);
    assert!(done.stdout.contains("logged in to `crm` for ann"), "{}", done.stdout);
    // then
    let listed = world.run(["login", "--list", "--json"]).await.expect(0).json();
    assert_eq!((listed[0]["person"].as_str(), listed[0]["status"].as_str()), (Some("ann"), Some("ok")), "{listed}");
    let proxy = world.http().await;
    let client = |token: &str| proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    let (mut ann, mut bob) = (client("token-of-ann-0123456"), client("token-of-bob-0123456"));
    assert_eq!(ann.modern_call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    let told = bob.modern_call("crm_log_in", "{}").await;
    assert!(told.raw.contains("ask the operator to run `proxy login crm --as-user bob`"), "{}", told.raw);
    assert!(!told.raw.contains("/connect"), "{}", told.raw);
    // when
    let out = proxy.world.run(["logout", "--as-user", "ann"]).await.expect(0);
    assert!(out.stdout.contains("logged out of `crm`; revoked: refresh token, access token"), "{}", out.stdout);
    // A call at this very moment ends with the connection.
    let told = async {
        while !ann.modern_call("echo", "{}").await.raw.contains("log in at `crm` first") {
            tokio::task::yield_now().await;
        }
    };
    within("calls that ask for a log-in", &proxy.program.stderr, told).await;
}

/// The lines of the audit log of these types, once there are as many.
pub async fn audited(world: &Proxy, log: &StderrLog, types: &[&str], count: usize) -> Vec<Value> {
    let there = async {
        loop {
            let text = std::fs::read_to_string(world.directory.path().join("audit.jsonl")).unwrap_or_default();
            let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            let lines = whole.map(|line| serde_json::from_str(line).expect("a line is JSON"));
            let found: Vec<Value> =
                lines.filter(|line: &Value| types.iter().any(|wanted| line["type"] == *wanted)).collect();
            if found.len() >= count {
                return found;
            }
            // No event tells of another process's file.
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    within("lines of the audit log", log, there).await
}

#[tokio::test]
async fn what_the_operator_does_with_accounts_and_sessions_is_in_the_audit_log() {
    // Given a proxy with an audit log, and a person who has not logged in
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let config = Config::new().remote_with(SERVER, &server.url, personal()).section(TOKENS);
    let world = with_browser(Proxy::new(&config.section("audit: { file: audit.jsonl }")));
    let without = log_in(&world, &["--as-user", "bob"]).await.expect(0);
    assert!(without.stderr.contains("the audit log has no line about this"), "{without:?}");
    let proxy = world.http().await;
    let log = &proxy.program.stderr;
    let mut ann = proxy.client().with_header("Authorization", "Bearer token-of-ann-0123456");
    assert!(ann.modern_call("crm_log_in", "{}").await.raw.contains("log in at `crm` first"));
    // Then the question is none of the failures of the server
    let calls = audited(&proxy.world, log, &["mcp_tool_call"], 1).await;
    assert_eq!((&calls[0]["outcome"], &calls[0]["error"]), (&json!("asked"), &json!(null)), "{}", calls[0]);
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    assert_eq!((&status["servers"][0]["calls"], &status["servers"][0]["failedCalls"]), (&json!(0), &json!(0)));
    // When the operator logs ann in and out, and ends the sessions
    log_in(&proxy.world, &["--as-user", "ann"]).await.expect(0);
    proxy.world.run(["logout", SERVER, "--as-user", "ann"]).await.expect(0);
    proxy.world.run(["logout", "--as-user", "bob"]).await.expect(0);
    proxy.world.run(["sessions", "end", "--as-user", "ann"]).await.expect(0);
    // Then there is a line for each
    let types = ["account_connected", "account_disconnected", "operator_sessions_end"];
    let lines = audited(&proxy.world, log, &types, 4).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told: Vec<[String; 3]> = lines
        .iter()
        .map(|line| [text(&line["type"]), text(&line["subject"]["sub"]), text(&line["target"]["server"])])
        .collect();
    assert_eq!(
        told,
        [
            ["account_connected", "ann", SERVER],
            ["account_disconnected", "ann", SERVER],
            ["account_disconnected", "bob", SERVER],
            ["operator_sessions_end", "ann", ""],
        ]
    );
    for line in &lines {
        assert_eq!(line["source"]["type"], "control", "{line}");
        assert!(text(&line["source"]["value"]).starts_with("uid "), "{line}");
    }
}

#[tokio::test]
async fn a_name_that_nobody_can_have_is_not_taken_for_a_success() {
    let issuer = Issuer::start().await;
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let port = free_port();
    let sections = format!(
        "auth: {{issuers: [{{issuer: '{}', prefix: 'corp:', signIn: {{clientId: pages}}}}]}}\n\
         serve: {{publicUrl: 'http://127.0.0.1:{port}/mcp'}}",
        issuer.url
    );
    let config = Config::new().remote_with(SERVER, &server.url, personal()).section(&sections);
    let proxy = with_browser(Proxy::new(&config)).http_at(port).await;
    let meant = "did you mean `corp:bob`?";
    for (command, code) in [
        (vec!["logout", "--as-user", "bob"], 1),
        (vec!["logout", SERVER, "--as-user", "bob"], 1),
        (vec!["sessions", "end", "--as-user", "bob"], 1),
        (vec!["login", SERVER, "--as-user", "bob", "--no-browser"], 2),
    ] {
        let told = proxy.world.run(command.iter().copied()).await.expect(code);
        assert!(told.stderr.contains("there is no user `bob`") && told.stderr.contains(meant), "{command:?}: {told:?}");
    }
    // Somebody who could have logged in, and has not, needs no off-boarding.
    for command in [vec!["logout", "--as-user", "corp:bob"], vec!["sessions", "end", "--as-user", "corp:bob"]] {
        proxy.world.run(command).await.expect(0);
    }
}

#[tokio::test]
async fn the_local_user_has_an_account_on_standard_input_and_output() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let config = Config::new().remote_with(SERVER, &server.url, personal());
    let mut proxy = with_browser(Proxy::new(&config)).environment("USER", "ann").stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await, ["crm_log_in"]);
    let told = proxy.client.call("crm_log_in", "{}").await;
    assert!(told.raw.contains("log in at `crm` first: run `proxy login crm`, then call again"), "{}", told.raw);
    log_in(&proxy.world, &[]).await.expect(0);
    proxy.client.tools_until(|names| names.iter().any(|name| name == "echo")).await;
    assert_eq!(proxy.client.call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    assert_eq!(records(&proxy.world).len(), 2, "the client, and the log-in");
}

#[tokio::test]
async fn a_server_with_one_account_has_none_for_a_person() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let config = Config::new().remote_with("cloud", &server.url, json!({})).section(TOKENS);
    let world = with_browser(Proxy::new(&config));
    let refused = log_in_with(&world, &["--as-user", "ann"]).await.expect(2);
    assert!(
        refused.stderr.contains("has one account for all") && refused.stderr.contains("per: person"),
        "{refused:?}"
    );
    let nothing = world.run(["logout", "--as-user", "ann"]).await.expect(0);
    assert!(nothing.stdout.contains("ann was not logged in anywhere"), "{nothing:?}");
}
