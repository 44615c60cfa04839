//! What a local tool has of its client: icons and interfaces that the client shows, log messages, addresses to visit,
//! folders. Each for a client with a session and for a stateless one.

use std::path::Path;

use serde_json::{Value, json};

use super::{one_tool, refused, serving, world};
use crate::elicitation::{Client, EVERYTHING, text};
use crate::support::config::Config;
use crate::support::message;
use crate::support::modern::{VERSION, meta_members, with_meta};
use crate::support::proxy::Proxy;
use crate::support::temp_dir::TempDir;

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn real(path: &Path) -> String {
    path.canonicalize().expect("it exists").display().to_string()
}

const SHOWN: &str = r#"
ICONS = [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}]

def page(params):
    return "<!doctype html><title>Board</title>"

def run(params):
    return "done"

def describe_extension():
    return Extension(name = "board", version = "1",
        tools = [Tool(name = "show", description = "", handler = run, icons = ICONS, ui = "ui://board/main",
            meta = {"example.com/cost": 2, "ui": {"visibility": ["model"]}})],
        resources = [
            Resource(uri = "ui://board/main", name = "board", handler = page, icons = ICONS, meta = {"a": 1},
                mime_type = "text/html;profile=mcp-app"),
            ResourceTemplate(uri_template = "board://{name}", name = "boards", handler = page, icons = ICONS, meta = {"b": None}),
        ],
        prompts = [Prompt(name = "ask", handler = run, icons = ICONS, meta = {"c": [1]})])
"#;

#[tokio::test]
async fn icons_meta_and_the_interface_are_listed_as_mcp_has_them() {
    let icon =
        json!([{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}]);
    for modern in [false, true] {
        let mut client = Client::at(world(&[("board.star", SHOWN)]), modern, "{}").await;
        let mut lists = Vec::new();
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            let listed = match modern {
                true => client.modern_request(method, &json!({})).await,
                false => client.proxy.client.request(method, "{}").await,
            };
            lists.push(listed.value()["result"].clone());
        }
        let items = [
            &lists[0]["tools"][0],
            &lists[1]["resources"][0],
            &lists[2]["resourceTemplates"][0],
            &lists[3]["prompts"][0],
        ];
        for item in items {
            assert_eq!(item["icons"], icon, "modern {modern}: {item}");
        }
        let tool = json!({"example.com/cost": 2, "ui": {"visibility": ["model"], "resourceUri": "ui://board/main"}});
        let metas: Vec<&Value> = items.iter().map(|item| &item["_meta"]).collect();
        assert_eq!(metas, [&tool, &json!({"a": 1}), &json!({"b": null}), &json!({"c": [1]})], "modern {modern}");
        let read = json!({"uri": "ui://board/main"});
        let read = match modern {
            true => client.modern_request("resources/read", &read).await,
            false => client.proxy.client.request("resources/read", &read.to_string()).await,
        };
        let page = &read.value()["result"]["contents"][0];
        assert_eq!(page["mimeType"], "text/html;profile=mcp-app", "modern {modern}: {page}");
        assert!(page["text"].as_str().is_some_and(|text| text.contains("Board")), "{page}");
    }
}

#[tokio::test]
async fn clients_learn_that_an_extension_has_interfaces() {
    let mut proxy = world(&[("board.star", SHOWN)]).stdio();
    let declared = proxy.client.initialize("2025-11-25").await.value()["result"]["capabilities"].clone();
    assert!(declared["extensions"].get("io.modelcontextprotocol/ui").is_some(), "{declared}");
}

#[tokio::test]
async fn a_wrong_icon_interface_or_timeout_does_not_load() {
    let cases = [
        ("icons = [{}]", "`icons` of the tool `run` need a `src`"),
        ("icons = ['https://x.test/i.png']", "must be a list of dicts"),
        ("icons = [{'src': 'javascript:x'}]", "an `https:` or `data:` URI"),
        ("icons = [{'src': 'data:,', 'sizes': '48x48'}]", "not a list of strings"),
        ("icons = [{'src': 'data:,', 'theme': 'blue'}]", "neither \"light\" nor \"dark\""),
        ("meta = ['x']", "`meta` of the tool `run` must be a dict, not a `list`"),
        ("timeout = 0", "`timeout` of the tool `run` must be a number of seconds above 0"),
        ("ui = 'https://x.test'", "must be a URI that begins with `ui://`"),
        ("ui = 'ui://none'", "has the user interface `ui://none`, but there is no resource with this URI"),
        ("ui = 'ui://a', meta = {'ui': {'resourceUri': 'ui://b'}}", "`meta` has another `ui`"),
    ];
    let tool = |more: &str| one_tool("pass", "").replace("handler = run)", &format!("handler = run, {more})"));
    let mut files: Vec<(String, String)> =
        cases.iter().enumerate().map(|(at, (more, _))| (format!("case{at}.star"), tool(more))).collect();
    files.push(("board.star".to_owned(), SHOWN.replace("text/html;profile=mcp-app", "text/html")));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let problems = refused(&files).await;
    for (at, (more, expected)) in cases.iter().enumerate() {
        assert!(problems.contains(expected), "{more}: {problems}");
        assert!(problems.contains(&format!("case{at}.star")), "{more}: {problems}");
    }
    assert!(problems.contains("has the MIME type `text/html`") && problems.contains("set `mime_type = "), "{problems}");
}

const SLOW: &str = r#"
OUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

def wait(params):
    sleep(3600)

def spin(params):
    for _ in range(1000000000):
        pass

def busy(params):
    for number in range(6):
        progress(number)
        sleep(params["pause"])
    return {"n": 6}

def describe_extension():
    return Extension(name = "slow", version = "1", tools = [
        Tool(name = "wait", description = "", handler = wait, timeout = 0.05),
        Tool(name = "spin", description = "", handler = spin, timeout = 0.05),
        Tool(name = "promise", description = "", handler = wait, timeout = 0.05, output_schema = OUT),
        Tool(name = "busy", description = "", handler = busy, timeout = 3600, output_schema = OUT),
    ])
"#;

#[tokio::test]
async fn a_call_that_takes_too_long_says_so_to_people_and_to_programs() {
    for modern in [false, true] {
        let mut client = Client::at(world(&[("slow.star", SLOW)]), modern, "{}").await;
        for tool in ["wait", "spin", "promise"] {
            let (_, outcome) = client.converse(tool, json!({}), json!({})).await;
            let result = &outcome["result"];
            assert_eq!(result["isError"], true, "modern {modern}, {tool}: {outcome}");
            assert!(text(&outcome).contains("longer than 0.05 s without progress"), "{outcome}");
            let (data, none) = match tool {
                "promise" => (&result["_meta"]["proxy/error"], &result["structuredContent"]),
                _ => (&result["structuredContent"], &result["_meta"]["proxy/error"]),
            };
            assert_eq!((&data["reason"], &data["timeoutSeconds"]), (&json!("timeout"), &json!(0.05)), "{outcome}");
            assert!(data["hint"].is_string() && none.is_null(), "{outcome}");
        }
        let (_, outcome) = client.converse("busy", json!({"pause": 0.01}), json!({})).await;
        assert_eq!(outcome["result"]["structuredContent"], json!({"n": 6}), "modern {modern}: {outcome}");
    }
}

#[tokio::test]
async fn the_data_of_a_rate_limit_is_no_promised_output() {
    let limit = "rateLimiting: { perUser: { maxTokens: 1, refillPeriod: 1h } }";
    let config = Config::new().section("extensions: { paths: [slow.star] }").section(limit);
    for (tool, promises) in [("wait", false), ("busy", true)] {
        let mut proxy = Proxy::new(&config).file("slow.star", SLOW).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.call(tool, r#"{"pause": 0}"#).await.result();
        let refused = proxy.client.call(tool, r#"{"pause": 0}"#).await.value()["result"].clone();
        assert_eq!(refused["isError"], true, "{tool}: {refused}");
        let data = if promises { &refused["_meta"]["proxy/error"] } else { &refused["structuredContent"] };
        assert!(data["retryAfterSeconds"].as_u64().is_some_and(|wait| wait > 60), "{tool}: {refused}");
        assert_eq!(refused.get("structuredContent").is_some(), !promises, "{tool}: {refused}");
    }
}

#[tokio::test]
async fn tools_of_a_session_script_have_timeouts_and_interfaces_too() {
    let script = r#"
def page(args):
    return "<!doctype html>"
def wait(args):
    sleep(3600)
publish(metadata("wait", "", {}, {}, timeout = 0.05, ui = "ui://wait"), wait)
publish_resource(resource_metadata("ui://wait", "wait", mime_type = "text/html;profile=mcp-app"), page)
"#;
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script);
    let mut client = Client::at(proxy, false, "{}").await;
    let listed = client.proxy.client.request("tools/list", "{}").await.value();
    assert_eq!(listed["result"]["tools"][0]["_meta"], json!({"ui": {"resourceUri": "ui://wait"}}));
    let (_, outcome) = client.converse("wait", json!({}), json!({})).await;
    assert_eq!(outcome["result"]["structuredContent"]["reason"], "timeout", "{outcome}");
    let (missing, _) = script.split_once("publish_resource").expect("it is published last");
    let checked = Proxy::new(&config).file("policy.star", missing).run(["check"]).await;
    assert_ne!(checked.code, 0, "{}", checked.stdout);
    assert!(checked.stderr.contains("the user interface `ui://wait`, but there is no resource"), "{}", checked.stderr);
}

const NOTIFYING: &str = r#"
def run(params):
    notify("details", level = "debug")
    notify("begun")
    notify("one is missing", level = "warning", data = {"file": "a.txt"})
    elicit("Sure?", when_unavailable = "accept")
    return "done"

def wrong(params):
    notify("x", level = "loud")

def describe_extension():
    return Extension(name = "notifying", version = "1", tools = [
        Tool(name = "run", description = "", handler = run),
        Tool(name = "wrong", description = "", handler = wrong),
    ])
"#;

/// The params of the log messages that have come so far.
fn messages(client: &Client) -> Vec<Value> {
    let unclaimed = client.proxy.client.unclaimed().map(|message| message.value());
    unclaimed
        .filter(|message| message["method"] == "notifications/message")
        .map(|message| message["params"].clone())
        .collect()
}

#[tokio::test]
async fn a_client_receives_the_messages_of_its_level_once() {
    let begun = json!({"level": "info", "data": "begun", "logger": "notifying"});
    let missing = json!({"level": "warning", "logger": "notifying",
        "data": {"message": "one is missing", "data": {"file": "a.txt"}}});

    let mut client = Client::at(world(&[("notifying.star", NOTIFYING)]), false, EVERYTHING).await;
    for (level, expected) in [("info", vec![begun.clone(), missing.clone()]), ("error", vec![])] {
        client.proxy.client.request("logging/setLevel", &json!({ "level": level }).to_string()).await.result();
        let call = client.proxy.client.begin("tools/call", r#"{"name":"run","arguments":{}}"#).await;
        let question = client.proxy.client.expect_notification("elicitation/create").await;
        let answer = message::result(&question.id().expect("it is a request"), r#"{"action":"accept"}"#);
        client.proxy.client.send(&answer).await;
        assert_eq!(client.proxy.client.response(&call).await.text(), "done");
        let mut seen = messages(&client);
        if level == "error" {
            // Those of the first call.
            seen.drain(..2);
        }
        assert_eq!(seen, expected, "{level}");
    }

    // A stateless client says with each request what it wants; the second round repeats nothing.
    let mut client = Client::at(world(&[("notifying.star", NOTIFYING)]), true, EVERYTHING).await;
    let (_, outcome) = client.converse("run", json!({}), json!({"action": "accept"})).await;
    assert_eq!(text(&outcome), "done");
    assert_eq!(messages(&client), Vec::<Value>::new(), "no level, no messages");
    let members = meta_members(VERSION, "{}");
    let meta = format!(r#"{{{members},"io.modelcontextprotocol/logLevel":"info"}}"#);
    let call = with_meta(r#"{"name":"run","arguments":{}}"#, &meta);
    assert_eq!(client.proxy.client.request("tools/call", &call).await.text(), "done");
    assert_eq!(messages(&client), [begun, missing]);

    let (_, outcome) = client.converse("wrong", json!({}), json!({})).await;
    assert!(text(&outcome).contains("unknown notify() level `loud`"), "{outcome}");
    assert!(text(&outcome).contains("notifying.star:"), "{outcome}");
}

#[tokio::test]
async fn a_handler_in_front_can_keep_messages_from_the_client() {
    let script = "
calls = {meta.name: call for meta, call in backends()['one'].tools()}
publish(metadata('quiet', '', {}, {}), lambda args: calls['run']({}, relay = False))
publish(metadata('open', '', {}, {}), lambda args: calls['run']({}))
";
    let config =
        Config::new().section("extensions: { paths: [tools] }").section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script);
    proxy.directory.write("tools/one.star", &one_tool("notify('hello')\nreturn 'done'", ""));
    let mut client = Client::at(proxy, false, "{}").await;
    for (tool, expected) in [("quiet", 0), ("open", 1)] {
        assert_eq!(client.proxy.client.call(tool, "{}").await.text(), "done");
        assert_eq!(messages(&client).len(), expected, "{tool}");
    }
}

#[tokio::test]
async fn somebody_is_asked_to_visit_an_address() {
    let body = "count = shared_state.incr('runs')\nanswer = elicit_url('Log in to a\\u202eb', 'https://example.com/login', when_unavailable = params['then'])\nreturn '%s after %d' % (answer.action, count)";
    let extension = one_tool(body, "");
    for modern in [false, true] {
        let mut client = Client::at(world(&[("one.star", &extension)]), modern, EVERYTHING).await;
        let arguments = json!({"then": "error"});
        for (action, count) in [("accept", 1), ("decline", 2), ("cancel", 3)] {
            let (questions, outcome) = client.converse("run", arguments.clone(), json!({ "action": action })).await;
            assert_eq!(questions.len(), 1, "modern {modern}: {outcome}");
            let (method, params) = (&questions[0]["method"], &questions[0]["params"]);
            assert_eq!((method, &params["mode"]), (&json!("elicitation/create"), &json!("url")), "{params}");
            assert_eq!(
                (&params["url"], &params["message"]),
                (&json!("https://example.com/login"), &json!(r"Log in to a\u{202e}b"))
            );
            assert_eq!(params.get("elicitationId").is_some(), !modern, "{params}");
            // What was done before the question is not done again.
            assert_eq!(text(&outcome), format!("{action} after {count}"), "modern {modern}");
        }
        let (questions, outcome) = client.converse("run", arguments.clone(), json!({"action": "dance"})).await;
        assert_eq!(questions.len(), 3, "modern {modern}: {outcome}");
        assert!(text(&outcome).contains("the client sent no valid answer"), "{outcome}");

        let mut client = Client::at(world(&[("one.star", &extension)]), modern, r#"{"elicitation":{}}"#).await;
        for (then, expected) in
            [("accept", "accept after 1"), ("reject", "decline after 2"), ("error", "cannot ask the user")]
        {
            let (questions, outcome) = client.converse("run", json!({ "then": then }), json!({})).await;
            assert!(questions.is_empty() && text(&outcome).contains(expected), "modern {modern}, {then}: {outcome}");
        }
    }
}

#[tokio::test]
async fn an_address_that_could_mislead_is_an_error_at_its_line() {
    let extension = one_tool("return elicit_url('Visit', params['url'], when_unavailable = 'error').action", "");
    let mut proxy = serving(&[("one.star", &extension)]).await;
    for (url, expected) in [
        ("http://example.com/", "uses `http` to another machine"),
        ("javascript:alert(1)", "neither `https` nor `http`"),
        ("https://bank.example@evil.example/", "a user name or a password"),
        ("login", "is not an address"),
    ] {
        let problem = proxy.fault("run", json!({ "url": url })).await;
        assert!(problem.contains(expected) && problem.contains("(one.star:2)"), "{url}: {problem}");
    }
}

const FOLDERS: &str = r#"
def list_roots(params):
    count = shared_state.incr("runs")
    first = roots()
    elicit("Sure?", when_unavailable = "accept")
    again = roots()
    return {"count": count, "same": first == again, "roots": [[root.uri, root.name, root.path] for root in first]}

def load_file(params):
    return data.load_text(params["path"])

def both(params):
    return [len(found) for found in parallel([lambda: roots(), lambda: roots()])]

def save(params):
    sqlite.execute(params["path"], "CREATE TABLE IF NOT EXISTS t (x)")
    sqlite.execute(params["path"], "INSERT INTO t VALUES (1)")
    return sqlite.query(params["path"], "SELECT count(*) AS n FROM t")[0]

def where(params):
    return exec.run("pwd", cwd = params["path"])["stdout"]

def describe_extension():
    return Extension(name = "folders", version = "1", allowed_paths = ["@roots"], allowed_exec = ["pwd"], tools = [
        Tool(name = name, description = "", handler = handler)
        for name, handler in [("list", list_roots), ("load", load_file), ("both", both), ("save", save), ("where", where)]
    ])
"#;

/// Answers questions for folders with these, and agrees to everything else.
fn answering(folders: Value) -> impl FnMut(&Value) -> Value {
    move |question| match question["method"].as_str() {
        Some("roots/list") => json!({ "roots": folders }),
        _ => json!({"action": "accept", "content": {}}),
    }
}

async fn use_tool(client: &mut Client, tool: &str, arguments: Value, folders: &Value) -> (Vec<Value>, Value) {
    let params = json!({"name": tool, "arguments": arguments});
    client.converse_with("tools/call", params, answering(folders.clone())).await
}

#[tokio::test]
async fn the_folders_of_the_client_are_asked_for_once_in_a_call() {
    let folder = TempDir::new();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).expect("a link can be made");
    let folders = json!([
        {"uri": uri(folder.path()), "name": "project"},
        {"uri": uri(&folder.path().join("link"))},
        {"uri": "https://example.com/x"},
    ]);
    for modern in [false, true] {
        let mut client = Client::at(world(&[("folders.star", FOLDERS)]), modern, EVERYTHING).await;
        let (questions, outcome) = use_tool(&mut client, "list", json!({}), &folders).await;
        let methods: Vec<&str> = questions.iter().filter_map(|question| question["method"].as_str()).collect();
        assert_eq!(methods, ["roots/list", "elicitation/create"], "modern {modern}: {outcome}");
        let path = real(folder.path());
        let expected = json!([
            [folders[0]["uri"], "project", path],
            [folders[1]["uri"], "", path],
            ["https://example.com/x", "", ""],
        ]);
        let found = &outcome["result"]["structuredContent"];
        assert_eq!(*found, json!({"count": 1, "same": true, "roots": expected}), "modern {modern}: {outcome}");
        let (_, outcome) = use_tool(&mut client, "both", json!({}), &folders).await;
        assert_eq!(text(&outcome), "[3,3]", "modern {modern}");

        let mut client = Client::at(world(&[("folders.star", FOLDERS)]), modern, r#"{"elicitation":{}}"#).await;
        let (questions, outcome) = use_tool(&mut client, "list", json!({}), &folders).await;
        assert_eq!(questions.len(), 1, "modern {modern}: {outcome}");
        assert_eq!(outcome["result"]["structuredContent"]["roots"], json!([]), "modern {modern}");
    }
}

#[tokio::test]
async fn an_extension_works_inside_the_folders_of_its_client_and_nowhere_else() {
    for modern in [false, true] {
        let (folder, outside) = (TempDir::new(), TempDir::new());
        folder.write("below/a.txt", "inside");
        outside.write("secret.txt", "secret");
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).expect("a link can be made");
        let folders = json!([{"uri": uri(folder.path())}]);
        let at = |path: &str| json!({"path": format!("{}/{path}", real(folder.path()))});
        let mut client = Client::at(world(&[("folders.star", FOLDERS), ("own.txt", "own")]), modern, EVERYTHING).await;
        let (questions, outcome) = use_tool(&mut client, "load", at("below/a.txt"), &folders).await;
        assert_eq!((questions.len(), text(&outcome).as_str()), (1, "inside"), "modern {modern}: {outcome}");
        let (questions, outcome) = use_tool(&mut client, "load", json!({"path": "own.txt"}), &folders).await;
        assert_eq!(
            (questions.len(), text(&outcome).as_str()),
            (0, "own"),
            "nobody is asked for the extension's own files"
        );
        let (questions, outcome) = use_tool(&mut client, "save", at("new.db"), &folders).await;
        assert_eq!((questions.len(), &outcome["result"]["structuredContent"]), (1, &json!({"n": 1})), "{outcome}");
        let (_, outcome) = use_tool(&mut client, "where", at("below"), &folders).await;
        assert_eq!(text(&outcome).trim_end(), format!("{}/below", real(folder.path())), "modern {modern}");

        let secret = json!({"path": format!("{}/secret.txt", real(outside.path()))});
        for (tool, arguments) in [
            ("load", secret.clone()),
            ("load", at("link/secret.txt")),
            ("load", at("../../etc/passwd")),
            ("save", at("link/new.db")),
            ("where", at("link")),
            ("where", json!({"path": "/"})),
        ] {
            let (_, outcome) = use_tool(&mut client, tool, arguments.clone(), &folders).await;
            assert_eq!(outcome["result"]["isError"], true, "modern {modern}, {tool} {arguments}: {outcome}");
            assert!(text(&outcome).contains("the client's folders (`@roots`)"), "{tool} {arguments}: {outcome}");
        }
        let none = json!([{"uri": "https://example.com/"}]);
        let (_, outcome) = use_tool(&mut client, "load", secret, &none).await;
        assert!(text(&outcome).contains("the client has none"), "modern {modern}: {outcome}");
    }
}

#[tokio::test]
async fn folders_that_are_no_list_or_change_while_a_question_is_open() {
    let (folder, outside) = (TempDir::new(), TempDir::new());
    let root = folder.directory("root");
    folder.write("root/a.txt", "inside");
    outside.write("a.txt", "secret");
    let body =
        "root = roots()[0]\nelicit('Sure?', when_unavailable = 'error')\nreturn data.load_text(root.path + '/a.txt')";
    let extension = one_tool(body, "allowed_paths = ['@roots'],");
    for modern in [false, true] {
        let mut client = Client::at(world(&[("one.star", &extension)]), modern, EVERYTHING).await;
        let params = json!({"name": "run", "arguments": {}});
        let (questions, outcome) = client.converse_with("tools/call", params.clone(), |_| json!({"roots": 7})).await;
        assert_eq!(questions.len(), 3, "modern {modern}: {outcome}");
        assert!(text(&outcome).contains("no valid answer") && text(&outcome).contains("`roots`"), "{outcome}");

        // While somebody thinks about the question, the folder becomes a link to another one.
        let moved = folder.path().join("moved");
        let answer = |question: &Value| {
            if question["method"] == "roots/list" {
                return json!({"roots": [{"uri": uri(&root)}]});
            }
            std::fs::rename(&root, &moved).expect("it can be moved");
            std::os::unix::fs::symlink(outside.path(), &root).expect("a link can be made");
            json!({"action": "accept", "content": {}})
        };
        let (_, outcome) = client.converse_with("tools/call", params, answer).await;
        assert!(text(&outcome).contains("the client's folders (`@roots`)"), "modern {modern}: {outcome}");
        std::fs::remove_file(&root).expect("the link can be removed");
        std::fs::rename(&moved, &root).expect("it can be moved back");
    }
    let problem = refused(&[("one.star", &one_tool("pass", "allowed_paths = ['@rots'],"))]).await;
    assert!(
        problem.contains("`@rots` in `allowed_paths` names no folders") && problem.contains("`@roots`"),
        "{problem}"
    );
}
