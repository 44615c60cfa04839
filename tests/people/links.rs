//! Links and answers that somebody else has sent on, or made up: an account is connected to whoever proves to be there.

use super::{SERVER, World, personal};
use crate::support::authorization_server::Approval;
use crate::support::browser::Browser;

const ANOTHER_BROWSER: &str = "started in another browser";

#[tokio::test]
async fn a_link_that_was_sent_on_connects_the_account_of_whoever_opens_it() {
    let world = World::start().await;
    // given: what ann's client was told
    let told = world.client("ann").modern_call("crm_log_in", "{}").await;
    assert!(told.raw.contains(&world.page()), "{}", told.raw);
    // when: bob opens it
    let page = world.connect(&Browser::of("bob")).await;
    // then
    assert!(page.html.contains("connected as bob"), "{}", page.html);
    assert!(world.is_connected("bob").await);
    assert!(!world.is_connected("ann").await);
}

#[tokio::test]
async fn a_second_hop_that_was_sent_on_connects_nobody() {
    let world = World::start().await;
    let (ann, bob) = (Browser::of("ann"), Browser::of("bob"));
    let page = world.signed_in(&ann).await;
    let hop = ann.press_only(&page, "Connect").await.location.expect("a redirect");
    assert!(hop.starts_with(&world.authorization.url), "{hop}");
    // Bob has a page of his own open, agrees at the server's authorization server, and comes back.
    world.signed_in(&bob).await;
    let back = bob.visit(&hop).await;
    assert_eq!(back.status, 400, "{back:?}");
    assert!(back.html.contains(ANOTHER_BROWSER), "{}", back.html);
    assert_eq!(world.redeemed(), 0, "the code stays unredeemed");
    assert!(!world.is_connected("ann").await && !world.is_connected("bob").await);
}

#[tokio::test]
async fn a_sign_in_that_was_sent_on_signs_nobody_in() {
    let world = World::start().await;
    let (mallory, ann) = (Browser::of("mallory"), Browser::of("ann"));
    let page = mallory.open(&world.page()).await;
    let hop = mallory.press_only(&page, "Sign in").await;
    let answer = mallory.follow_to(hop, &format!("{}/sign-in/callback", world.url)).await;
    // With mallory's answer, ann would connect her account for mallory.
    ann.open(&world.page()).await;
    let back = ann.visit(&answer).await;
    assert_eq!(back.status, 400, "{back:?}");
    assert!(ann.cookie("proxy-person").is_none());
    assert_eq!(world.issuer.redeemed_codes(), 0);
}

#[tokio::test]
async fn an_answer_counts_once() {
    let world = World::start().await;
    let ann = Browser::of("ann");
    let page = ann.open(&world.page()).await;
    let hop = ann.press_only(&page, "Sign in").await;
    let sign_in = ann.follow_to(hop, &format!("{}/sign-in/callback", world.url)).await;
    let page = ann.visit(&sign_in).await;
    let hop = ann.press_only(&page, "Connect").await;
    let log_in = ann.follow_to(hop, &format!("{}/callback", world.page())).await;
    assert_eq!(ann.visit(&log_in).await.status, 200);
    for replayed in [sign_in, log_in] {
        let again = ann.visit(&replayed).await;
        assert_eq!(again.status, 400, "{again:?}");
        assert!(again.html.contains(ANOTHER_BROWSER), "{}", again.html);
    }
    assert_eq!((world.redeemed(), world.issuer.redeemed_codes()), (1, 1));
}

#[tokio::test]
async fn a_cookie_that_was_planted_before_the_sign_in_is_nobody_afterwards() {
    let world = World::start().await;
    let (ann, mallory) = (Browser::of("ann"), Browser::of("mallory"));
    let planted = "5".repeat(64);
    ann.plant("proxy-person", &planted);
    let page = world.signed_in(&ann).await;
    assert!(page.has_button("Connect"), "{page:?}");
    assert_ne!(ann.cookie("proxy-person").as_deref(), Some(planted.as_str()));
    mallory.plant("proxy-person", &planted);
    let page = mallory.open(&world.page()).await;
    assert!(page.has_button("Sign in") && !page.has_button("Connect"), "{page:?}");
}

#[tokio::test]
async fn somebody_else_who_signs_in_between_the_hops_changes_nothing() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    let page = world.signed_in(&browser).await;
    let hop = browser.press_only(&page, "Connect").await;
    let answer = browser.follow_to(hop, &format!("{}/callback", world.page())).await;
    browser.press(&page, "Sign out").await;
    browser.plant(crate::support::issuer::SIGNED_IN, "bob");
    let page = world.signed_in(&browser).await;
    assert!(page.html.contains("You are <strong>bob"), "{}", page.html);
    let done = browser.visit(&answer).await;
    assert!(done.html.contains("connected as ann"), "{}", done.html);
    assert!(world.is_connected("ann").await && !world.is_connected("bob").await);
}

#[tokio::test]
async fn the_answer_of_one_server_is_none_of_another() {
    let world = World::with("", |config, url| config.remote_with("billing", url, personal())).await;
    let browser = Browser::of("ann");
    let page = world.signed_in(&browser).await;
    let hop = browser.press_only(&page, "Connect").await;
    let answer = browser.follow_to(hop, &format!("{}/callback", world.page())).await;
    let elsewhere = answer.replace(&format!("/{SERVER}/callback"), "/billing/callback");
    let back = browser.visit(&elsewhere).await;
    assert_eq!(back.status, 400, "{back:?}");
    assert_eq!(world.redeemed(), 0);
}

#[tokio::test]
async fn an_answer_in_the_name_of_another_issuer_is_refused() {
    for (approval, status) in [(Approval::WrongIssuer, 400), (Approval::NoIssuer, 400), (Approval::Denied, 400)] {
        let world = World::start().await;
        world.authorization.set(|settings| settings.approval = approval);
        let page = world.connect(&Browser::of("ann")).await;
        assert_eq!(page.status, status, "{approval:?}: {page:?}");
        assert_eq!(page.html.contains("the-person-said-no"), approval == Approval::Denied, "{}", page.html);
        assert_eq!(world.redeemed(), 0, "{approval:?}");
    }
}

#[tokio::test]
async fn a_form_of_another_page_is_refused() {
    let world = World::start().await;
    let browser = Browser::of("ann");
    let page = world.signed_in(&browser).await;
    let (action, fields) = page.form("Connect");
    for origin in ["https://evil.example", "null"] {
        let refused = browser.post(&action, &fields, Some(origin)).await;
        assert_eq!(refused.status, 403, "{origin}: {refused:?}");
    }
    let without: Vec<_> = fields.iter().filter(|(name, _)| name != "csrf").cloned().collect();
    assert_eq!(browser.post(&action, &without, None).await.status, 403);
    // That of another person's page.
    let bob = Browser::of("bob");
    let (_, others) = world.signed_in(&bob).await.form("Connect");
    assert_eq!(browser.post(&action, &others, None).await.status, 403);
    assert_eq!(world.authorization.seen().count("authorize"), 0);
    // Browsers of old send no origin.
    assert_eq!(browser.post(&action, &fields, None).await.status, 303);
}
