//! What crosses between the eras, and what cannot.

use serde_json::json;

use super::{Client, ERAS, EVERYTHING, one_server, text};
use crate::support::config::Config;
use crate::support::in_process::Proxy;
use crate::support::message;
use crate::support::modern::VERSION;
use crate::support::programs::fake_backend;

#[tokio::test]
async fn a_form_is_shown_and_its_answer_reaches_the_server_in_every_combination_of_eras() {
    for era in ERAS {
        for modern in [false, true] {
            let mut client = Client::of(&one_server(era, json!({})), modern, EVERYTHING).await;
            let answer = json!({"action": "accept", "content": {"colour": "teal"}});
            let (questions, outcome) = client.converse("ask", json!({"message": "Which?"}), answer).await;
            assert_eq!(questions.len(), 1, "{era} server, modern client {modern}: {outcome}");
            assert_eq!(questions[0]["method"], "elicitation/create");
            assert_eq!(questions[0]["params"]["message"], "Which?");
            let got = outcome["result"]["structuredContent"].to_string();
            assert!(got.contains(r#""content":{"colour":"teal"}"#), "{era}, {modern}: {outcome}");
        }
    }
}

#[tokio::test]
async fn models_and_folders_are_asked_for_too() {
    for (tool, method) in [("sample", "sampling/createMessage"), ("roots", "roots/list")] {
        for era in ERAS {
            for modern in [false, true] {
                // Folders are one client's own: a session-based server hears of them on a connection of that client.
                let mut client = Client::of(&one_server(era, json!({"scope": "session"})), modern, EVERYTHING).await;
                let answer = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "word"}, "roots": []});
                let (questions, outcome) = client.converse(tool, json!({}), answer).await;
                assert_eq!(questions.len(), 1, "{tool} of a {era} server, modern client {modern}: {outcome}");
                assert_eq!(questions[0]["method"], method);
                assert!(outcome["result"]["structuredContent"].to_string().contains("\"word\""), "{outcome}");
            }
        }
    }
}

#[tokio::test]
async fn a_server_may_ask_several_times() {
    for era in ERAS {
        for modern in [false, true] {
            let mut client = Client::of(&one_server(era, json!({})), modern, EVERYTHING).await;
            let (questions, outcome) = client.converse("ask", json!({"rounds": 3}), json!({"action": "decline"})).await;
            assert_eq!(questions.len(), 3, "{era}, {modern}: {outcome}");
            assert!(outcome["result"]["structuredContent"].to_string().contains("decline"), "{outcome}");
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_what_they_did_not_declare() {
    for (declared, tool) in [("{}", "ask"), (r#"{"sampling":{}}"#, "ask"), (r#"{"elicitation":{}}"#, "sample")] {
        for era in ERAS {
            for modern in [false, true] {
                let mut client = Client::of(&one_server(era, json!({})), modern, declared).await;
                let (questions, outcome) = client.converse(tool, json!({}), json!({})).await;
                // A stateless pair is not looked into: what the server asks of that client is between the two.
                if modern && era == "modern" {
                    continue;
                }
                assert!(questions.is_empty(), "{era}, {modern}: {questions:?}");
                let refused = outcome["result"]["structuredContent"].to_string();
                assert!(refused.contains("-32601") || text(&outcome).contains("may not request"), "{outcome}");
            }
        }
    }
}

#[tokio::test]
async fn folders_are_not_asked_for_on_a_shared_connection() {
    let proxy = Proxy::new(&one_server("legacy", json!({}))).http().await;
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", EVERYTHING).await.result();
    let answer = client.call("roots", "{}").await;
    assert!(answer.raw.contains("-32601"), "{}", answer.raw);
}

#[tokio::test]
async fn a_server_may_ask_for_folders_before_any_call_where_its_client_is_its_only_one() {
    let server = fake_backend(["--era", "legacy", "--asks-roots"]);
    for more in [json!({}), json!({"scope": "session"})] {
        let config = Config::new().server_with("fake", &server, more);
        let mut client = Client::of(&config, false, EVERYTHING).await;
        let client = &mut client.proxy.client;
        // The first call runs when the folders are there.
        let call = client.begin("tools/call", &message::call("seen", "{}")).await;
        let id = client.expect_notification("roots/list").await.id().expect("a question has an id");
        client.send(&message::result(&id, r#"{"roots":[{"uri":"file:///home"}]}"#)).await;
        assert!(client.response(&call).await.raw.contains("file:///home"));
    }
}

#[tokio::test]
async fn a_server_may_ask_again_while_the_first_call_waits_for_the_folders() {
    let server = fake_backend(["--era", "legacy", "--asks-roots"]);
    let config = Config::new().server("fake", &server);
    let mut client = Client::of(&config, false, r#"{"roots":{"listChanged":true}}"#).await;
    let client = &mut client.proxy.client;
    let call = client.begin("tools/call", &message::call("echo", "{}")).await;
    let mut questions = vec![client.expect_notification("roots/list").await];
    for _ in 0..5 {
        client.notify("notifications/roots/list_changed", "{}").await;
        questions.push(client.expect_notification("roots/list").await);
    }
    for question in questions {
        let id = question.id().expect("a question has an id");
        client.send(&message::result(&id, r#"{"roots":[]}"#)).await;
    }
    client.response(&call).await.result();
}

#[tokio::test]
async fn a_client_that_initializes_again_is_asked_in_its_new_session() {
    let server = fake_backend(["--era", "legacy", "--asks-roots"]);
    let says_so = r#"{"roots":{"listChanged":true}}"#;
    let mut client = Client::of(&Config::new().server("fake", &server), false, says_so).await;
    let client = &mut client.proxy.client;
    for folder in ["file:///first", "file:///second"] {
        let id = client.expect_notification("roots/list").await.id().expect("a question has an id");
        client.send(&message::result(&id, &format!(r#"{{"roots":[{{"uri":"{folder}"}}]}}"#))).await;
        let seen = client.call("seen", &format!(r#"{{"wait_for":"{folder}"}}"#)).await;
        assert!(seen.raw.contains(folder), "{}", seen.raw);
        client.initialize_with("2025-11-25", says_so).await.result();
        client.notify("notifications/roots/list_changed", "{}").await;
    }
}

#[tokio::test]
async fn a_server_of_many_clients_is_told_of_nobody_s_folders() {
    let server = fake_backend(["--era", "legacy", "--asks-roots"]);
    let proxy = Proxy::new(&Config::new().server("fake", &server)).http().await;
    let mut client = proxy.client();
    client.initialize_with("2025-11-25", EVERYTHING).await.result();
    let seen = client.call("seen", r#"{"wait_for":"folders\",\"error"}"#).await;
    assert!(seen.raw.contains("-32601"), "{}", seen.raw);
}

#[tokio::test]
async fn a_server_hears_that_folders_changed_on_the_connection_of_their_owner_alone() {
    let server = fake_backend(["--era", "legacy"]);
    let own = Config::new().server_with("fake", &server, json!({"scope": "session"}));
    let says_so = r#"{"roots":{"listChanged":true}}"#;
    let proxy = Proxy::new(&own).http().await;
    let (mut client, mut other) = (proxy.client(), proxy.client());
    for client in [&mut client, &mut other] {
        client.initialize_with("2025-11-25", says_so).await.result();
        let seen = client.call("seen", r#"{"wait_for":"initialized"}"#).await.raw;
        assert!(seen.contains(r#"\"roots\":{\"listChanged\":true}"#), "{seen}");
    }
    let changed = message::notification("notifications/roots/list_changed", "{}");
    assert_eq!(client.send(&client.legacy(&changed)).await.status, 202);
    let seen = client.call("seen", r#"{"wait_for":"notifications/roots/list_changed"}"#).await;
    assert!(seen.raw.contains("roots/list_changed"), "{}", seen.raw);
    let seen = other.call("seen", "{}").await;
    assert!(!seen.raw.contains("roots/list_changed"), "{}", seen.raw);
    // To a client that does not say so, no server is promised it.
    let mut silent = proxy.client();
    silent.initialize_with("2025-11-25", r#"{"roots":{}}"#).await.result();
    let seen = silent.call("seen", r#"{"wait_for":"initialized"}"#).await.raw;
    assert!(seen.contains("roots") && !seen.contains("listChanged"), "{seen}");
}

#[tokio::test]
async fn a_session_based_client_that_refuses_a_model_ends_the_call_of_a_stateless_server() {
    let mut client = Client::of(&one_server("modern", json!({})), false, EVERYTHING).await;
    let client = &mut client.proxy.client;
    let call = client.begin("tools/call", &message::call("sample", "{}")).await;
    let id = client.expect_notification("sampling/createMessage").await.id().expect("a question has an id");
    client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"User rejected"}}}}"#)).await;
    let outcome = client.response(&call).await.value();
    assert_eq!(outcome["result"]["isError"], true);
    assert!(text(&outcome).contains("User rejected"), "{outcome}");
}

#[tokio::test]
async fn a_form_that_is_put_away_is_an_answer_too() {
    let mut client = Client::of(&one_server("modern", json!({})), false, EVERYTHING).await;
    let client = &mut client.proxy.client;
    let call = client.begin("tools/call", &message::call("ask", "{}")).await;
    let id = client.expect_notification("elicitation/create").await.id().expect("a question has an id");
    client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"no"}}}}"#)).await;
    assert_eq!(
        client.response(&call).await.structured(),
        r#"{"inputResponses":{"question":{"action":"cancel"}},"requestState":"round-1"}"#
    );
}

#[tokio::test]
async fn a_handler_waits_while_the_server_it_calls_asks_its_client() {
    let script = r#"
sessionInit:
  script: |
    def wrap(ask):
        return lambda args: ask({"message": "From a script?"})

    for meta, call in backends()["fake"].tools():
        if meta.name == "ask":
            publish(meta.replace(name = "wrapped"), wrap(call))
"#;
    for era in ERAS {
        for modern in [false, true] {
            let config = one_server(era, json!({})).section(script);
            let mut client = Client::of(&config, modern, EVERYTHING).await;
            let answer = json!({"action": "accept", "content": {"colour": "red"}});
            let (questions, outcome) = client.converse("wrapped", json!({}), answer).await;
            assert_eq!(questions.len(), 1, "{era}, {modern}: {outcome}");
            assert_eq!(questions[0]["params"]["message"], "From a script?");
            assert!(outcome["result"]["structuredContent"].to_string().contains("\"red\""), "{outcome}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_takes_its_question_back() {
    let mut client = Client::of(&one_server("legacy", json!({})), false, EVERYTHING).await;
    let client = &mut client.proxy.client;
    let call = client.begin("tools/call", &message::call("ask", "{}")).await;
    let question = client.expect_notification("elicitation/create").await.id().expect("a question has an id");
    client.notify("notifications/cancelled", &format!(r#"{{"requestId":{call}}}"#)).await;
    let taken_back = client.expect_notification("notifications/cancelled").await.value();
    assert_eq!(taken_back["params"]["requestId"].to_string(), question);
    let seen = client.call("seen", r#"{"wait_for":"notifications/cancelled"}"#).await;
    assert!(seen.raw.contains("requestId"), "{}", seen.raw);
}

#[tokio::test]
async fn log_messages_reach_the_client_that_called_at_the_level_it_wants() {
    for era in ERAS {
        let mut client = Client::of(&one_server(era, json!({})), false, "{}").await;
        let client = &mut client.proxy.client;
        client.request("logging/setLevel", r#"{"level":"info"}"#).await.result();
        client.call("flood", r#"{"n":2}"#).await.result();
        for number in [1, 2] {
            let told = client.expect_notification("notifications/message").await.value();
            assert_eq!(told["params"]["data"], number, "{era}");
        }
        client.request("logging/setLevel", r#"{"level":"warning"}"#).await.result();
        client.call("flood", r#"{"n":2}"#).await.result();
        assert_eq!(client.unclaimed().count(), 0);
        assert_eq!(client.request("logging/setLevel", r#"{"level":"loud"}"#).await.error_code(), -32602);
    }
}

#[tokio::test]
async fn a_stateless_client_hears_log_messages_only_when_it_asks_for_them() {
    for era in ERAS {
        let mut proxy = Proxy::new(&one_server(era, json!({}))).stdio();
        let client = &mut proxy.client;
        client.modern_call("flood", r#"{"n":1}"#).await.result();
        assert_eq!(client.unclaimed().count(), 0);
        let level = r#""io.modelcontextprotocol/logLevel":"debug""#;
        let meta = format!("{{{level},{}}}", super::meta_members(VERSION, "{}"));
        let params = super::with_meta(&message::call("flood", r#"{"n":1}"#), &meta);
        client.request("tools/call", &params).await.result();
        assert_eq!(client.expect_notification("notifications/message").await.value()["params"]["data"], 1);
    }
}

#[tokio::test]
async fn an_address_a_person_must_visit_first_is_asked_for_and_the_call_made_again() {
    let error = r#"{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://example.com/in","message":"Sign in"}]}}"#;
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy"]));
    let mut client = Client::of(&config, true, EVERYTHING).await;
    let arguments = serde_json::from_str(error).expect("it is JSON");
    let (questions, outcome) = client.converse("rpc_error", arguments, json!({"action": "decline"})).await;
    assert_eq!(questions.len(), 1, "{outcome}");
    assert_eq!(questions[0]["params"], json!({"mode": "url", "message": "Sign in", "url": "https://example.com/in"}));
    assert!(text(&outcome).contains("chose `decline`"), "{outcome}");
}
