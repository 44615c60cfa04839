//! Authorization servers and issuers that refuse, change or fail: the page and the call say which, and nobody is connected by
//! halves.

use serde_json::json;

use super::{SERVER, World, personal};
use crate::support::authorization_server::{Approval, Fault};
use crate::support::browser::Browser;
use crate::support::config::Config;
use crate::support::issuer::Issuer;
use crate::support::message;
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;
use crate::support::real_servers::free_port;
use crate::support::redis::Redis;

const ASKABLE: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;

#[tokio::test]
async fn an_authorization_server_that_changes_its_issuer_between_the_hops_gets_no_code() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    let page = world.signed_in(&browser).await;
    let hop = browser.press_only(&page, "Connect").await;
    world.authorization.set(|settings| settings.claimed_issuer = Some("https://another.example".to_owned()));
    let answer = browser.follow_to(hop, &format!("{}/callback", world.page())).await;
    let back = browser.visit(&answer).await;
    assert_eq!(back.status, 400, "{back:?}");
    assert_eq!(world.redeemed(), 0);
    // Whoever begins now is not sent to a server whose metadata name another.
    let page = browser.open(&world.page()).await;
    let refused = browser.press_only(&page, "Connect").await;
    assert!(refused.location.is_none() && refused.status >= 400, "{refused:?}");
    assert!(!refused.html.contains("another.example\"") && !world.is_connected("ann").await, "{}", refused.html);
    world.assert_clean_log(&[&browser]);
}

#[tokio::test]
async fn a_log_in_without_a_refresh_token_lasts_as_long_as_its_token() {
    let world = World::start().await;
    world.authorization.set(|settings| settings.gives_refresh_tokens = false);
    let browser = Browser::of("ann");
    world.connect(&browser).await;
    assert!(world.is_connected("ann").await);
    world.authorization.end_access_tokens();
    let told = world.client("ann").modern_call("echo", "{}").await;
    assert!(told.raw.contains("log in at `crm` first"), "{}", told.raw);
    assert!(told.raw.contains(&world.page()), "{}", told.raw);
    assert!(told.raw.contains("(the last log-in has ended, and could not be renewed)"), "{}", told.raw);
    let page = browser.open(&world.page()).await;
    let label = if page.has_button("Connect") { "Connect" } else { "Connect another account" };
    browser.press(&page, label).await;
    assert!(world.is_connected("ann").await);
}

#[tokio::test]
async fn an_authorization_server_that_is_out_of_order_is_told_and_another_attempt_succeeds() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    let page = world.signed_in(&browser).await;
    for kind in ["register", "authorization_code"] {
        // As often as it is tried again.
        for _ in 0..4 {
            world.authorization.next(kind, Fault::Status(503));
        }
        let told = browser.press(&page, "Connect").await;
        assert!(told.status >= 400 && told.html.contains("503"), "{kind}: {told:?}");
        let call = world.client("ann").modern_call("crm_log_in", "{}").await;
        assert!(call.raw.contains("(the last attempt failed: ") && call.raw.contains("503"), "{kind}: {}", call.raw);
        assert!(!world.is_connected("ann").await);
        while world.authorization.withdraw(kind) {}
    }
    let page = browser.open(&world.page()).await;
    let done = browser.press(&page, "Connect").await;
    assert!(done.html.contains("connected as ann"), "{done:?}");
}

#[tokio::test]
async fn a_person_who_refuses_the_consent_is_told_so_on_the_page_and_in_the_call() {
    let world = World::start().await;
    let before = world.client("ann").modern_call("crm_log_in", "{}").await;
    assert!(!before.raw.contains("the last"), "nothing has failed yet: {}", before.raw);
    world.authorization.set(|settings| settings.approval = Approval::Denied);
    let page = world.connect(&Browser::of("ann")).await;
    assert!(page.html.contains("the-person-said-no"), "{page:?}");
    let told = world.client("ann").modern_call("crm_log_in", "{}").await;
    assert!(told.raw.contains("(the last attempt failed: ") && told.raw.contains("the-person-said-no"), "{}", told.raw);
    let other = world.client("bob").modern_call("crm_log_in", "{}").await;
    assert!(!other.raw.contains("the last"), "it is nobody else's business: {}", other.raw);
    // A log-in that succeeds is the last one.
    world.authorization.set(|settings| settings.approval = Approval::Code);
    world.connect(&Browser::of("ann")).await;
    world.authorization.end_log_ins();
    world.server.refuse_known_tokens();
    let told = world.client("ann").modern_call("crm_log_in", "{}").await;
    assert!(told.raw.contains("(the last log-in has ended: "), "{}", told.raw);
}

#[tokio::test]
async fn a_person_whom_the_issuer_no_longer_knows_connects_nothing_while_a_call_waits() {
    let slow = |config: Config, url: &str| {
        let mut entry = personal();
        entry["inputTimeout"] = json!("3s");
        config.remote_with(SERVER, url, entry)
    };
    let world = World::with("", slow).await;
    let mut client = world.client("ann");
    client.initialize_with("2025-11-25", ASKABLE).await.result();
    let body = message::request("7", "tools/call", &message::call("crm_log_in", "{}"));
    let mut stream = client.send(&client.legacy(&body)).await;
    let question = stream.next_message().await.expect("a question");
    let answer = message::result(&question.id().expect("an id"), r#"{"action":"accept"}"#);
    client.send(&client.legacy(&answer)).await;
    // The administrator removes ann meanwhile.
    world.issuer.forget("ann");
    let browser = Browser::of("ann");
    let page = browser.open(&world.page()).await;
    let refused = browser.press(&page, "Sign in").await;
    assert!(refused.status >= 400 && refused.html.contains("access_denied"), "{refused:?}");
    assert!(browser.cookie("proxy-person").is_none());
    let log = world.proxy.program.stderr.line("somebody could not sign in").await;
    assert!(log.contains("WARN") && log.contains("access_denied") && log.contains(&world.issuer.url), "{log}");
    let response = stream.response().await;
    assert!(response.raw.contains("log in at `crm` first"), "{}", response.raw);
    assert_eq!(world.authorization.seen().count("authorize"), 0);
}

/// What Redis keeps for ten minutes: the log-ins that have begun. Afterwards it is gone.
const TEN_MINUTES_LATER: &str = "local gone = 0 for _, key in ipairs(redis.call('KEYS', '*')) do \
    local left = redis.call('PTTL', key) if left > 540000 and left <= 600000 then redis.call('DEL', key) \
    gone = gone + 1 end end return gone";

#[tokio::test]
async fn an_answer_after_ten_minutes_is_too_late() {
    let Some(redis) = Redis::start().await else { return };
    let issuer = Issuer::start().await;
    let port = free_port();
    let authorization = crate::support::authorization_server::AuthorizationServer::start().await;
    let server = ProtectedServer::start(&authorization).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let sections = super::sections(&issuer, &url);
    let sections = sections.replace("serve: {", "serve: {stateKeys: ['0123456789abcdef0123456789abcdef'], ");
    let config = Config::new()
        .remote_with(SERVER, &server.url, personal())
        .section(&sections)
        .section(&format!("store: {{url: '{}'}}", redis.url()));
    let proxy = Proxy::new(&config).http_at(port).await;
    let browser = Browser::of("ann");
    let page = browser.open(&format!("{url}/connect/{SERVER}")).await;
    for label in ["Sign in", "Connect"] {
        let page = if label == "Sign in" { page.clone() } else { browser.press(&page, "Sign in").await };
        let hop = browser.press_only(&page, label).await;
        let answer = browser.follow_to(hop, &url).await;
        let gone = redis.ask(&["EVAL", TEN_MINUTES_LATER, "0"]).await;
        // The browser itself keeps a sign-in for ten minutes. Nothing is stored for somebody who has not signed in.
        assert_eq!(gone.contains("int(0)"), label == "Sign in", "{label}: {gone}");
        browser.plant("proxy-sign-in", "");
        let late = browser.visit(&answer).await;
        assert_eq!(late.status, 400, "{label}: {late:?}");
    }
    assert_eq!((issuer.redeemed_codes(), authorization.seen().count("authorization_code")), (1, 0));
    drop(proxy);
}
