//! Visitors whom nobody knows do not keep others from their accounts.

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::World;
use crate::support::browser::Browser;
use crate::support::issuer::SIGN_IN_CODE;

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

/// The answer of the issuer to whoever sits at the browser, with another code.
async fn begun(world: &World, browser: &Browser, code: &str) -> String {
    let page = browser.open(&world.page()).await;
    let hop = browser.press_only(&page, "Sign in").await;
    let answer = browser.follow_to(hop, &format!("{}/sign-in/callback", world.url)).await;
    let (before, after) = answer.split_once(SIGN_IN_CODE).expect("a code");
    format!("{before}{code}{after}")
}

#[tokio::test]
async fn an_answer_of_the_issuer_counts_once_even_if_the_browser_keeps_its_cookie() {
    let world = World::start().await;
    let ann = Browser::of("ann");
    let answer = begun(&world, &ann, SIGN_IN_CODE).await;
    let kept = ann.cookie("proxy-sign-in").expect("a sign-in has begun");
    let page = ann.visit(&answer).await;
    assert!(page.has_button("Connect"), "{page:?}");
    for again in [answer.clone(), answer.replace(SIGN_IN_CODE, "junk")] {
        ann.plant("proxy-sign-in", &kept);
        let refused = ann.visit(&again).await;
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    assert_eq!(world.issuer.code_requests(), 1, "the issuer is asked once");
    let done = ann.press(&page, "Connect").await;
    assert!(done.html.contains("connected as ann"), "{done:?}");
    assert!(world.is_connected("ann").await);
    world.assert_clean_log(&[&ann]);
}

#[tokio::test]
async fn a_flood_of_answers_with_one_cookie_keeps_nobody_from_signing_in() {
    // Given an issuer that takes its time about codes that it does not know, and a visitor with a hundred of them
    let world = World::start().await;
    world.issuer.brood();
    let mallory = Browser::of("mallory");
    let answer = begun(&world, &mallory, "junk").await;
    let visits = (0..100).map(|number| mallory.open_owned(answer.replace("junk", &format!("junk-{number}"))));
    let mut flood: FuturesUnordered<_> = visits.collect();
    // When all come at once
    for _ in 1..100 {
        let refused = flood.next().await.expect("an answer");
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    // Then the issuer was asked about one of them, and others sign in meanwhile
    assert_eq!(world.issuer.code_requests(), 1);
    let done = world.connect(&Browser::of("ann")).await;
    assert!(done.html.contains("connected as ann"), "{done:?}");
}

#[tokio::test]
async fn who_signs_in_while_very_many_do_is_asked_to_come_back_soon() {
    // Given more visitors than wait for the issuer, each of whom has begun to sign in
    let world = World::start().await;
    world.issuer.brood();
    let visitors: Vec<Browser> = (0..80).map(|number| Browser::of(&format!("visitor-{number}"))).collect();
    let mut answers = Vec::new();
    for visitor in &visitors {
        answers.push(begun(&world, visitor, "junk").await);
    }
    // When they come back
    let visits = visitors.iter().zip(answers).map(|(visitor, answer)| visitor.open_owned(answer));
    let mut visits: FuturesUnordered<_> = visits.collect();
    // Then the last ones are told at once
    let told = visits.next().await.expect("an answer");
    assert_eq!(told.status, 503, "{told:?}");
    assert!(told.headers.contains_key("retry-after") && told.html.contains("try again"), "{told:?}");
}
