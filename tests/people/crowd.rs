//! Visitors whom nobody knows do not keep others from their accounts.

use super::World;
use crate::support::browser::Browser;

#[tokio::test]
async fn a_visitor_who_begins_a_thousand_sign_ins_keeps_nobody_from_signing_in() {
    // Given a visitor at the address from which all come, as behind a reverse proxy
    let world = World::start().await;
    let mallory = Browser::of("mallory");
    let page = mallory.open(&world.page()).await;
    mallory.press_only(&page, "Sign in").await;
    let asked = world.issuer.metadata_fetches();
    // When they begin a thousand sign-ins, and end none
    for number in 0..1000 {
        let hop = mallory.press_only(&page, "Sign in").await;
        assert_eq!(hop.status, 303, "{number}: {hop:?}");
    }
    // Then the issuer was not asked where to send people each time
    assert_eq!(world.issuer.metadata_fetches(), asked);
    // And others sign in
    let done = world.connect(&Browser::of("ann")).await;
    assert!(done.html.contains("connected as ann"), "{done:?}");
}

#[tokio::test]
async fn of_two_sign_ins_in_one_browser_the_last_one_counts() {
    let world = World::start().await;
    let ann = Browser::of("ann");
    let callback = format!("{}/sign-in/callback", world.url);
    let page = ann.open(&world.page()).await;
    let hop = ann.press_only(&page, "Sign in").await;
    let first = ann.follow_to(hop, &callback).await;
    let hop = ann.press_only(&page, "Sign in").await;
    let second = ann.follow_to(hop, &callback).await;
    assert_eq!(ann.visit(&first).await.status, 400);
    let page = ann.visit(&second).await;
    assert!(page.has_button("Connect"), "{page:?}");
    assert_eq!(world.issuer.redeemed_codes(), 1);
    assert!(ann.cookie("proxy-sign-in").is_none());
}
