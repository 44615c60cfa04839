//! What a script gets for an answer, and what it gets where nobody can be asked.

use serde_json::{Value, json};

use super::{accept, client, messages, text, world};
use crate::elicitation::{Client, ERAS, EVERYTHING};

const FORM: &str = r#"
def ask(args):
    form = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
    answer = elicit("Sure?", form, when_unavailable = "error")
    return {"action": answer.action, "content": answer.content}
show("ask", ask)
"#;

#[tokio::test]
async fn the_script_goes_on_with_what_the_person_chose() {
    for modern in [false, true] {
        let mut client = client(FORM, modern).await;
        for (answer, expected) in [
            (
                json!({"action": "accept", "content": {"why": "because"}}),
                json!({"action": "accept", "content": {"why": "because"}}),
            ),
            (json!({"action": "decline"}), json!({"action": "decline", "content": {}})),
            (json!({"action": "cancel"}), json!({"action": "cancel", "content": {}})),
        ] {
            let (questions, outcome) = client.converse("ask", json!({}), answer).await;
            assert_eq!(messages(&questions), ["Sure?"], "modern {modern}: {outcome}");
            assert_eq!(questions[0]["method"], "elicitation/create");
            assert_eq!(questions[0]["params"]["requestedSchema"]["required"], json!(["why"]));
            assert_eq!(outcome["result"]["structuredContent"], expected, "modern {modern}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again_and_given_up_in_the_end() {
    for modern in [false, true] {
        let mut client = client(FORM, modern).await;
        let mut answers = [json!({"why": 5}), json!({}), json!({"why": "now"})].into_iter();
        let params = json!({"name": "ask", "arguments": {}});
        let next = |_: &Value| json!({"action": "accept", "content": answers.next().expect("one more")});
        let (questions, outcome) = client.converse_with("tools/call", params, next).await;
        assert_eq!(questions.len(), 3, "modern {modern}: {outcome}");
        assert_eq!(outcome["result"]["structuredContent"]["content"]["why"], "now");

        let wrong = json!({"action": "accept", "content": {"why": 5}});
        let (questions, outcome) = client.converse("ask", json!({}), wrong).await;
        assert_eq!(questions.len(), 3, "modern {modern}: {outcome}");
        assert_eq!(outcome["result"]["isError"], true);
        assert!(text(&outcome).contains("the client sent no valid answer"), "{outcome}");
        assert!(text(&outcome).contains("`why`"), "{outcome}");
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_script_has_said_what_then() {
    let script = r#"
def ask(args):
    return elicit("Sure?", when_unavailable = args["then"]).action
show("ask", ask)
"#;
    for modern in [false, true] {
        let mut client = Client::at(world("legacy", script), modern, r#"{"sampling":{}}"#).await;
        for (then, expected) in [("accept", "accept"), ("reject", "decline"), ("error", "cannot ask the user")] {
            let (questions, outcome) = client.converse("ask", json!({"then": then}), accept()).await;
            assert!(questions.is_empty(), "modern {modern}: {questions:?}");
            assert!(text(&outcome).contains(expected), "modern {modern}, {then}: {outcome}");
            assert_eq!(outcome["result"]["isError"] == true, then == "error", "{outcome}");
        }
    }
}

#[tokio::test]
async fn what_an_older_client_has_no_form_for_counts_as_unavailable() {
    let script = r#"
days = {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}}
def ask(args):
    fields = {"days": days} if args.get("several") else {"day": {"type": "string", "oneOf": [{"const": "m", "title": "Monday"}]}}
    return elicit("When?", {"type": "object", "properties": fields}, when_unavailable = "reject").action
show("ask", ask)
"#;
    for (revision, several, asked) in
        [("2025-11-25", true, 1), ("2025-06-18", true, 0), ("2025-06-18", false, 1), ("2025-03-26", false, 0)]
    {
        let mut proxy = world("legacy", script).stdio();
        proxy.client.initialize_with(revision, EVERYTHING).await.result();
        let mut client = Client { proxy, modern: false, capabilities: EVERYTHING.to_owned() };
        let (questions, outcome) = client.converse("ask", json!({"several": several}), accept()).await;
        assert_eq!(questions.len(), asked, "{revision}, {several}: {outcome}");
        assert_eq!(text(&outcome), if asked == 1 { "accept" } else { "decline" }, "{revision}");
        if asked == 1 && revision == "2025-06-18" {
            let field = &questions[0]["params"]["requestedSchema"]["properties"]["day"];
            assert_eq!(field["enumNames"], json!(["Monday"]), "{field}");
        }
    }
}

#[tokio::test]
async fn a_form_that_no_client_can_show_is_an_error_at_its_line() {
    let script = r#"
def ask(args):
    elicit("?", {"type": "object", "properties": {"deep": {"type": "object"}}}, when_unavailable = "error")
show("ask", ask)
"#;
    let mut client = client(script, true).await;
    let (questions, outcome) = client.converse("ask", json!({}), accept()).await;
    assert!(questions.is_empty());
    assert!(text(&outcome).contains("the field `deep` is of type `object`"), "{outcome}");
    assert!(text(&outcome).contains("policy.star:"), "{outcome}");
}

#[tokio::test]
async fn characters_that_nobody_sees_are_written_out_in_a_form_or_refused() {
    let script = r#"
def ask(args):
    form = {"type": "object", "properties": {
        "file": {"type": "string", "title": args["text"], "description": args["text"], "default": args["text"]},
        "day": {"type": "string", "oneOf": [{"const": "mon", "title": args["text"]}]},
    }}
    return elicit("?", form, when_unavailable = "error").action
def choose(args):
    form = {"type": "object", "properties": {"file": {"type": "string", "enum": ["a", args["text"]]}}}
    return elicit("?", form, when_unavailable = "error").action
def name(args):
    form = {"type": "object", "properties": {args["text"]: {"type": "string"}}}
    return elicit("?", form, when_unavailable = "error").action
show("ask", ask)
show("choose", choose)
show("name", name)
"#;
    let mut client = client(script, true).await;
    let hidden = json!({"text": "safe\u{202e}txt.exe"});
    let (questions, _) = client.converse("ask", hidden.clone(), accept()).await;
    let fields = &questions[0]["params"]["requestedSchema"]["properties"];
    let seen = r"safe\u{202e}txt.exe";
    let file = &fields["file"];
    assert_eq!([&file["title"], &file["description"], &file["default"]], [seen, seen, seen], "{fields}");
    assert_eq!(fields["day"]["oneOf"][0], json!({"const": "mon", "title": seen}), "{fields}");
    for tool in ["choose", "name"] {
        let (questions, outcome) = client.converse(tool, hidden.clone(), accept()).await;
        assert!(questions.is_empty(), "{tool}: {questions:?}");
        assert!(text(&outcome).contains("contains invisible characters"), "{tool}: {outcome}");
    }
}

#[tokio::test]
async fn a_result_for_which_somebody_was_asked_is_not_remembered() {
    let script = r#"
def ask(args):
    said = elicit("Sure?", when_unavailable = "error").action
    return "%s, number %d" % (said, shared_state.incr("asked"))
show("by_script", cached(ask, 600))
show("by_server", cached(tools["ask"], 600))
"#;
    for (era, modern) in [(ERAS[0], false), (ERAS[0], true), (ERAS[1], false), (ERAS[1], true)] {
        let mut client = Client::at(world(era, script), modern, EVERYTHING).await;
        for number in 1..=2 {
            let (questions, outcome) = client.converse("by_script", json!({}), accept()).await;
            assert_eq!(questions.len(), 1, "{era} server, modern client {modern}: {outcome}");
            assert_eq!(text(&outcome), format!("accept, number {number}"));
        }
        let colour = |colour: &str| json!({"action": "accept", "content": {"colour": colour}});
        for name in ["teal", "ochre"] {
            let (questions, outcome) = client.converse("by_server", json!({"message": "?"}), colour(name)).await;
            assert_eq!(questions.len(), 1, "{era} server, modern client {modern}: {outcome}");
            assert!(outcome.to_string().contains(name), "{outcome}");
        }
    }
}
