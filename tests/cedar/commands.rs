//! Commands show and do what a named user could.

use super::{CEDAR, SECRETS};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const OPS: &str = r#"{"groups": ["ops"]}"#;

/// Users come from an issuer that is not reachable: commands describe them.
fn company() -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo,secret"]))
        .section("auth: {issuers: [{issuer: 'http://127.0.0.1:9', prefix: 'co:'}], requiredScopes: [mcp]}")
        .section(CEDAR);
    Proxy::new(&config).file("policies/a.cedar", SECRETS)
}

async fn shows(proxy: &Proxy, arguments: &[&str]) -> Finished {
    proxy.run(arguments.iter().copied()).await
}

#[tokio::test]
async fn every_command_shows_what_is_there_for_the_named_user() {
    let proxy = company();
    proxy.run(["list-tools"]).await.expect(0);
    for command in
        [vec!["list-tools"], vec!["find", "tell the secret"], vec!["types"], vec!["explain", "secret"], vec!["check"]]
    {
        let of = |claims: &[&'static str]| [command.as_slice(), &["--as-user", "co:ann"], claims].concat();
        let (outsider, insider) =
            (shows(&proxy, &of(&[])).await, shows(&proxy, &of(&["--claims", OPS])).await.expect(0));
        assert!(insider.stdout.contains("secret"), "{command:?}: {}", insider.stdout);
        match command[0] {
            "explain" => assert!(outsider.stdout.contains("forbidden by"), "{}", outsider.stdout),
            "check" => assert!(outsider.stdout.contains("1 tool published"), "{}", outsider.stdout),
            _ => assert!(!outsider.stdout.contains("secret"), "{command:?}: {}", outsider.stdout),
        }
    }
}

#[tokio::test]
async fn a_call_and_a_script_run_with_the_rights_of_the_named_user_here_and_in_the_running_proxy() {
    let proxy = company().file("tell.star", "secret()\n");
    let serving = crate::command_line::running::serving(proxy).await;
    let proxy = &serving.world;
    for live in [None, Some("--live")] {
        for command in [["call", "secret"], ["exec", "tell.star"]] {
            let of = |claims: &'static str| {
                let claims = ["--as-user", "co:ann", "--claims", claims];
                command.into_iter().chain(claims).chain(live).collect::<Vec<_>>()
            };
            shows(proxy, &of(OPS)).await.expect(0);
            let refused = shows(proxy, &of("{}")).await.expect(1);
            assert!(!refused.stderr.contains("forbid"), "denied and unknown read alike: {}", refused.stderr);
        }
    }
}

#[tokio::test]
async fn claims_that_no_token_could_have_are_told() {
    let proxy = company();
    let refused = async |user: &str, claims: &str| {
        proxy.run(["list-tools", "--as-user", user, "--claims", claims]).await.expect(2).stderr
    };
    assert!(refused("co:ann", "[]").await.contains("--claims must be a JSON object"));
    assert!(refused("ann", OPS).await.contains("no issuer has a user `ann`"));
    assert!(refused("co:ann", r#"{"scope": "other"}"#).await.contains("without the scope `mcp`"));
    let alone = proxy.run(["list-tools", "--claims", OPS]).await.expect(2).stderr;
    assert!(alone.contains("--as-user"), "{alone}");
}

#[tokio::test]
async fn a_live_check_tells_which_issuer_cannot_be_reached() {
    let checked = company().run(["check", "--live"]).await.expect(1);
    assert!(checked.stderr.contains("issuer `http://127.0.0.1:9`: cannot fetch its metadata"), "{}", checked.stderr);
}
