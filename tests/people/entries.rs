//! Whose account is used: of two entries, in two tabs, in a session of somebody else.

use super::{World, personal};
use crate::support::browser::Browser;
use crate::support::message;

const PREFIX: &str = "aggregation: { conflictResolution: prefix }";

/// The number of calls that have reached the server. The proxy lists whenever it likes.
fn calls(world: &World) -> usize {
    world.server.visits().iter().filter(|visit| visit.method.as_deref() == Some("tools/call")).count()
}

#[tokio::test]
async fn two_entries_of_one_url_are_two_accounts_of_a_person() {
    let world = World::with(PREFIX, |config, url| config.remote_with("billing", url, personal())).await;
    let browser = Browser::of("ann");
    world.connect(&browser).await;
    let crm = world.authorization.newest("access");
    let page = browser.open(&format!("{}/connect/billing", world.url)).await;
    browser.press(&page, "Connect").await;
    let billing = world.authorization.newest("access");
    let mut client = world.client("ann");
    for (tool, token) in [("crm_echo", &crm), ("billing_echo", &billing), ("crm_echo", &crm)] {
        assert_eq!(client.modern_call(tool, r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
        assert_eq!(world.shown(), format!("Bearer {token}"), "{tool}");
    }
    // One of them ends alone.
    let page = browser.open(&world.page()).await;
    browser.press(&page, "Disconnect").await;
    let told = client.modern_call("crm_echo", "{}").await;
    assert!(told.raw.contains("log in at `crm` first"), "{}", told.raw);
    client.modern_call("billing_echo", "{}").await.structured();
    assert_eq!(world.shown(), format!("Bearer {billing}"));
}

#[tokio::test]
async fn the_tools_of_two_accounts_have_the_same_names_whichever_is_connected_first() {
    // Given two accounts at one service, and no setting for names
    let world = World::with("", |config, url| config.remote_with("billing", url, personal())).await;
    let tools = async || world.client("ann").modern("tools/list", "{}").await.tool_names();
    assert_eq!(tools().await, ["crm_log_in", "billing_log_in"]);
    // When the later one is connected first
    let browser = Browser::of("ann");
    let page = browser.open(&format!("{}/connect/billing", world.url)).await;
    let page = browser.press(&page, "Sign in").await;
    browser.press(&page, "Connect").await;
    let before = tools().await;
    // Then its tools are called as they are when both are connected
    assert!(before.contains(&"billing_echo".to_owned()) && !before.contains(&"echo".to_owned()), "{before:?}");
    let billing = world.authorization.newest("access");
    world.client("ann").modern_call("billing_echo", "{}").await.structured();
    assert_eq!(world.shown(), format!("Bearer {billing}"));
    let page = browser.open(&world.page()).await;
    browser.press(&page, "Connect").await;
    let crm = world.authorization.newest("access");
    let after = tools().await;
    assert!(after.contains(&"crm_echo".to_owned()) && after.contains(&"billing_echo".to_owned()), "{after:?}");
    for (tool, token) in [("billing_echo", &billing), ("crm_echo", &crm)] {
        world.client("ann").modern_call(tool, "{}").await.structured();
        assert_eq!(world.shown(), format!("Bearer {token}"), "{tool}");
    }
}

#[tokio::test]
async fn a_session_of_one_person_is_no_way_to_their_account() {
    let world = World::start().await;
    world.connect(&Browser::of("ann")).await;
    let mut ann = world.client("ann");
    ann.initialize("2025-11-25").await.result();
    assert_eq!(ann.call("echo", r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    let before = calls(&world);
    let bob = world.client("bob").with_session(ann.session().expect("a session"));
    for method in ["tools/list", "tools/call"] {
        let body = message::request("9", method, &message::call("echo", "{}"));
        assert_eq!(bob.send(&bob.legacy(&body)).await.status, 404, "{method}");
    }
    assert_eq!(calls(&world), before, "nothing reached the server");
    assert_eq!(ann.call("echo", r#"{"n":2}"#).await.structured(), r#"{"n":2}"#);
}

#[tokio::test]
async fn a_link_that_is_open_in_two_tabs_connects_in_both() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    let first = world.signed_in(&browser).await;
    let second = browser.open(&world.page()).await;
    let callback = format!("{}/callback", world.page());
    let hop = browser.press_only(&first, "Connect").await;
    let first = browser.follow_to(hop, &callback).await;
    let hop = browser.press_only(&second, "Connect").await;
    let second = browser.follow_to(hop, &callback).await;
    // The later tab comes back first.
    for answer in [&second, &first] {
        let page = browser.visit(answer).await;
        assert!(page.html.contains("connected as ann"), "{page:?}");
    }
    assert!(world.is_connected("ann").await);
    assert_eq!(world.shown(), format!("Bearer {}", world.authorization.newest("access")));
    assert_eq!(world.authorization.seen().count("register"), 1);
    world.assert_clean_log(&[&browser]);
}

#[tokio::test]
async fn a_person_has_five_log_ins_open_and_the_sixth_is_refused_until_one_has_ended() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    let page = world.signed_in(&browser).await;
    let mut last = None;
    for _ in 0..5 {
        last = Some(browser.press_only(&page, "Connect").await);
    }
    let refused = browser.press_only(&page, "Connect").await;
    assert!(refused.location.is_none() && refused.status >= 400, "{refused:?}");
    // Others are not kept from theirs.
    let done = world.connect(&Browser::of("bob")).await;
    assert!(done.html.contains("connected as bob"), "{done:?}");
    let done = browser.follow(last.expect("a page")).await;
    assert!(done.html.contains("connected as ann"), "{done:?}");
    assert_eq!(browser.press_only(&page, "Connect").await.status, 303);
}

#[tokio::test]
async fn what_an_operator_names_is_no_way_to_a_persons_account() {
    let world = World::start().await;
    world.connect(&Browser::of("ann")).await;
    assert!(world.is_connected("ann").await);
    let before = calls(&world);
    let told = world.proxy.world.run(["call", "echo", "--as-user", "ann"]).await;
    assert_ne!(told.code, 0, "{told:?}");
    assert_eq!(calls(&world), before, "nothing reached the server");
}
