//! What changes while a question is open.

use serde_json::json;

use super::{BEGINNING, client, reached};
use crate::elicitation::{EVERYTHING, accepted};
use crate::support::config::Config;
use crate::support::in_process::Proxy;
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::patience::PATIENCE;
use crate::support::programs::fake_backend;

#[tokio::test]
async fn what_a_server_offers_may_change_while_a_question_is_open() {
    let script = r#"
count = len(tools)
def handler(args):
    elicit("Sure?", when_unavailable = "error")
    return "made of %d tools" % count
show("handler", handler)
show("count", lambda args: "%d" % count)
show("add_tool", lambda args: tools["add_tool"](args))
"#;
    let mut client = client(script, true).await;
    let params = json!({"name": "handler", "arguments": {}});
    let before = client.modern_call(&json!({"name": "count", "arguments": {}})).await.text();
    let first = client.modern_call(&params).await.value();
    client.modern_call(&json!({"name": "add_tool", "arguments": {"name": "fresh"}})).await.result();
    // The new surface is there when it counts one more.
    loop {
        let now = client.modern_call(&json!({"name": "count", "arguments": {}})).await.text();
        if now != before {
            break;
        }
    }
    let done = client.modern_call(&accepted(&params, &first)).await;
    assert_eq!(done.text(), format!("made of {before} tools"));
}

#[tokio::test]
async fn a_ticket_that_was_used_says_so_even_if_the_lists_have_changed_since() {
    let script = r#"
count = len(tools)
def handler(args):
    elicit("Sure?", when_unavailable = "error")
    return "done"
show("handler", handler)
show("count", lambda args: "%d" % count)
show("add_tool", lambda args: tools["add_tool"](args))
"#;
    let mut client = client(script, true).await;
    let params = json!({"name": "handler", "arguments": {}});
    let before = client.modern_call(&json!({"name": "count", "arguments": {}})).await.text();
    let first = client.modern_call(&params).await.value();
    let back = accepted(&params, &first);
    assert_eq!(client.modern_call(&back).await.text(), "done");
    client.modern_call(&json!({"name": "add_tool", "arguments": {"name": "fresh"}})).await.result();
    let counted =
        async { while client.modern_call(&json!({"name": "count", "arguments": {}})).await.text() == before {} };
    tokio::time::timeout(PATIENCE, counted).await.expect("the new tool is counted");
    let again = client.modern_call(&back).await.error_message();
    assert!(again.contains("already answered or has expired; the call may have been carried out"), "{again}");
}

#[tokio::test]
async fn a_handler_that_takes_another_way_is_ended_and_does_nothing_more() {
    let script = r#"
def handler(args):
    tools["echo"]({"way": "of " + client().name})
    elicit("Sure?", when_unavailable = "error")
    tools["echo"]({"way": "to the end"})
    return "done"
def less(args):
    if client().name == "test-client":
        tools["echo"]({"way": "of more"})
        elicit("Sure?", when_unavailable = "error")
    return "done"
show("handler", handler)
show("less", less)
"#;
    let mut client = client(script, true).await;
    for tool in ["handler", "less"] {
        let params = json!({"name": tool, "arguments": {}});
        let first = client.modern_call(&params).await.value();
        let meta = format!("{{{}}}", meta_members(VERSION, EVERYTHING)).replace("test-client", "another");
        let again = with_meta(&accepted(&params, &first).to_string(), &meta);
        let ended = client.proxy.client.request("tools/call", &again).await;
        assert_eq!(ended.value()["result"]["isError"], true, "{}", ended.raw);
        let text = ended.text();
        assert!(
            text.contains("`call` comes where `call` was done before") || text.contains("did not repeat the calls"),
            "{text}"
        );
    }
    assert_eq!(reached(&mut client, "of test-client").await, 1);
    assert_eq!(reached(&mut client, "of another").await, 0);
    assert_eq!(reached(&mut client, "to the end").await, 0);
    assert_eq!(reached(&mut client, "of more").await, 1);
}

#[tokio::test]
async fn what_asks_before_every_request_lets_each_of_them_through_once() {
    let script = r#"
def on_request(request):
    if request.name in ["echo", "handler"]:
        tools["echo"]({"audit": request.name})
        if elicit("May %s?" % request.name, when_unavailable = "reject").action != "accept":
            return error("nobody agreed")
def handler(args):
    return "handled " + elicit("Really?", when_unavailable = "error").action
show("echo", tools["echo"])
show("handler", handler)
"#;
    for modern in [false, true] {
        let mut client = client(script, modern).await;
        let (questions, outcome) = client.converse("echo", json!({"word": "through"}), super::accept()).await;
        assert_eq!(super::messages(&questions), ["May echo?"], "modern {modern}: {outcome}");
        assert_eq!(outcome["result"]["structuredContent"]["word"], "through", "modern {modern}: {outcome}");
        let (questions, outcome) =
            client.converse("echo", json!({"word": "refused"}), json!({"action": "decline"})).await;
        assert_eq!(questions.len(), 1);
        assert_eq!(super::text(&outcome), "nobody agreed", "modern {modern}");
        let (questions, outcome) = client.converse("handler", json!({}), super::accept()).await;
        assert_eq!(super::messages(&questions), ["May handler?", "Really?"], "modern {modern}: {outcome}");
        assert_eq!(super::text(&outcome), "handled accept");
        assert_eq!(reached(&mut client, "audit").await, 3, "modern {modern}");
        assert_eq!(reached(&mut client, "through").await, 1, "modern {modern}");
        assert_eq!(reached(&mut client, "refused").await, 0, "modern {modern}");
    }
}

#[tokio::test]
async fn an_answer_to_a_script_that_was_edited_meanwhile_is_refused() {
    let script = |version: &str| {
        format!(
            "{}show(\"version\", lambda args: \"{version}\")\ndef handler(args):\n    elicit(\"Sure?\", when_unavailable = \
             \"error\")\n    return \"went on\"\nshow(\"handler\", handler)\n",
            super::BEGINNING
        )
    };
    for modern in [false, true] {
        let mut client = client(script("first").trim_start_matches(super::BEGINNING), modern).await;
        let params = json!({"name": "handler", "arguments": {}});
        let (call, question) = if modern {
            (String::new(), client.modern_call(&params).await.value())
        } else {
            let call = client.proxy.client.begin("tools/call", &params.to_string()).await;
            (call, client.proxy.client.expect_notification("elicitation/create").await.value())
        };
        client.proxy.world.directory.write("policy.star", &script("second"));
        while super::text(&client.converse("version", json!({}), json!({})).await.1) != "second" {}
        let refused = if modern {
            client.modern_call(&accepted(&params, &question)).await
        } else {
            let answer = crate::support::message::result(&question["id"].to_string(), &super::accept().to_string());
            client.proxy.client.send(&answer).await;
            client.proxy.client.response(&call).await
        };
        assert_eq!(
            refused.text(),
            "the session script changed while the call waited for your answer; call again",
            "modern {modern}"
        );
        assert_eq!(refused.value()["result"]["isError"], true);
    }
}

#[tokio::test]
async fn somebody_whose_groups_are_others_by_now_has_to_call_again() {
    let script = r#"
def handler(args):
    tools["echo"]({"mark": "before"})
    elicit("Sure?", when_unavailable = "error")
    tools["echo"]({"mark": "after"})
    return "done"
show("handler", handler)
show("groups", lambda args: ", ".join(current_user().groups))
"#;
    let config = |groups: &str| {
        Config::new()
            .server("fake", &fake_backend(["--era", "legacy"]))
            .section("sessionInit: { scriptFile: policy.star }")
            .section(&format!("auth: {{tokens: [{{token: secret-token-of-a, sub: ann, groups: [{groups}]}}]}}"))
    };
    let proxy = Proxy::new(&config("ops, staff")).file("policy.star", &format!("{BEGINNING}{script}")).http().await;
    let mut ann = proxy.client().with_header("Authorization", "Bearer secret-token-of-a");
    let params = json!({"name": "handler", "arguments": {}});
    let first = ann.modern_with("tools/call", &params.to_string(), EVERYTHING).await.value();
    let back = accepted(&params, &first).to_string();

    proxy.world.directory.write("proxy.yaml", &config("staff").text());
    while ann.modern_call("groups", "{}").await.text() != "staff" {}
    let refused = ann.modern_with("tools/call", &back, EVERYTHING).await;
    assert_eq!(refused.value()["result"]["isError"], true, "{}", refused.raw);
    assert_eq!(refused.text(), "your groups changed while the call waited for your answer; call again");

    // The order of groups means nothing, and the refusal has used nothing up.
    proxy.world.directory.write("proxy.yaml", &config("staff, ops").text());
    while ann.modern_call("groups", "{}").await.text() != "staff, ops" {}
    assert_eq!(ann.modern_with("tools/call", &back, EVERYTHING).await.text(), "done");
    // As a client that declares the same, so that it is the same connection.
    let seen = r#"{"name":"seen","arguments":{}}"#;
    let seen = ann.modern_with("tools/call", seen, EVERYTHING).await.structured();
    assert_eq!((seen.matches("before").count(), seen.matches("after").count()), (1, 1), "{seen}");
}
