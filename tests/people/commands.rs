//! People without a page: those of static tokens, and the local user.

use serde_json::json;

use super::{SERVER, personal};
use crate::support::authorization_server::AuthorizationServer;
use crate::support::config::Config;
use crate::support::log_ins::{log_in_with, open, opened, records, with_browser};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;

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
    // A call at this very moment would end with the connection.
    proxy.program.stderr.line("restarting").await;
    let told = ann.modern_call("echo", "{}").await;
    assert!(told.raw.contains("log in at `crm` first"), "{}", told.raw);
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
