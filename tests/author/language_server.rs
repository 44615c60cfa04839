use serde_json::{Value, json};

use super::seen;
use crate::support::config::Config;
use crate::support::lsp_client::LspClient;
use crate::support::programs;
use crate::support::proxy::Proxy;

async fn editor(proxy: &Proxy) -> (LspClient, String) {
    let mut client = LspClient::start(proxy.command(["lsp"]));
    let root = format!("file://{}", proxy.directory.path().display());
    let ready = client.initialize(&root).await;
    assert_eq!(ready["result"]["capabilities"]["hoverProvider"], true);
    (client, format!("{root}/policy.star"))
}

fn labels(items: &Value) -> Vec<&str> {
    items.as_array().expect("it is a list").iter().filter_map(|item| item["label"].as_str()).collect()
}

#[tokio::test]
async fn what_is_wrong_is_told_while_somebody_types() {
    let proxy = seen().await;
    let (mut client, uri) = editor(&proxy).await;
    client
        .open(&uri, "for meta, call in backends()[\"one\"].tools():\n    publish(meta, lambda args: call(args))\n")
        .await;
    let found = client.diagnostics(1).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["code"], &found[0]["severity"]), (&json!("loop-capture"), &json!(1)));
    assert_eq!(found[0]["range"], json!({"start": {"line": 1, "character": 31}, "end": {"line": 1, "character": 35}}));
    assert!(found[0]["message"].as_str().unwrap().contains("\nhint: bind it now"), "{found:?}");
    // What only a run can tell, on what the servers last offered.
    client.change(&uri, 2, "x = 'ü😀'; publish(1, 2)\n").await;
    let found = client.diagnostics(2).await;
    assert_eq!(found[0]["range"]["start"], json!({"line": 0, "character": 11}), "{found:?}");
    assert!(found[0]["message"].as_str().unwrap().starts_with("the first argument of publish()"), "{found:?}");
    client.change(&uri, 3, "for meta, call in backends()[\"one\"].tools():\n    publish(meta, call)\n").await;
    assert_eq!(client.diagnostics(3).await, [] as [Value; 0]);
    client.change(&uri, 4, "def f():\n    unused = 1\n\nf(\n").await;
    assert_eq!(client.diagnostics(4).await[0]["severity"], 1);
    assert_eq!(client.request("shutdown", Value::Null).await["result"], Value::Null);
    assert!(client.exit().await.success());
}

#[tokio::test]
async fn a_name_is_explained_where_one_points_at_it() {
    let proxy = seen().await;
    let (mut client, uri) = editor(&proxy).await;
    let text = "def wrap(call):\n    \"\"\"Wraps a call.\"\"\"\n    return call\n\npublish(None, wrap(json.decode(\"echo\")))\nb.tools()\n";
    client.open(&uri, text).await;
    let hover = client.at("textDocument/hover", &uri, text, "publ").await;
    let markdown = hover["contents"]["value"].as_str().unwrap();
    assert!(markdown.starts_with("```python\npublish(meta, handler, over = ..."), "{markdown}");
    assert!(
        markdown.contains("Publishes a tool") && markdown.ends_with("*session scripts, at the top level*"),
        "{markdown}"
    );
    assert_eq!(hover["range"]["start"], json!({"line": 4, "character": 0}));
    for (before, expected) in [
        ("json.dec", "json.decode("),
        (", wra", "Wraps a call."),
        ("(\"ec", "tool of `one`"),
        ("b.too", "Backend.tools()"),
    ] {
        let hover = client.at("textDocument/hover", &uri, text, before).await;
        let shown = hover["contents"]["value"].as_str().unwrap_or_default();
        assert!(shown.contains(expected), "{before}: {hover}");
    }
    assert_eq!(client.at("textDocument/hover", &uri, text, "def").await, Value::Null);
}

#[tokio::test]
async fn names_are_offered_also_those_of_servers_and_tools() {
    let proxy = seen().await;
    let (mut client, uri) = editor(&proxy).await;
    // None of these parses: nobody completes a finished line.
    for (text, expected, not) in [
        ("publish_p", "publish_prompt", "publish"),
        ("x = json.", "decode", "publish"),
        ("b = backends()[\"", "one", "echo"),
        ("if meta.name == \"ec", "echo", "search"),
        ("load(\"", "@proxy//lib@1.star", "one"),
        ("def helper(a):\n    return a\n\nhel", "helper", "publish"),
        ("meta.repl", "replace", "publish"),
        ("x = publish_p", "publish_prompt", "publish"),
        ("x = print(pub", "publish", "one"),
        ("def f(a = pub", "publish", "one"),
    ] {
        client.open(&uri, text).await;
        let items = client.at("textDocument/completion", &uri, text, text).await;
        let labels = labels(&items);
        assert!(labels.contains(&expected) && !labels.contains(&not), "{text}: {labels:?}");
    }
    let text = "x = print(pub\nü = 1";
    client.open(&uri, text).await;
    let items = client.at("textDocument/completion", &uri, text, "x = print(pub").await;
    assert!(labels(&items).contains(&"publish"), "{items}");
    let text = "x = \"se";
    client.open(&uri, text).await;
    let items = client.at("textDocument/completion", &uri, text, text).await;
    assert_eq!(labels(&items), ["search"]);
    assert_eq!(
        items[0]["textEdit"],
        json!({"newText": "search", "range": {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 7}}})
    );
}

#[tokio::test]
async fn a_load_is_offered_the_files_of_the_project() {
    let proxy = ["policy.star", "lib.star", "lib_test.star", "scripts/deep/more.star", ".hidden/no.star", "notes.txt"]
        .into_iter()
        .fold(seen().await, |proxy, name| proxy.file(name, ""));
    let (mut client, uri) = editor(&proxy).await;
    let text = "load(\"";
    client.open(&uri, text).await;
    let items = client.at("textDocument/completion", &uri, text, text).await;
    let offered =
        ["lib.star", "scripts/deep/more.star", "//lib.star", "//scripts/deep/more.star", "@proxy//lib@1.star"];
    assert_eq!(labels(&items), offered);
    // From another folder, and when the name is half there.
    let (text, uri) = ("load(\"//s", uri.replace("policy.star", "scripts/other.star"));
    client.open(&uri, text).await;
    let items = client.at("textDocument/completion", &uri, text, text).await;
    assert_eq!(labels(&items), ["//scripts/deep/more.star"]);
    let text = "load(\"d";
    client.open(&uri, text).await;
    let items = client.at("textDocument/completion", &uri, text, text).await;
    assert_eq!(labels(&items), ["deep/more.star"]);
}

#[tokio::test]
async fn the_way_to_a_definition() {
    let proxy = seen().await.file("lib.star", "LIMIT = 1\n\ndef wrap(call):\n    return call\n");
    let (mut client, uri) = editor(&proxy).await;
    let text = "load(\"//lib.star\", \"wrap\")\n\ndef own():\n    return 1\n\nwrap(own())\n";
    client.open(&uri, text).await;
    let own = client.at("textDocument/definition", &uri, text, "wrap(ow").await;
    assert_eq!((&own["uri"], &own["range"]["start"]), (&json!(uri), &json!({"line": 2, "character": 4})));
    let loaded = client.at("textDocument/definition", &uri, text, "\nwra").await;
    assert!(loaded["uri"].as_str().unwrap().ends_with("/lib.star"), "{loaded}");
    assert_eq!(loaded["range"]["start"], json!({"line": 2, "character": 4}));
    let file = client.at("textDocument/definition", &uri, text, "//li").await;
    assert!(file["uri"].as_str().unwrap().ends_with("/lib.star"), "{file}");
    assert_eq!(client.at("textDocument/definition", &uri, text, "def").await, Value::Null);
}

#[tokio::test]
async fn what_is_no_message_is_told_and_the_next_one_is_answered() {
    let proxy = seen().await;
    let mut client = LspClient::start(proxy.command(["lsp", "--stdio"]));
    let early = client.request("textDocument/hover", json!({})).await;
    assert_eq!(early["error"]["code"], -32002);
    for rubbish in ["Content-Length: 3\r\n\r\n{]}", "Content-Length: 2\r\n\r\n[]", "Content-Length: many\r\n\r\n"] {
        client.send_bytes(rubbish.as_bytes()).await;
        let answer = client.read().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)), "{answer}");
    }
    // The empty line behind the bad header is one more.
    assert_eq!(client.read().await["error"]["code"], -32700);
    client.initialize("untitled:x").await;
    assert_eq!(client.request("textDocument/rename", json!({})).await["error"]["code"], -32601);
    assert_eq!(client.request("textDocument/hover", json!({"textDocument": 5})).await["error"]["code"], -32602);
    client.notify("textDocument/didOpen", json!({"textDocument": {"uri": 5}})).await;
    client.notify("no/such/thing", json!([])).await;
    client.open("untitled:1", "publish(\n").await;
    assert_eq!(client.diagnostics(1).await.len(), 1);
    // A client that goes without a word went wrong.
    assert_eq!(client.end().await.code(), Some(1));
}

#[tokio::test]
async fn the_config_file_is_left_alone() {
    let proxy = seen().await;
    let (mut client, _) = editor(&proxy).await;
    client.open("file:///x/proxy.yaml", "mcpServers:\n  a: {command: x}\n").await;
    client.open("untitled:1", "nothing_like_it()\n").await;
    let told = client.diagnostics(1).await;
    assert!(told[0]["message"].to_string().contains("nothing_like_it"), "the first are those of the script: {told:?}");
}

#[tokio::test]
async fn members_are_those_of_what_stands_in_front_of_the_dot() {
    let proxy = seen().await;
    let (mut client, uri) = editor(&proxy).await;
    let each = "for meta, call in backends()[\"one\"].tools():\n";
    for (text, expected, not) in [
        ("backends()[\"one\"].", "tools", "replace"),
        ("b = backends()[\"one\"]\n\nb.", "prompts", "replace"),
        ("backends().", "values", "tools"),
        (&format!("{each}    meta."), "replace", "tools"),
        (&format!("{each}    x = call({{\""), "ms", "one"),
        (&format!("{each}    if meta.name == \"fail\":\n        x = call({{\""), "message", "ms"),
        (&format!("{each}    if meta.name in [\"search\", \""), "echo", "one"),
    ] {
        client.open(&uri, text).await;
        let items = client.at("textDocument/completion", &uri, text, text).await;
        let labels = labels(&items);
        assert!(labels.contains(&expected) && !labels.contains(&not), "{text}: {labels:?}");
    }
}

#[tokio::test]
async fn the_parameters_of_a_function_are_shown_while_it_is_called() {
    let proxy = seen().await;
    let (mut client, uri) = editor(&proxy).await;
    let own = "def wrap(call, times = 3):\n    \"\"\"Wraps a call.\"\"\"\n    return call\n\n";
    for (text, label, active) in [
        ("publish(".to_owned(), "publish(meta, handler, over = ..., name_argument = ...)", Some(0)),
        ("publish(meta, ".to_owned(), "publish(meta, handler, over = ..., name_argument = ...)", Some(1)),
        (
            "x = elicit(\"(\", when_unavailable = ".to_owned(),
            "elicit(message, schema = ..., *, when_unavailable)",
            Some(3),
        ),
        (format!("{own}wrap(1, "), "wrap(call, times = 3)", Some(1)),
        (
            "load(\"@proxy//lib@1.star\", \"with_retry\")\nwith_retry(call, ".to_owned(),
            "with_retry(call, attempts = 3, wait = 0.5)",
            Some(1),
        ),
        ("backends()[\"one\"].tools()[0][0].replace(".to_owned(), "replace(", None),
        ("json.decode(".to_owned(), "json.decode(", None),
    ] {
        client.open(&uri, &text).await;
        let help = client.at("textDocument/signatureHelp", &uri, &text, &text).await;
        let shown = help["signatures"][0]["label"].as_str().unwrap_or_default();
        assert!(shown.starts_with(label), "{text}: {help}");
        if let Some(active) = active {
            assert_eq!(help["activeParameter"], active, "{text}: {help}");
        }
    }
    let text = format!("{own}wrap(");
    client.open(&uri, &text).await;
    let help = client.at("textDocument/signatureHelp", &uri, &text, &text).await;
    assert_eq!(help["signatures"][0]["documentation"]["value"], "Wraps a call.");
    for text in ["x = (1, ", "def f(", "nothing_known("] {
        client.open(&uri, text).await;
        assert_eq!(client.at("textDocument/signatureHelp", &uri, text, text).await, Value::Null, "{text}");
    }
}

#[tokio::test]
async fn the_outline_of_a_file_has_its_functions_and_variables() {
    let proxy = seen().await;
    let (mut client, uri) = editor(&proxy).await;
    client.open(&uri, "LIMIT = 1\n\ndef wrap(call):\n    def handler(args):\n        return call(args)\n\n    return handler\n\nif LIMIT == 1:\n    x = (\n").await;
    let symbols = client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": uri}})).await;
    let symbols = &symbols["result"];
    assert_eq!((&symbols[0]["name"], &symbols[0]["kind"]), (&json!("LIMIT"), &json!(13)));
    let wrap = &symbols[1];
    assert_eq!((&wrap["name"], &wrap["kind"], &wrap["detail"]), (&json!("wrap"), &json!(12), &json!("wrap(call)")));
    assert_eq!(wrap["range"]["end"], json!({"line": 6, "character": 18}));
    assert_eq!(wrap["selectionRange"]["start"], json!({"line": 2, "character": 4}));
    assert_eq!(wrap["children"][0]["name"], "handler");
    assert_eq!(symbols.as_array().map(Vec::len), Some(2), "{symbols}");
    let closed = client.request("textDocument/documentSymbol", json!({"textDocument": {"uri": "file:///none"}})).await;
    assert_eq!(closed["error"]["code"], -32602);
}

#[tokio::test]
async fn the_way_into_the_embedded_library() {
    let proxy = seen().await;
    let (mut client, uri) = editor(&proxy).await;
    let text = "load(\"@proxy//lib@1.star\", \"aggregate\")\n\nfor meta, call in aggregate(backends()):\n    publish(meta, call)\n";
    client.open(&uri, text).await;
    let found = client.at("textDocument/definition", &uri, text, "in aggr").await;
    let path = found["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
    assert!(path.ends_with("/library/lib@1.star"), "{found}");
    let library = std::fs::read_to_string(path).unwrap();
    assert!(std::fs::metadata(path).unwrap().permissions().readonly(), "a change of the copy has no effect");
    let line = usize::try_from(found["range"]["start"]["line"].as_u64().unwrap()).unwrap();
    assert!(library.lines().nth(line).unwrap().starts_with("def aggregate("), "{found}");
    let hover = client.at("textDocument/hover", &uri, text, "in aggr").await;
    let shown = hover["contents"]["value"].as_str().unwrap();
    assert!(shown.contains("aggregate(backends, settings = {})") && shown.contains("under unique names"), "{shown}");
    let file = client.at("textDocument/definition", &uri, text, "@proxy//li").await;
    assert_eq!(file["uri"], found["uri"]);
    // The file that the editor then opens has no problems.
    client.open(found["uri"].as_str().unwrap(), &library).await;
    assert_eq!(client.diagnostics(1).await.len(), 0);
}

#[tokio::test]
async fn hidden_characters_of_a_description_are_escapes_in_an_editor() {
    let says = "def say(params):\n    return 'x'\n\ndef describe_extension():\n    return Extension(name = 'one', version = '1', \
                tools = [Tool(name = 'say', description = 'Says\u{200b} it', handler = say)])\n";
    let mut server = programs::proxy();
    server.args(["serve", "--extension", "says.star"]);
    let proxy = Proxy::new(&Config::new().server("one", &server)).file("says.star", says);
    proxy.run(["list-servers"]).await.expect(0);
    let (mut client, uri) = editor(&proxy).await;
    let text = "x = \"sa";
    client.open(&uri, text).await;
    let items = client.at("textDocument/completion", &uri, text, text).await;
    assert_eq!(items[0]["documentation"], r"Says\u{200b} it", "{items}");
    let text = "x = \"say\"";
    client.change(&uri, 2, text).await;
    let hover = client.at("textDocument/hover", &uri, text, "\"sa").await;
    assert!(hover["contents"]["value"].as_str().is_some_and(|shown| shown.contains(r"Says\u{200b} it")), "{hover}");
}
