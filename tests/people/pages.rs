//! The pages: from a link to calls with the person's own account.

use super::World;
use crate::support::browser::Browser;

#[tokio::test]
async fn two_people_connect_their_own_accounts_and_each_uses_their_own() {
    // given
    let world = World::start().await;
    let tools = world.client("ann").modern("tools/list", "{}").await;
    assert_eq!(tools.tool_names(), ["crm_log_in"], "{}", tools.raw);
    assert!(tools.raw.contains("customers, invoices") && tools.raw.contains("readOnlyHint"), "{}", tools.raw);
    // when
    let mut tokens = Vec::new();
    for person in ["ann", "bob"] {
        let page = world.connect(&Browser::of(person)).await;
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.html.contains(&format!("Your account at crm is connected as {person}")), "{}", page.html);
        tokens.push(world.authorization.newest("access"));
    }
    // then
    for (person, token) in ["ann", "bob", "ann"].into_iter().zip([&tokens[0], &tokens[1], &tokens[0]]) {
        let mut client = world.client(person);
        let answer = client.modern_call("echo", r#"{"n":1}"#).await;
        assert_eq!(answer.structured(), r#"{"n":1}"#);
        assert_eq!(world.shown(), format!("Bearer {token}"));
        let names = client.modern("tools/list", "{}").await.tool_names();
        assert!(names.contains(&"echo".to_owned()) && !names.contains(&"crm_log_in".to_owned()), "{names:?}");
    }
    let carl = world.client("carl").modern("tools/list", "{}").await.tool_names();
    assert_eq!(carl, ["crm_log_in"]);
    // One client for all, registered with both places that log-ins come back to.
    assert_eq!(world.authorization.seen().count("register"), 1);
    assert!(world.authorization.declared()[0]["redirect_uris"].as_array().is_some_and(|uris| uris.len() == 2));
}

#[tokio::test]
async fn a_sign_in_asks_for_openid_where_the_config_asks_for_nothing_else() {
    let asked = async |world: &World| {
        let browser = Browser::of("ann");
        let page = browser.open(&world.page()).await;
        let hop = browser.press_only(&page, "Sign in").await;
        let address = url::Url::parse(&hop.location.expect("the address of the issuer")).expect("an address");
        let scope = address.query_pairs().find(|(name, _)| name == "scope").map(|(_, scope)| scope.into_owned());
        scope.expect("a scope")
    };
    assert_eq!(asked(&World::start().await).await, "openid");
}

#[tokio::test]
async fn before_anybody_has_signed_in_every_page_looks_alike_and_afterwards_only_those_that_exist_are_there() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    let known = browser.open(&world.page()).await;
    let unknown = browser.open(&format!("{}/connect/nothing", world.url)).await;
    assert_eq!((known.status, unknown.status), (200, 200));
    assert_eq!(known.html, unknown.html.replace("/connect/nothing", "/connect/crm"));
    world.signed_in(&browser).await;
    assert_eq!(browser.open(&world.page()).await.status, 200);
    assert_eq!(browser.open(&format!("{}/connect/nothing", world.url)).await.status, 404);
}

#[tokio::test]
async fn a_scanner_that_opens_links_changes_nothing() {
    let world = World::start().await;
    let scanner = Browser::of("mallory");
    for path in ["connect", "connect/crm", "connect/crm/callback?state=x&code=y", "sign-in/callback?state=x&code=y"] {
        let page = scanner.open(&format!("{}/{path}", world.url)).await;
        assert!(page.location.is_none() && [200, 400].contains(&page.status), "{page:?}");
    }
    assert_eq!((world.redeemed(), world.issuer.redeemed_codes()), (0, 0));
    assert_eq!(world.authorization.seen().count("authorize"), 0);
}

#[tokio::test]
async fn a_person_disconnects_the_account_which_is_revoked() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    world.connect(&browser).await;
    assert!(world.is_connected("ann").await);
    let page = browser.open(&format!("{}/connect", world.url)).await;
    assert!(page.html.contains("crm</a>: connected"), "{}", page.html);
    let page = browser.open(&world.page()).await;
    let page = browser.press(&page, "Disconnect").await;
    assert!(page.has_button("Connect"), "{page:?}");
    assert!(world.authorization.seen().count("revoke") >= 1);
    // The connection that was made with it ends as well, and what the server sends there.
    world.proxy.program.stderr.line("restarting").await;
    assert!(!world.is_connected("ann").await);
}

#[tokio::test]
async fn pages_have_no_script_and_can_be_framed_by_nobody() {
    let world = World::start().await;
    let page = world.signed_in(&Browser::of("ann")).await;
    let header = |name: &str| page.headers[name].to_str().expect("text").to_owned();
    assert!(header("content-security-policy").contains("default-src 'none'"));
    assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
    assert!(!header("content-security-policy").contains("form-action"));
    assert_eq!((header("referrer-policy").as_str(), header("cache-control").as_str()), ("same-origin", "no-store"));
    assert!(!page.html.contains("<script") && !page.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn no_token_code_or_cookie_is_in_the_log() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    world.connect(&browser).await;
    assert!(world.is_connected("ann").await);
    world.assert_clean_log(&[&browser]);
}
