//! Arguments of prompts and templates are completed by functions of the extension or of the session script.

use serde_json::{Value, json};

use super::{refused, serving, started, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::follower::ERAS;
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::rmcp_client::{RmcpClient, legacy, modern};

const TRAVEL: &str = r#"
CITIES = {"de": ["Berlin", "Bonn"], "ch": ["Bern"]}

def cities(value, context):
    cities = CITIES.get(context.get("country"), CITIES["de"] + CITIES["ch"])
    return sorted([city for city in cities if city.startswith(value)])

def many(value, context):
    return ["%s%d" % (value, number) for number in range(10000)]

def describe_extension():
    names = ["country", "city", "street", "number"]
    return Extension(
        name = "travel",
        version = "1",
        prompts = [Prompt(
            name = "trip",
            handler = lambda params: "trip",
            arguments = names,
            complete = {"city": cities, "number": many},
        )],
        resources = [ResourceTemplate(
            uri_template = "city://{country}/{city}",
            name = "city",
            handler = lambda params: params["city"],
            complete = {"city": cities},
        )],
    )
"#;

fn of_prompt(argument: &str, value: &str) -> Value {
    json!({"ref": {"type": "ref/prompt", "name": "trip"}, "argument": {"name": argument, "value": value}})
}

fn of_template(argument: &str, value: &str) -> Value {
    json!({
        "ref": {"type": "ref/resource", "uri": "city://{country}/{city}"},
        "argument": {"name": argument, "value": value},
        "context": {"arguments": {"country": "ch"}},
    })
}

async fn on_a_pipe(proxy: &mut StdioProxy, modern: bool, params: &Value) -> Message {
    match modern {
        true => proxy.client.modern("completion/complete", &params.to_string()).await,
        false => proxy.client.request("completion/complete", &params.to_string()).await,
    }
}

async fn over_http(client: &mut HttpClient, modern: bool, params: &Value) -> Message {
    match modern {
        true => client.modern("completion/complete", &params.to_string()).await,
        false => client.request("completion/complete", &params.to_string()).await,
    }
}

#[tokio::test]
async fn a_client_of_either_era_gets_what_the_function_returns() {
    for modern in ERAS {
        let mut proxy = world(&[("travel.star", TRAVEL)]).stdio();
        if !modern {
            let handshake = proxy.client.initialize("2025-11-25").await.value();
            assert_eq!(handshake["result"]["capabilities"]["completions"], json!({}));
        }
        let answer = on_a_pipe(&mut proxy, modern, &of_prompt("city", "Ber")).await.value();
        assert_eq!(
            answer["result"]["completion"],
            json!({"values": ["Berlin", "Bern"], "total": 2, "hasMore": false}),
            "{answer}"
        );
        let answer = on_a_pipe(&mut proxy, modern, &of_prompt("number", "n")).await.value();
        let completion = &answer["result"]["completion"];
        assert_eq!(
            (completion["values"].as_array().map(Vec::len), &completion["values"][99]),
            (Some(100), &json!("n99"))
        );
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(10_000), &json!(true)));
        // An argument that nothing completes.
        let answer = on_a_pipe(&mut proxy, modern, &of_prompt("street", "")).await.value();
        assert_eq!(answer["result"]["completion"]["values"], json!([]), "{answer}");

        let proxy = world(&[("travel.star", TRAVEL)]).http().await;
        let mut client = proxy.client();
        if !modern {
            client.initialize("2025-11-25").await.result();
        }
        let answer = over_http(&mut client, modern, &of_template("city", "")).await.value();
        assert_eq!(answer["result"]["completion"]["values"], json!(["Bern"]), "{answer}");
    }
}

#[tokio::test]
async fn another_implementation_completes_arguments() {
    for lifecycle in [legacy(), modern()] {
        // The folder must outlive the client: the proxy notices when its extensions are removed.
        let world = world(&[("travel.star", TRAVEL)]);
        let client = RmcpClient::stdio(world.serve_command(), lifecycle).await;
        let peer = client.service.peer();
        let values = peer.complete_prompt_simple("trip", "city", "Bo").await.expect("rmcp reads the completion");
        assert_eq!(values, ["Bonn"]);
        let template = peer.complete_resource_simple("city://{country}/{city}", "city", "Ber").await;
        assert_eq!(template.expect("rmcp reads the completion"), ["Berlin", "Bern"]);
        client.finish().await;
    }
}

#[tokio::test]
async fn what_does_not_exist_cannot_be_completed() {
    let mut proxy = serving(&[("travel.star", TRAVEL)]).await;
    let unknown_prompt =
        json!({"ref": {"type": "ref/prompt", "name": "tripp"}, "argument": {"name": "city", "value": ""}});
    for (params, told) in [
        (of_prompt("citty", ""), "the prompt `trip` has no argument `citty`"),
        (of_template("town", ""), "the resource template `city://{country}/{city}` has no variable `town`"),
        (unknown_prompt, "unknown prompt: tripp"),
        (json!({"ref": {"type": "ref/prompt", "name": "trip"}}), "`argument` is missing"),
        (
            json!({"ref": {"type": "ref/prompt", "name": "trip"}, "argument": {"name": "city", "value": 1}}),
            "`argument.value` is missing or not a string",
        ),
    ] {
        let answer = on_a_pipe(&mut proxy, false, &params).await;
        assert_eq!((answer.error_code(), answer.error_message().as_str()), (-32602, told));
    }
}

#[tokio::test]
async fn a_function_that_fails_is_an_error_with_its_line() {
    let extension = r#"
def fails(value, context):
    fail("no list of cities today")

def hangs(value, context):
    for number in range(1000000000):
        pass

def asks(value, context):
    return [elicit("Which?", when_unavailable = "accept").action]

def describe_extension():
    complete = {"a": fails, "b": hangs, "c": asks, "d": lambda value, context: [value, 1], "e": lambda value, context: value}
    prompt = Prompt(name = "trip", handler = lambda params: "", arguments = list("abcde".elems()), complete = complete)
    return Extension(name = "failing", version = "1", prompts = [prompt])
"#;
    let mut proxy = serving(&[("failing.star", extension)]).await;
    for (argument, told) in [
        ("a", "no list of cities today (failing.star:3)"),
        ("b", "the script used more than its limit of"),
        (
            "c",
            "`elicit()` is not available in `completion/complete` requests: the user cannot be asked (failing.star:10)",
        ),
        ("d", "`lambda`, which completes `d` (failing.star:14), returned a list whose item 1 is a number, not text"),
        ("e", "`lambda`, which completes `e` (failing.star:14), returned text, not a list of texts"),
    ] {
        let answer = on_a_pipe(&mut proxy, false, &of_prompt(argument, "x")).await;
        assert_eq!(answer.error_code(), -32603, "{}", answer.raw);
        assert!(answer.error_message().starts_with(told), "{argument}: {}", answer.raw);
        proxy.client.stderr().line(told.split(" (").next().unwrap_or_default()).await;
    }
    assert!(proxy.client.stderr().text().contains("failing.star:3"), "{}", proxy.client.stderr().text());
}

#[tokio::test]
async fn complete_names_arguments_that_exist_and_functions_of_two_arguments() {
    let prompt = |complete: &str| {
        format!(
            "def describe_extension():\n    return Extension(name = \"x\", version = \"1\", prompts = [\n        Prompt(name = \"trip\", handler = lambda params: \"\", arguments = [\"city\"], complete = {complete})])\n"
        )
    };
    for (complete, told) in [
        ("{\"citty\": lambda value, context: []}", "the prompt `trip` has no argument \"citty\" to complete"),
        (
            "{\"city\": lambda value: []}",
            "the completion of `city` for the prompt `trip` is not a function with two arguments",
        ),
        (
            "{\"city\": [\"Bern\"]}",
            "the completion of `city` for the prompt `trip` is not a function with two arguments",
        ),
        ("[]", "`complete` of the prompt `trip` must be a dict, not a `list`"),
    ] {
        let text = refused(&[("x.star", &prompt(complete))]).await;
        assert!(text.contains(told) && text.contains("x.star:3"), "{complete}: {text}");
    }
    let script = r#"
sessionInit:
  script: |
    publish_prompt(prompt_metadata("p", "", [{"name": "city"}]), lambda args: "", complete = {"town": lambda value, context: []})
"#;
    let world = Proxy::new(&Config::new().section(script));
    let finished = Finished::run(world.command(["check", "--config", "proxy.yaml"])).await;
    assert!(finished.stderr.contains("the prompt `p` has no argument \"town\" to complete"), "{}", finished.stderr);
}

/// A prompt of a server, wrapped; the same with a function of its own; a prompt and a template of the script.
const SCRIPT: &str = r#"
sessionInit:
  script: |
    def wrapped(call):
        return lambda args: call(args)

    def own(value, context):
        return ["own " + value]

    def days(value, context):
        return [day + " of " + context.get("week", "no week") for day in ["monday"]]

    for meta, call in backends()["fake"].prompts():
        publish_prompt(meta, wrapped(call))
        publish_prompt(meta.replace(name = "own"), wrapped(call), complete = {"who": own})
        publish_prompt(meta.replace(name = "direct"), call, complete = {"who": own})
    publish_resource_template(
        resource_template_metadata("week://{week}/{day}", "day"),
        lambda args: args["day"],
        complete = {"day": days},
    )

    def on_other_request(request):
        if request.arguments.get("value") == "refused":
            fail("not this")
"#;

#[tokio::test]
async fn a_script_completes_its_items_and_a_server_what_the_script_leaves_to_it() {
    let config = Config::new()
        .server("fake", &fake_backend(["--era", "legacy", "--prompts", "--completions", "3"]))
        .section(SCRIPT);
    let mut proxy = started(Proxy::new(&config)).await;
    let asked = |name: &str, value: &str| json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "who", "value": value}});
    let server = on_a_pipe(&mut proxy, false, &asked("greet", "x")).await.value();
    assert_eq!(server["result"]["completion"]["values"].as_array().map(Vec::len), Some(3), "{server}");
    for name in ["own", "direct"] {
        let own = on_a_pipe(&mut proxy, false, &asked(name, "x")).await.value();
        assert_eq!(own["result"]["completion"]["values"], json!(["own x"]), "{own}");
        let refused = on_a_pipe(&mut proxy, false, &asked(name, "refused")).await;
        assert!(refused.error_message().starts_with("not this"), "{}", refused.raw);
    }
    let template = json!({
        "ref": {"type": "ref/resource", "uri": "week://{week}/{day}"},
        "argument": {"name": "day", "value": ""},
        "context": {"arguments": {"week": "7"}},
    });
    let own = on_a_pipe(&mut proxy, false, &template).await.value();
    assert_eq!(own["result"]["completion"]["values"], json!(["monday of 7"]), "{own}");
}
