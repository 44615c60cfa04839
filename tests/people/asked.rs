//! A call before the log-in: the client is asked to open the page, or told where it is.

use serde_json::{Value, json};

use super::{World, stateless_call};
use crate::support::browser::Browser;
use crate::support::message;

const ASKABLE: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;

#[tokio::test]
async fn clients_that_cannot_be_asked_are_told_where_to_log_in() {
    let world = World::start().await;
    // Forms alone: a link in a form would be no better than one in a text.
    for capabilities in ["{}", r#"{"elicitation":{}}"#, r#"{"sampling":{}}"#] {
        let call = message::call("crm_log_in", "{}");
        let answer = world.client("ann").modern_with("tools/call", &call, capabilities).await.value();
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{capabilities}: {answer}");
        let text =
            format!("log in at `crm` first: open {} in a browser, sign in as ann, then call again", world.page());
        assert_eq!(result["content"][0]["text"], text);
        assert_eq!(result["_meta"]["proxy/logIn"], json!({"server": "crm", "url": world.page()}));
        let mut older = world.client("ann");
        older.initialize_with("2025-11-25", capabilities).await.result();
        let answer = older.call("crm_log_in", "{}").await;
        assert!(answer.raw.contains(&text) && answer.raw.contains("\"isError\":true"), "{}", answer.raw);
    }
}

#[tokio::test]
async fn a_client_with_a_session_is_asked_and_its_call_goes_on_after_the_log_in() {
    let world = World::start().await;
    let mut client = world.client("ann");
    client.initialize_with("2025-11-25", ASKABLE).await.result();
    let body = message::request("7", "tools/call", &message::call("crm_log_in", "{}"));
    let mut stream = client.send(&client.legacy(&body)).await;
    let question = stream.next_message().await.expect("a question");
    assert_eq!(question.method().as_deref(), Some("elicitation/create"));
    let params: Value = serde_json::from_str(&question.params()).expect("JSON");
    assert_eq!((params["mode"].as_str(), params["url"].as_str()), (Some("url"), Some(world.page().as_str())));
    let answer = message::result(&question.id().expect("an id"), r#"{"action":"accept"}"#);
    assert_eq!(client.send(&client.legacy(&answer)).await.status, 202);
    world.connect(&Browser::of("ann")).await;
    let mut seen = Vec::new();
    let response = loop {
        let message = stream.next_message().await.expect("an answer");
        if message.is_response() {
            break message;
        }
        seen.push(message.raw);
    };
    assert!(response.raw.contains("you are logged in at `crm`: "), "{}", response.raw);
    let complete = seen.iter().find(|message| message.contains("notifications/elicitation/complete"));
    let complete = complete.unwrap_or_else(|| panic!("{seen:?}"));
    assert!(complete.contains(params["elicitationId"].as_str().expect("an id")), "{complete}");
}

#[tokio::test]
async fn a_client_that_declines_is_told_where_to_log_in() {
    let world = World::start().await;
    let mut client = world.client("ann");
    client.initialize_with("2025-11-25", ASKABLE).await.result();
    let body = message::request("7", "tools/call", &message::call("crm_log_in", "{}"));
    let mut stream = client.send(&client.legacy(&body)).await;
    let question = stream.next_message().await.expect("a question");
    let answer = message::result(&question.id().expect("an id"), r#"{"action":"decline"}"#);
    client.send(&client.legacy(&answer)).await;
    let response = stream.response().await;
    assert!(response.raw.contains("log in at `crm` first"), "{}", response.raw);
}

#[tokio::test]
async fn a_stateless_client_is_asked_and_its_retry_goes_on_after_the_log_in() {
    let world = World::start().await;
    let mut client = world.client("ann");
    // The last list stays after a log-in has ended: then it is a tool of the server that asks.
    let browser = Browser::of("ann");
    world.connect(&browser).await;
    assert!(world.is_connected("ann").await);
    world.authorization.end_log_ins();
    world.server.refuse_known_tokens();
    let asked = stateless_call(&mut client, ASKABLE, json!({})).await.value();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let (key, question) = result["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
    assert_eq!(question["params"]["url"], json!(world.page()), "{asked}");
    assert!(question["params"]["elicitationId"].is_null(), "{asked}");
    let page = browser.open(&world.page()).await;
    let page =
        browser.press(&page, if page.has_button("Connect") { "Connect" } else { "Connect another account" }).await;
    assert_eq!(page.status, 200, "{page:?}");
    let more = json!({"requestState": result["requestState"], "inputResponses": {key: {"action": "accept"}}});
    let answer = stateless_call(&mut client, ASKABLE, more).await;
    assert_eq!(answer.structured(), "{}", "{}", answer.raw);
    assert_eq!(world.shown(), format!("Bearer {}", world.authorization.newest("access")));
}

#[tokio::test]
async fn a_retry_that_comes_before_the_log_in_waits_for_it() {
    let world = World::start().await;
    let mut client = world.client("ann");
    let call = message::call("crm_log_in", "{}");
    let asked = client.modern_with("tools/call", &call, ASKABLE).await.value();
    let result = &asked["result"];
    let (key, _) = result["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
    let mut params: Value = serde_json::from_str(&call).expect("params");
    params["requestState"] = result["requestState"].clone();
    params["inputResponses"] = json!({key: {"action": "accept"}});
    let params = params.to_string();
    let retry = client.modern_with("tools/call", &params, ASKABLE);
    let ann = Browser::of("ann");
    let (answer, page) = tokio::join!(retry, world.connect(&ann));
    assert_eq!(page.status, 200, "{page:?}");
    assert!(answer.raw.contains("you are logged in at `crm`"), "{}", answer.raw);
}
