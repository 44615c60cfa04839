//! Recordings as files: what each line leads to.

use serde_json::{Value, json};

use crate::support::proxy::Proxy;

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn start() -> String {
    let server = json!({
        "name": "db", "kind": "stdio", "status": "ready",
        "offer": {"tools": [tool("read"), tool("drop"), tool("other")]},
    });
    let catalog = json!({"at": "2026-01-01T00:00:00Z", "script": null, "servers": [server]});
    json!({"start": {"version": 1, "proxy": "1.0.0", "catalog": catalog}}).to_string()
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A successful call of a tool, with other members in place of these.
fn call(tool: &str, at: &str, arguments: &Value, more: Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    let mut line = json!({
        "id": format!("call-{tool}-{at}"), "at": format!("2026-01-01T{at}Z"), "ms": 1.5, "method": "tools/call", "name": tool,
        "published": true, "origin": ["db", tool],
        "user": {"sub": "ann", "email": "", "name": "", "groups": [], "claims": {}, "anonymous": false, "local": false},
        "client": {"protocolVersion": "2025-11-25", "info": null, "capabilities": {}},
        "source": "http", "session": 1, "script": null, "params": params, "outcome": "ok", "refusal": null,
        "result": text("ok"), "ended": true,
        "serverCalls": [{"server": "db", "method": "tools/call", "params": params, "outcome": "ok", "result": text("ok")}],
    });
    for (name, value) in more.as_object().expect("an object") {
        line[name] = value.clone();
    }
    json!({"call": line}).to_string()
}

fn world(script: &str, lines: &[String]) -> Proxy {
    let text: String = std::iter::once(start()).chain(lines.iter().cloned()).map(|line| line + "\n").collect();
    Proxy::with_config_text("sessionInit: { scriptFile: policy.star }\n")
        .file("policy.star", script)
        .file("calls.jsonl", &text)
}

const LIMITED: &str = r#"
def on_request(request):
    allowed, _ = check_rate_limit("all", 2, 60)
    if not allowed:
        fail("too many calls")

for meta, call in backends()["db"].tools():
    publish(meta, call)
"#;

#[tokio::test]
async fn limits_are_computed_anew_on_the_recorded_clock() {
    // They are written in the order in which they ended.
    let lines = ["12:00:00.5", "12:00:02", "12:00:00", "12:01:40"].map(|at| call("read", at, &json!({}), json!({})));
    let found = world(LIMITED, &lines).run(["backtest", "calls.jsonl"]).await.expect(1);
    let lines: Vec<&str> = found.stdout.lines().collect();
    assert_eq!(lines[0], "4 calls: 3 same, 1 now refused (policy.star:5)");
    assert_eq!(lines[1], "1 call depends on stored values, and the store of a backtest starts empty");
    assert!(lines[2].contains("12:00:02"), "the third one within a minute: {}", lines[2]);
}

const CHANGED: &str = r#"
calls = {meta.name: (meta, call) for meta, call in backends()["db"].tools()}

def read(args):
    if args.get("way") == "text":
        return "another text"
    if args.get("way") == "other":
        return calls["other"][1](args)
    state.incr("reads")
    return calls["read"][1](args)

def drop(args):
    if elicit("Really drop?", when_unavailable = "reject").action != "accept":
        fail("nobody agreed")
    return calls["drop"][1](args)

publish(calls["read"][0], read)
publish(calls["drop"][0], drop)
"#;

#[tokio::test]
async fn each_call_that_ends_differently_is_told_with_the_reason() {
    let asking = json!({"protocolVersion": "2025-11-25", "info": null, "capabilities": {"elicitation": {}}});
    let answer = json!([{"message": "Really drop?", "answer": {"action": "accept", "content": {}}}]);
    let refusal = json!({"reason": "on_request", "at": "old.star:3", "why": "no"});
    let lines = [
        call("read", "12:00:01", &json!({}), json!({})),
        call("read", "12:00:02", &json!({"way": "text"}), json!({})),
        call("read", "12:00:03", &json!({"way": "other"}), json!({})),
        call("drop", "12:00:04", &json!({}), json!({"client": asking})),
        call("drop", "12:00:05", &json!({}), json!({"client": asking, "questions": answer})),
        call("drop", "12:00:06", &json!({}), json!({})),
        call("read", "12:00:07", &json!({}), json!({"outcome": "tool_error", "refusal": refusal, "serverCalls": []})),
        call("other", "12:00:08", &json!({}), json!({})),
        call("read", "12:00:09", &json!({}), json!({"outcome": "cancelled", "result": null, "ended": false})),
    ];
    let report = world(CHANGED, &lines).run(["backtest", "calls.jsonl", "--json"]).await.expect(1).json();
    let differences: Vec<[&str; 2]> = report["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| ["verdict", "why"].map(|member| one[member].as_str().expect("text")))
        .collect();
    assert_eq!(
        differences,
        [
            ["changed", "it no longer calls db read"],
            ["wouldNowCall", "db other"],
            ["nowAsks", "Really drop?"],
            ["nowRefused", "nobody agreed"],
            ["nowAllowed", "it would call db read"],
            ["nowRefused", "no such item is published"],
            ["skipped", "it was cancelled"],
        ]
    );
    assert_eq!((&report["same"], &report["dependOnState"]), (&json!(2), &json!(2)), "{report}");
    assert_eq!(report["differences"][4]["dependsOnState"], true);
}

#[tokio::test]
async fn the_summary_counts_only_the_calls_that_a_line_refuses_at_that_line() {
    let asking = json!({"protocolVersion": "2025-11-25", "info": null, "capabilities": {"elicitation": {}}});
    let answer = json!([{"message": "Really drop?", "answer": {"action": "decline"}}]);
    let lines = [
        call("drop", "12:00:01", &json!({}), json!({"client": asking, "questions": answer})),
        call("other", "12:00:02", &json!({}), json!({})),
    ];
    let found = world(CHANGED, &lines).run(["backtest", "calls.jsonl"]).await.expect(1).stdout;
    assert_eq!(found.lines().next(), Some("2 calls: 0 same, 2 now refused (1 at policy.star:14)"), "{found}");
}

#[tokio::test]
async fn a_recording_that_is_cut_off_counts_as_far_as_it_is_whole() {
    let lines = ["12:00:00", "12:00:01"].map(|at| call("read", at, &json!({}), json!({})));
    let world = world(&LIMITED.replace("60", "1"), &lines);
    let whole = std::fs::read_to_string(world.directory.path().join("calls.jsonl")).expect("it is there");
    world.directory.write("cut.jsonl", &whole[..whole.len() - 40]);
    let cut = world.run(["backtest", "cut.jsonl"]).await.expect(0);
    assert_eq!(cut.stdout, "1 call: 1 same\n");
    let warning = "warning: `cut.jsonl` is cut off in line 3: only the 1 call before that counts\n";
    assert_eq!(cut.stderr, warning);
    world.directory.write("broken.jsonl", &whole.replacen("{\"call\"", "{\"call", 1));
    let broken = world.run(["backtest", "broken.jsonl"]).await.expect(2);
    let error = "error: cannot use the recording `broken.jsonl`: line 2 is not part of a recording: ";
    assert!(broken.stderr.starts_with(error), "{}", broken.stderr);
    for (name, text, reason) in [("empty.jsonl", "", "it is empty"), ("other.jsonl", "{}\n", "line 1 is not the start")]
    {
        world.directory.write(name, text);
        let refused = world.run(["backtest", name]).await.expect(2);
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
    world.run(["backtest", "missing.jsonl"]).await.expect(2);
    let failing = world.file("policy.star", "fail(\"no policy\")");
    let failed = failing.run(["backtest", "calls.jsonl"]).await.expect(2);
    assert!(failed.stderr.contains("no policy"), "{}", failed.stderr);
}
