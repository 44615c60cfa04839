//! A schema that the script changed is enforced before the server is called, whatever way the call takes.

use serde_json::{Value, json};

use super::serving;
use crate::support::proxy::StdioProxy;

const FILES: &str = r#"{"name":"files","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"force":{"type":"boolean"},"depth":{"type":"integer"}}}}"#;
const OTHER: &str = r#"{"name":"other","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}"#;

/// Publishes the tool `files` with a narrower schema in every way there is, and `other` as it is.
const SCRIPT: &str = r#"
NARROWER = {"type": "object", "properties": {"path": {"type": "string", "pattern": "^/tmp/"}, "depth": {"type": "integer"}}}

tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}
meta, call = tools["files"]
narrowed = meta.replace(parameters = NARROWER)
handler = call
publish(narrowed, handler)
publish(narrowed.replace(name = "wrapped"), lambda args: handler(args))
publish(metadata("borrowed", "", NARROWER, {}), handler)
publish(*tools["other"])
index = search_index([(narrowed, handler), tools["other"]])
loose = {"type": "object"}
publish(metadata("call_tool", "", loose, {}), lambda args: index.call(args["name"], args["args"]))
publish(metadata("run", "", loose, {}), lambda args: run_script("return call_tool(data['name'], data['args'])", index, data = args))
"#;

/// Calls the tool in this way; the result.
async fn call(proxy: &mut StdioProxy, way: &str, arguments: &Value) -> Value {
    let answer = match way {
        "call_tool" | "run" => proxy.client.call(way, &json!({"name": "files", "args": arguments}).to_string()).await,
        "stateless" => proxy.client.modern_call("files", &arguments.to_string()).await,
        tool => proxy.client.call(tool, &arguments.to_string()).await,
    };
    answer.value()["result"].take()
}

#[tokio::test]
async fn arguments_outside_the_published_schema_never_reach_the_server() {
    let mut proxy = serving(&[FILES, OTHER], SCRIPT).await;
    for way in ["files", "stateless", "wrapped", "borrowed", "call_tool", "run"] {
        let good = call(&mut proxy, way, &json!({"path": "/tmp/a", "depth": 1, "unknown": true})).await;
        assert_ne!(good["isError"], true, "{way}: {good}");
        assert!(good["structuredContent"].to_string().contains("/tmp/a"), "{way}: {good}");
        for (arguments, reason) in [
            (json!({"path": "/etc/a"}), "`path`"),
            (json!({"path": 1}), "`path`"),
            (json!({"depth": "x"}), "`depth`"),
            // The server knows it, and the published schema does not.
            (json!({"path": "/tmp/a", "force": true}), "there is no argument `force`"),
        ] {
            let refused = call(&mut proxy, way, &arguments).await;
            assert_eq!(refused["isError"], true, "{way} {arguments}: {refused}");
            let text = refused["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.contains("invalid arguments for") && text.contains(reason), "{way} {arguments}: {text}");
        }
    }
}

#[tokio::test]
async fn a_handler_that_checks_its_arguments_itself_gets_them_in_every_way() {
    let script = r#"
SCHEMA = {"type": "object", "properties": {"who": {"type": "string"}, "greeting": {"type": "string"}}, "required": ["who"]}

def greet(args):
    return {"greeted": args.get("name", "nobody")}

tool = (metadata("plain", "", SCHEMA, {}), unchecked(greet))
publish(*tool)
publish(tool[0].replace(name = "remembered"), cached(tool[1], ttl = 60))
publish(*bind((tool[0].replace(name = "bound"), tool[1]), greeting = "hi"))
index = search_index([tool])
loose = {"type": "object"}
publish(metadata("call_tool", "", loose, {}), lambda args: index.call("plain", args))
publish(metadata("run", "", loose, {}), lambda args: run_script("return call_tool('plain', data)", index, data = args))
"#;
    let mut proxy = serving(&[FILES], script).await;
    for way in ["plain", "remembered", "bound", "call_tool", "run"] {
        let answer = proxy.client.call(way, r#"{"name":"ann"}"#).await.value();
        assert_eq!(answer["result"]["content"][0]["text"], r#"{"greeted":"ann"}"#, "{way}: {answer}");
    }
}

#[tokio::test]
async fn a_tool_that_is_published_as_its_server_lists_it_keeps_every_byte() {
    let mut proxy = serving(&[FILES, OTHER], SCRIPT).await;
    // It does not match the server's own schema, and keys occur twice: both are the server's business.
    let odd = r#"{"path":1.10, "x":[1e400],"path":2}"#;
    assert_eq!(proxy.client.call("other", odd).await.structured(), odd);
}

#[tokio::test]
async fn on_request_decides_before_the_arguments_are_checked() {
    let script =
        format!("{SCRIPT}\ndef on_request(request):\n    if request.name == \"files\":\n        fail(\"closed\")\n");
    let mut proxy = serving(&[FILES, OTHER], &script).await;
    for way in ["files", "call_tool"] {
        let refused = call(&mut proxy, way, &json!({"force": true})).await;
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("closed") && !text.contains("force"), "{way}: {refused}");
    }
}

#[tokio::test]
async fn what_bind_filled_in_is_ignored_and_not_refused() {
    let script = r#"
tool = backends()["fake"].tools()[0]
publish(*bind(tool, force = False))
meta, _ = bind(tool, force = False)
publish(meta.replace(name = "unbound"), tool[1])
"#;
    let mut proxy = serving(&[FILES], script).await;
    let bound = proxy.client.call("files", r#"{"path":"a","force":true}"#).await.value();
    assert_eq!(bound["result"]["structuredContent"], json!({"path": "a", "force": false}));
    // Without the handler of `bind` nothing fills it in.
    let refused = proxy.client.call("unbound", r#"{"path":"a","force":true}"#).await.text();
    assert!(refused.contains("there is no argument `force`"), "{refused}");
}

#[tokio::test]
async fn the_command_line_is_held_to_it_as_well() {
    let refused = super::world(&[FILES, OTHER], SCRIPT).run(["call", "files", "path=/tmp/a", "force=true"]).await;
    let refused = refused.expect(1);
    assert!(format!("{}{}", refused.stdout, refused.stderr).contains("there is no argument `force`"));
}
