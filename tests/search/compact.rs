//! `find_tool` answers with signatures within a budget of tokens, and `describe_tool` has the rest.

use std::time::Instant;

use serde_json::{Value, json};

use super::{OPTIMIZED, desk, is_error, names, started, tool, world};
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::temp_dir::TempDir;

/// A tool with a title, hints and two parameters.
fn search_issues() -> Value {
    json!({
        "name": "search_issues",
        "title": "Search issues",
        "description": "Searches the issues of a repository. Labels narrow it.",
        "inputSchema": {
            "type": "object",
            "properties": {"labels": {"type": "array", "items": {"type": "string"}}, "owner": {"type": "string"}},
            "required": ["owner"],
        },
        "outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        "annotations": {"readOnlyHint": true},
    })
}

/// Tools that have much in common, each with many parameters.
fn many() -> Vec<Value> {
    let parameter = |number: usize| (format!("parameter_number_{number}"), json!({"type": "string"}));
    let made = (0..12).map(|number| {
        let mut made = tool(&format!("report_{number}"), "Writes a report. It is long.");
        let properties = (0..=number * 3).map(parameter).collect::<serde_json::Map<_, _>>();
        made["inputSchema"] = json!({"type": "object", "properties": properties, "required": ["parameter_number_0"]});
        made
    });
    made.collect()
}

impl StdioProxy {
    async fn described(&mut self, names: Value) -> Value {
        let answer = self.client.call("describe_tool", &json!({"tool_names": names}).to_string()).await;
        assert!(!is_error(&answer), "{}", answer.raw);
        serde_json::from_str(&answer.structured()).expect("structured content is JSON")
    }
}

#[tokio::test]
async fn an_answer_has_signatures_and_first_sentences() {
    // Given a tool with output, whose schema code mode would shorten to `int`
    let mut proxy = started(world(&[search_issues()], OPTIMIZED)).await;
    // When it is found
    let found = proxy.find("search issues").await;
    // Then the answer says how to call it and what it returns
    let expected = json!({
        "name": "search_issues",
        "signature": "(owner: str, labels?: list[str]) -> {result: int}",
        "description": "Searches the issues of a repository.",
    });
    assert_eq!(found["tools"][0], expected, "{found}");
    assert!(found["hint"].as_str().is_some_and(|hint| hint.contains("describe_tool")), "{found}");
    assert_eq!((found.get("more"), found.get("message")), (None, None), "{found}");
}

#[tokio::test]
async fn full_answers_have_definitions_and_no_describe_tool() {
    let section = "sessionInit: { preset: optimizer@1 }\noptimizer: { answer: full, embedding: { provider: none } }";
    let mut proxy = started(world(&[search_issues()], section)).await;
    let list = proxy.client.request("tools/list", "{}").await;
    assert_eq!(list.tool_names(), ["find_tool", "call_tool"]);
    let found = proxy.find("search issues").await;
    assert_eq!(found["tools"][0], search_issues(), "{found}");
    assert_eq!(found.get("hint"), None, "{found}");
    let nothing = proxy.find("quxify").await;
    assert_eq!((nothing.get("servers"), nothing["tools"].as_array().map(Vec::len)), (None, Some(0)), "{nothing}");
}

#[tokio::test]
async fn what_has_no_room_is_left_out_and_counted() {
    let section = |limit: usize, answer: &str| {
        format!(
            "sessionInit: {{ preset: optimizer@1 }}\noptimizer: {{ maxAnswerTokens: {limit}, answer: {answer}, \
             embedding: {{ provider: none }} }}"
        )
    };
    let mut full = started(world(&many(), &section(1500, "full"))).await;
    let full = full.find("write a report").await;
    let mut whole = started(world(&many(), &section(5000, "compact"))).await;
    let whole = whole.find("write a report").await;
    assert_eq!(names(&whole), names(&full));
    assert!(!whole["tools"].to_string().contains("lossy"), "{whole}");
    // With less room, parameters go first
    let mut less = started(world(&many(), &section(600, "compact"))).await;
    let less = less.find("write a report").await;
    assert_eq!(names(&less), names(&full));
    assert!(less["token_metrics"]["returned_tokens"].as_i64().is_some_and(|tokens| tokens <= 600), "{less}");
    let is_lossy = |tool: &Value| tool["signature"].as_str().is_some_and(|text| text.ends_with(", ...)"));
    let lossy = less["tools"].as_array().into_iter().flatten().filter(|tool| is_lossy(tool));
    assert!(lossy.clone().count() > 0 && lossy.clone().all(|tool| tool["lossy"] == true), "{less}");
    // And tools at last, but never the best
    let mut least = started(world(&many(), &section(1, "compact"))).await;
    let least = least.find("write a report").await;
    assert_eq!(names(&least), names(&full)[..1]);
    assert_eq!(least["more"], 7, "{least}");
    assert!(least["tools"][0]["signature"].as_str().is_some_and(|text| text.contains("parameter_number_0: str")));
}

#[tokio::test]
async fn describe_tool_has_definitions_and_near_names() {
    let tools = [desk(), vec![search_issues()]].concat();
    let mut proxy = started(world(&tools, OPTIMIZED)).await;
    let described = proxy.described(json!(["search_issues", "createTicket", "sendEmail"])).await;
    assert_eq!(described["tools"], json!([search_issues(), desk()[1]]), "{described}");
    let error = &described["errors"][0];
    assert_eq!(
        (&error["name"], &error["nearest"][0]),
        (&json!("createTicket"), &json!("create_ticket")),
        "{described}"
    );
    // What some models send instead of a list is understood.
    for one in [json!("sendEmail"), json!("[\"sendEmail\"]")] {
        assert_eq!(proxy.described(one).await["tools"], json!([desk()[1]]));
    }
    for wrong in [json!([]), json!(["a", "b", "c", "d", "e", "f"]), json!([1]), json!(null)] {
        let answer = proxy.client.call("describe_tool", &json!({"tool_names": wrong}).to_string()).await;
        assert!(is_error(&answer) && answer.text().contains("1 to 5 names"), "{}", answer.raw);
    }
}

#[tokio::test]
async fn a_script_describes_tools_and_limits_what_it_finds() {
    let script = r#"
index = search_index(backends()["desk"].tools())
def ask(args):
    found = index.search("write a report", limit = 4, compact = True, max_tokens = args["max_tokens"])
    return {"found": found, "described": index.describe(["report_1"]), "unready": index.unready_servers()}
publish(metadata("ask", "", {}, {}), ask)
publish(metadata("wrong", "", {}, {}), lambda args: index.search("report", max_tokens = 9))
"#;
    let proxy =
        world(&many(), "sessionInit: { scriptFile: policy.star }\noptimizer: { embedding: { provider: none } }");
    let mut proxy = started(proxy.file("policy.star", script)).await;
    let answer = proxy.client.call("ask", r#"{"max_tokens": 40}"#).await.structured();
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let found = answer["found"].as_array().expect("a list");
    assert_eq!(found.len(), 4, "each hit is there: {answer}");
    assert!(found[0]["signature"].is_string() && found[3].get("signature").is_none(), "{answer}");
    assert!(found.iter().all(|hit| hit["backend"] == "desk" && hit["score"].is_number()), "{answer}");
    assert_eq!(answer["described"]["tools"][0], many()[1], "{answer}");
    assert_eq!(answer["unready"], json!([]));
    let wrong = proxy.client.call("wrong", "{}").await;
    assert!(is_error(&wrong) && wrong.text().contains("`max_tokens` limits compact results only"), "{}", wrong.raw);
}

/// A server that no longer starts, with lists that are known.
fn with_lost_server(sections: &str) -> (Proxy, TempDir) {
    let files = TempDir::new();
    let up = files.write("up", "");
    let mut lost = std::process::Command::new("sh");
    let fake = fake_backend([]);
    lost.args(["-c", &format!("test -f '{}' || exit 3; exec \"$0\" --only echo", up.display())])
        .arg(fake.get_program());
    let config =
        Config::new().server("desk", &fake_backend(["--only", "add_tool"])).server("lost", &lost).section(sections);
    (Proxy::new(&config), files)
}

#[tokio::test]
async fn if_nothing_is_found_the_servers_that_are_not_ready_are_named() {
    // Given a server whose lists are known, and that fails when the proxy starts
    let (proxy, files) = with_lost_server(OPTIMIZED);
    proxy.run(["list-tools"]).await.expect(0);
    std::fs::remove_file(files.path().join("up")).expect("the file is there");
    let mut proxy = started(proxy).await;
    // When nothing is found, then the answer names the server
    let begin = Instant::now();
    let failed = json!([{"name": "lost", "state": "failed"}]);
    loop {
        let nothing = proxy.find("quxify").await;
        assert!(nothing["message"].is_string() && nothing["tools"] == json!([]), "{nothing}");
        if nothing["servers"] == failed {
            break;
        }
        assert!(begin.elapsed() < LONG_PATIENCE, "{nothing}");
    }
    assert_eq!(proxy.find("echo").await.get("servers"), None, "something was found");
}

#[tokio::test]
async fn servers_without_a_permitted_tool_are_not_named() {
    // Given a policy that hides the lost server's tool
    let cedar = "cedar: {policies: [a.cedar]}";
    let (proxy, files) = with_lost_server(&format!("{OPTIMIZED}\n{cedar}"));
    let proxy = proxy.file("a.cedar", "permit(principal, action, resource) unless { resource.name == \"echo\" };");
    proxy.run(["list-tools"]).await.expect(0);
    std::fs::remove_file(files.path().join("up")).expect("the file is there");
    let mut proxy = started(proxy).await;
    // When it has failed and nothing is found, then it is not named
    proxy.client.stderr().line("lost").await;
    let begin = Instant::now();
    loop {
        let nothing = proxy.find("quxify").await;
        assert!(!nothing["servers"].to_string().contains("lost"), "{nothing}");
        // The other server is named until it is ready.
        if nothing["servers"] == json!([]) {
            break;
        }
        assert!(begin.elapsed() < LONG_PATIENCE, "{nothing}");
    }
}
