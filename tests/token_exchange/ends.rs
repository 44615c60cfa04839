//! What ends the use of a token: its own end, the server, or the token endpoint.

use serde_json::json;

use super::{Desk, call, tools};
use crate::support::issuer::now;

#[tokio::test]
async fn a_token_that_the_server_refuses_is_exchanged_again_once() {
    let desk = Desk::start().await;
    let proxy = desk.serving().await;
    let ann = desk.issuer.token("ann");
    assert_eq!(tools(&proxy, &ann).await, ["common", "only_ann"]);
    desk.server.refuse_known_tokens();
    assert_eq!(call(&proxy, &ann, "common").await.text(), "ann called common");
    assert_eq!(desk.endpoint.seen().len(), 2);
    // A second refusal in a row is told, and the next call begins anew.
    desk.server.refuse_all_tokens();
    let refused = call(&proxy, &ann, "common").await.text();
    assert!(refused.contains("it refuses the exchanged token"), "{refused}");
    desk.server.refuse_nothing();
    loop {
        if call(&proxy, &ann, "common").await.text() == "ann called common" {
            break;
        }
    }
}

#[tokio::test]
async fn a_refusal_of_the_token_endpoint_is_told_by_its_code_and_not_remembered() {
    let desk = Desk::start().await;
    let proxy = desk.serving().await;
    let ann = desk.issuer.token("ann");
    assert_eq!(tools(&proxy, &ann).await, ["common", "only_ann"]);
    desk.server.refuse_known_tokens();
    desk.endpoint.refuse(Some("invalid_grant"));
    let refused = call(&proxy, &ann, "common").await.text();
    assert!(refused.contains("`invalid_grant`") && !refused.contains("the-reason-of-the-idp"), "{refused}");
    assert!(!proxy.program.stderr.text().contains("the-reason-of-the-idp"));
    // Another person is not concerned.
    desk.endpoint.refuse(None);
    assert_eq!(call(&proxy, &desk.issuer.token("bob"), "common").await.text(), "bob called common");
    loop {
        if call(&proxy, &ann, "common").await.text() == "ann called common" {
            break;
        }
    }
}

#[tokio::test]
async fn a_token_that_is_about_to_end_is_not_exchanged() {
    let desk = Desk::start().await;
    let proxy = desk.serving().await;
    // The clocks may differ, so the proxy itself still accepts it.
    let ending = desk.issuer.token_with("ann", json!({"exp": now() + 10}));
    assert_eq!(tools(&proxy, &ending).await, [""; 0]);
    assert!(desk.endpoint.seen().is_empty(), "{:?}", desk.endpoint.seen());
    assert!(desk.server.visits().is_empty());
    let good = desk.issuer.token("ann");
    assert_eq!(tools(&proxy, &good).await, ["common", "only_ann"]);
    // One that is about to end takes nothing from requests with a better one.
    assert_eq!(call(&proxy, &ending, "common").await.text(), "ann called common");
    let subjects: Vec<String> = desk.endpoint.seen().iter().map(|seen| seen.form["subject_token"].clone()).collect();
    assert_eq!(subjects, [good]);
}
