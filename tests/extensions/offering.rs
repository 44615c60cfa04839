//! What an extension offers: tools, resources, templates, prompts.

use serde_json::json;

use super::{one_tool, serving, world};
use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::message;
use crate::support::proxy::Proxy;

const EVERYTHING: &str = r#"
def tool(params):
    return params

def wrong(params):
    return {"count": "many"}

def hours(params):
    return "open at " + params["uri"]

def day(params):
    if params["day"] == "sunday":
        fail("closed on sundays", data = {"day": "sunday"})
    return {"contents": [{"uri": params["uri"], "text": params["day"]}]}

def prompt(params):
    return "Write to %s about %s." % (params["whom"], params.get("what", "nothing"))

COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}

def describe_extension():
    return Extension(
        name = "shop",
        version = "1.2.3",
        description = "A shop",
        tools = [
            Tool(
                name = "tool", title = "A tool", description = "Takes things", handler = tool,
                annotations = {"readOnlyHint": True, "destructiveHint": None},
                parameters = [
                    ToolParameter(name = "count", param_type = "int", required = True),
                    ToolParameter(name = "size", param_type = "float", default = "1.5"),
                    ToolParameter(name = "kind", param_type = "string", default = "a", enum = ["a", "b"]),
                ],
            ),
            Tool(name = "wrong", description = "Breaks its promise", handler = wrong, output_schema = COUNT),
        ],
        resources = [
            Resource(uri = "shop://hours", name = "hours", handler = hours, mime_type = "text/plain", description = "When"),
            ResourceTemplate(uri_template = "shop://day/{day}", name = "day", handler = day, mime_type = "text/markdown"),
        ],
        prompts = [Prompt(name = "letter", handler = prompt, description = "A letter", arguments = [
            PromptArgument(name = "whom", description = "To whom", required = True), {"name": "what"},
        ])],
    )
"#;

#[tokio::test]
async fn tools_check_and_complete_their_arguments() {
    let mut proxy = serving(&[("shop.star", EVERYTHING)]).await;
    let listed = proxy.client.request("tools/list", "{}").await.value();
    let tool = &listed["result"]["tools"][0];
    assert_eq!((&tool["name"], &tool["title"]), (&json!("tool"), &json!("A tool")));
    assert_eq!(tool["annotations"], json!({"readOnlyHint": true}));
    assert_eq!(tool["inputSchema"]["properties"]["size"], json!({"type": "number", "default": 1.5}));
    assert_eq!(proxy.data("tool", json!({"count": 2})).await, json!({"count": 2, "size": 1.5, "kind": "a"}));
    for (arguments, named) in [
        (json!({}), "count"),
        (json!({"count": "2"}), "`count`"),
        (json!({"count": 1, "kind": "c"}), "`kind`"),
        (json!({"count": 1.5}), "`count`"),
    ] {
        let text = proxy.fault("tool", arguments.clone()).await;
        assert!(text.starts_with("invalid arguments: ") && text.contains(named), "{arguments}: {text}");
    }
    let text = proxy.fault("wrong", json!({})).await;
    assert!(text.contains("`wrong` returned something its `output_schema` does not allow: `count`"), "{text}");
}

#[tokio::test]
async fn resources_templates_and_prompts_are_served() {
    let mut proxy = serving(&[("shop.star", EVERYTHING)]).await;
    let told = proxy.client.request("resources/list", "{}").await.value();
    assert_eq!(
        told["result"]["resources"],
        json!([{"uri": "shop://hours", "name": "hours", "description": "When", "mimeType": "text/plain"}])
    );
    let told = proxy.client.request("resources/templates/list", "{}").await.value();
    assert_eq!(told["result"]["resourceTemplates"][0]["uriTemplate"], "shop://day/{day}");
    let read = proxy.client.request("resources/read", r#"{"uri":"shop://hours"}"#).await.value();
    assert_eq!(
        read["result"]["contents"],
        json!([{"uri": "shop://hours", "text": "open at shop://hours", "mimeType": "text/plain"}])
    );
    let read = proxy.client.request("resources/read", r#"{"uri":"shop://day/monday"}"#).await.value();
    assert_eq!(
        read["result"]["contents"],
        json!([{"uri": "shop://day/monday", "text": "monday", "mimeType": "text/markdown"}])
    );
    let failed = proxy.client.request("resources/read", r#"{"uri":"shop://day/sunday"}"#).await;
    assert_eq!((failed.error_code(), failed.value()["error"]["data"].clone()), (-32603, json!({"day": "sunday"})));
    assert!(failed.error_message().starts_with("closed on sundays (shop.star:"), "{}", failed.raw);
    let told = proxy.client.request("prompts/list", "{}").await.value();
    assert_eq!(
        told["result"]["prompts"][0]["arguments"][0],
        json!({"name": "whom", "required": true, "description": "To whom"})
    );
    let got = proxy.client.request("prompts/get", r#"{"name":"letter","arguments":{"whom":"Ann"}}"#).await.value();
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "Write to Ann about nothing.");
    let failed = proxy.client.request("prompts/get", r#"{"name":"letter","arguments":{}}"#).await;
    assert_eq!(failed.error_code(), -32602);
    assert!(failed.error_message().contains("whom"), "{}", failed.raw);
}

#[tokio::test]
async fn a_stateless_client_has_them_too() {
    let proxy = world(&[("shop.star", EVERYTHING)]).http().await;
    let mut client = proxy.client();
    let read = client.modern("resources/read", r#"{"uri":"shop://day/monday"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "monday");
    let called = client.modern_call("tool", r#"{"count":1}"#).await.value();
    assert_eq!(called["result"]["structuredContent"]["kind"], "a");
}

#[tokio::test]
async fn a_session_script_sees_an_extension_as_any_backend() {
    let script = r#"
shop = backends()["shop"]
for meta, call in shop.tools():
    publish(meta.replace(name = shop.kind + "_" + meta.name), call)
for meta, call in shop.resources():
    publish_resource(meta, lambda args, call = call: "wrapped: " + call(args)["contents"][0]["text"])
    publish_resource(meta.replace(uri = "mall://hours"), call)
instructions("%s %s %s" % (shop.info.name, shop.info.version, shop.status))
"#;
    let world = world(&[("shop.star", EVERYTHING)]).file("policy.star", script);
    let finished =
        Finished::run(world.command(["list-tools", "--config", "proxy.yaml", "--script", "policy.star"])).await;
    assert!(finished.stdout.contains("extension_tool"), "{}{}", finished.stdout, finished.stderr);
    let mut proxy = world.argument("--script").argument("policy.star").stdio();
    let told = proxy.client.initialize("2025-11-25").await.value();
    assert_eq!(told["result"]["instructions"], "shop 1.2.3 ready");
    let read = proxy.client.request("resources/read", r#"{"uri":"shop://hours"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "wrapped: open at shop://hours");
    let read = proxy.client.request("resources/read", r#"{"uri":"mall://hours"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "open at shop://hours");
    assert_eq!(read["result"]["contents"][0]["uri"], "mall://hours", "{read}");
}

#[tokio::test]
async fn an_error_in_a_handler_names_its_line_and_hides_the_rest() {
    let mut proxy = serving(&[("one.star", &one_tool("x = {}\nreturn x['key']", ""))]).await;
    let text = proxy.fault("run", json!({})).await;
    assert!(text.ends_with("(one.star:3)") && !text.contains("tools/"), "{text}");
}

#[tokio::test]
async fn each_extension_remembers_for_itself() {
    let one = one_tool("return state.incr('calls')", "");
    let two = one.replace("\"one\"", "\"two\"").replace("\"run\"", "\"other\"");
    let mut proxy = serving(&[("one.star", &one), ("two.star", &two)]).await;
    for (tool, expected) in [("run", 1), ("run", 2), ("other", 1), ("run", 3)] {
        assert_eq!(proxy.data(tool, json!({})).await, json!({"result": expected}), "{tool}");
    }
}

/// A tool and a resource that say whom they serve, and tell of themselves on the way.
const ABOUT_THE_CALLER: &str = r#"
def about(params):
    progress(1, 2, "looking")
    log("asked", level = "warning", whom = current_user().sub)
    state.set("last", current_user().sub)
    progress(2, 2)
    return "%s of %s by %s" % (state.get("last"), current_user().groups, client().name)

def describe_extension():
    return Extension(name = "about", version = "1",
        tools = [Tool(name = "about", description = "", handler = about)],
        resources = [Resource(uri = "about://me", name = "me", handler = about)])
"#;

#[tokio::test]
async fn a_handler_knows_whom_it_serves_and_tells_of_its_progress() {
    let tokens =
        "auth: {tokens: [{token: secret-token-of-a, sub: ann, groups: [ops]}, {token: secret-token-of-b, sub: bob}]}";
    let config = Config::new().section("extensions: { paths: [about.star] }").section(tokens);
    let script = "for meta, call in backends()['about'].tools():\n    publish(meta.replace(name = 'wrapped'), lambda args, call = call: call(args))\n    publish(meta, call)\npassthrough()\n";
    let proxy = Proxy::new(&config)
        .file("about.star", ABOUT_THE_CALLER)
        .file("policy.star", script)
        .argument("--script")
        .argument("policy.star")
        .http()
        .await;
    for (token, expected) in
        [("secret-token-of-a", "ann of [\"ops\"] by test-client"), ("secret-token-of-b", "bob of [] by test-client")]
    {
        let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
        client.initialize("2025-11-25").await.result();
        for tool in ["about", "wrapped"] {
            let params = format!(r#"{{"name":"{tool}","arguments":{{}},"_meta":{{"progressToken":"t"}}}}"#);
            let asked = client.legacy(&message::request("70", "tools/call", &params));
            let told = client.send(&asked).await.messages().await;
            let progress: Vec<_> = told.iter().map(|message| message.value()["params"]["progress"].clone()).collect();
            assert_eq!(progress, [json!(1.0), json!(2.0), json!(null)], "{tool}");
            assert_eq!(told[2].text(), expected, "{tool}");
        }
        let read = client.request("resources/read", r#"{"uri":"about://me"}"#).await.value();
        assert_eq!(read["result"]["contents"][0]["text"], expected);
    }
    let line = proxy.program.stderr.line("asked").await;
    assert!(line.contains("ann") && line.contains("about"), "{line}");
}

#[tokio::test]
async fn arguments_of_the_wrong_kind_for_a_module_are_told_with_their_line() {
    let calls = [
        ("http.get(7)", "`url`"),
        ("http.get('https://x.test', headers = ['a'])", "`headers` must be a dict of strings, not a `list`"),
        ("http.get('https://x.test', auth = 'ann')", "`auth` must be `(user, password)`"),
        ("http.post('https://x.test', body = 'a', json_body = 1)", "a request has one body"),
        ("http.get('https://x.test', timeout = 0)", "`timeout` must be a number of seconds above 0"),
        ("exec.run('ls', 'x')", "`args`"),
        ("exec.run('ls', env = {'A': []})", "`env` must be a dict of strings; `A` is not one"),
        ("sqlite.query(':memory:', 'SELECT 1', 'x')", "params"),
        ("sqlite.query(':memory:', 7)", "`sql`"),
        ("postgres.query('postgresql://x.test/y', 'SELECT 1', 'x')", "`params` must be a list"),
        ("data.load_text(None)", "`path`"),
        ("env.get(1)", "`name`"),
        ("time.sleep(-1)", "`seconds` must be a number of seconds above 0"),
    ];
    let body: String =
        calls.iter().enumerate().map(|(at, (call, _))| format!("if params['case'] == {at}: {call}\n")).collect();
    let mut proxy = serving(&[("one.star", &one_tool(body.trim_end(), "allowed_exec = ['ls'],"))]).await;
    for (case, (call, expected)) in calls.iter().enumerate() {
        let text = proxy.fault("run", json!({"case": case})).await;
        assert!(text.contains(expected) && text.contains(&format!("(one.star:{})", case + 2)), "{call}: {text}");
    }
}
