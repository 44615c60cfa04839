//! What is secret stays where it belongs, whatever is logged.

use serde_json::json;

use crate::support::authorization_server::{AuthorizationServer, Fault, Registration};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::log_ins::{SERVER, log_in_with, opened, with_browser, world};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;

const LOUD: [&str; 2] = ["--log", "trace"];

#[tokio::test]
async fn no_log_at_any_level_and_no_output_has_a_secret() {
    let authorization = AuthorizationServer::with(|settings| settings.registration = Registration::Basic).await;
    let server = ProtectedServer::with(&authorization, |rules| rules.tool_scopes = vec![("add_tool", "write")]).await;
    let world = world(&server);
    let run = async |arguments: &[&str]| world.run(arguments.iter().chain(&LOUD).copied()).await;
    let mut said: Vec<Finished> = vec![log_in_with(&world, &LOUD).await.expect(0)];
    said.push(run(&["call", "echo"]).await.expect(0));
    said.push(run(&["call", "add_tool", "name=x"]).await);
    authorization.end_access_tokens();
    said.push(run(&["call", "echo"]).await.expect(0));
    authorization.end_access_tokens();
    authorization.next("refresh_token", Fault::Status(500));
    said.push(run(&["call", "echo"]).await);
    authorization.next("authorization_code", Fault::Error("invalid_request"));
    said.push(log_in_with(&world, &LOUD).await);
    for arguments in [&["list-servers"][..], &["list-tools"], &["login", "--list"], &["login", "--list", "--json"]] {
        said.push(run(arguments).await);
    }
    authorization.end_log_ins();
    said.push(run(&["call", "echo"]).await);
    said.push(log_in_with(&world, &LOUD).await);
    said.push(run(&["logout", "cloud"]).await);

    let said: String = said.iter().map(|finished| format!("{}{}", finished.stdout, finished.stderr)).collect();
    assert!(said.contains("TRACE") || said.contains("trace"), "nothing was logged");
    let secrets = authorization.secrets();
    // Codes, verifiers, client secret, and both kinds of tokens.
    for kind in ["code-", "access-", "refresh-", "client-secret-"] {
        assert!(secrets.iter().any(|secret| secret.starts_with(kind)), "{kind}");
    }
    // What the browser is sent back with is its own; `state` guards the callback.
    let states: Vec<_> =
        authorization.seen().of("authorize").iter().filter_map(|seen| seen.get("state").map(str::to_owned)).collect();
    let printed: String = opened(&world).concat();
    let without_addresses: String = said.lines().filter(|line| !line.contains("code_challenge=")).collect();
    assert!(printed.contains("code_challenge="));
    for secret in secrets {
        let line = said.lines().find(|line| line.contains(&secret));
        assert_eq!(line, None, "{secret}");
    }
    for state in states {
        assert!(!without_addresses.contains(&state), "{state}");
    }
}

#[tokio::test]
async fn a_clients_token_reaches_neither_the_server_nor_its_authorization_server() {
    let authorization = AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let sections =
        "auth: {tokens: [{token: token-of-ann-for-the-proxy, sub: ann}]}\nsessionInit: {preset: passthrough}";
    let config = Config::new().remote_with(SERVER, &server.url, json!({})).section(sections);
    let world = with_browser(Proxy::new(&config));
    log_in_with(&world, &[]).await.expect(0);
    let proxy = world.http().await;
    let mut client = proxy.client().with_header("Authorization", "Bearer token-of-ann-for-the-proxy");
    client.initialize("2025-11-25").await.result();
    authorization.end_access_tokens();
    client.call("echo", "{}").await.structured();
    authorization.end_log_ins();
    client.call("echo", "{}").await;
    let shown = format!("{:?}{:?}", server.visits(), authorization.seen());
    assert!(shown.contains("refresh_token") && !shown.contains("token-of-ann-for-the-proxy"), "{shown}");
    assert!(!proxy.program.stderr.text().contains("token-of-ann-for-the-proxy"));
}
