//! Without any setting, tools are found by their meaning too: the model is in the program.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{OPTIMIZED, PRESET, desk, names, started, tool, world};
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// Shares no word with any tool of the desk, and means the weather.
const PARAPHRASE: &str = "will it rain tomorrow";

/// Waits until the vectors are there: then the paraphrase finds its tool.
async fn until_ready(proxy: &mut StdioProxy) {
    let begin = Instant::now();
    while names(&proxy.find(PARAPHRASE).await).first() != Some(&"weather-forecast") {
        assert!(begin.elapsed() < LONG_PATIENCE, "it is never found by its meaning");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::test]
async fn a_paraphrase_finds_its_tool_and_nothing_else_changes_the_words() {
    let mut proxy = started(world(&desk(), PRESET)).await;
    until_ready(&mut proxy).await;
    assert_eq!(names(&proxy.find("open a ticket in the tracker").await)[0], "create_ticket");
    // Nobody can say what these mean, so the words decide.
    for unreadable in ["", "🦀🦀", "((((", "\u{0}\u{fffd}"] {
        assert_eq!(names(&proxy.find(unreadable).await), [""; 0], "{unreadable:?}");
    }
    let long = format!("weather. {}", "more words of no use ".repeat(2_500));
    assert!(names(&proxy.find(&long).await).contains(&"weather-forecast"));
    assert!(names(&proxy.find("Wie wird das Wetter? weather").await).contains(&"weather-forecast"));
}

#[tokio::test]
async fn find_tells_how_much_words_and_meaning_say() {
    let tools = [desk(), vec![json!({"name": "bare", "inputSchema": {}}), tool("поиск", "")]].concat();
    let proxy = world(&tools, PRESET);
    let found = proxy.run(["find", "will", "it", "rain", "--json"]).await.expect(0).json();
    let first = &found[0];
    assert_eq!((&first["tool"]["name"], &first["words"]), (&json!("weather-forecast"), &json!(0.0)), "{found}");
    let number = |member: &str| first[member].as_f64().unwrap_or_default();
    assert!((number("words") + number("meaning") - number("score")).abs() < 0.002, "{found}");
    assert!(number("similarity") > 0.0 && number("similarity") < 1.0, "{found}");
    let table = proxy.run(["find", "the", "weather"]).await.expect(0).stdout;
    let header: Vec<&str> = table.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(header, ["SCORE", "WORDS", "MEANING", "TOOL", "SERVER", "MATCHED", "DESCRIPTION"]);
    // By words alone.
    let nothing = proxy.run(["find", "--words", "will", "it", "rain"]).await.expect(1);
    assert!(nothing.stderr.contains("no match"), "{}", nothing.stderr);
    let by_words = proxy.run(["find", "--words", "--json", "weather"]).await.expect(0).json();
    assert_eq!((&by_words[0]["meaning"], &by_words[0]["words"]), (&Value::Null, &by_words[0]["score"]), "{by_words}");
}

#[tokio::test]
async fn users_measure_how_well_their_own_tools_are_found() {
    let queries = [
        json!({"query": PARAPHRASE, "tool": "weather-forecast"}),
        json!({"query": "open a ticket and send an email", "tools": ["create_ticket", "sendEmail"]}),
        json!({"query": "tickets", "tool": "gone"}),
    ];
    let lines: Vec<String> = queries.iter().map(Value::to_string).collect();
    let proxy = world(&desk(), PRESET).file("queries.jsonl", &lines.join("\n"));
    let file = proxy.directory.path().join("queries.jsonl").display().to_string();
    let measured = proxy.run(["find", "--eval", &file, "--json"]).await.expect(0).json();
    assert_eq!((&measured["queries"], &measured["of"]), (&json!(3), &json!(5)), "{measured}");
    let recall = measured["recall@5"].as_f64().unwrap_or_default();
    assert!((recall - 200.0 / 3.0).abs() < 0.1, "{measured}");
    assert_eq!(measured["missed"][0]["query"], "tickets", "{measured}");
    let by_words = proxy.run(["find", "--eval", &file, "--words"]).await.expect(0).stdout;
    assert!(
        by_words.contains("R@5") && by_words.contains("wanted: weather-forecast (not in the first 10)"),
        "{by_words}"
    );
    for (text, problem) in [
        ("", "has no queries"),
        ("{\"query\": \"x\"}", "line 1: a query and at least one tool are needed"),
        ("\n{\"query\": 1}", "line 2"),
    ] {
        proxy.directory.write("queries.jsonl", text);
        let wrong = proxy.run(["find", "--eval", &file]).await.expect(1).stderr;
        assert!(wrong.contains(problem) && wrong.contains("each line is"), "{wrong}");
    }
    proxy.run(["find", "--eval", &file, "and", "words"]).await.expect(2);
}

#[tokio::test]
async fn a_script_may_search_by_words_alone() {
    let script = r#"
tools = backends()["desk"].tools()
words = search_index(tools, meaning = False)
both = search_index(tools)
publish(metadata("words", "", {}, {}), lambda args: {"names": [tool["name"] for tool in words.search(args["query"])]})
publish(metadata("both", "", {}, {}), lambda args: {"names": [tool["name"] for tool in both.search(args["query"])]})
"#;
    let mut proxy =
        started(world(&desk(), "sessionInit: { scriptFile: policy.star }").file("policy.star", script)).await;
    let query = json!({"query": PARAPHRASE}).to_string();
    let begin = Instant::now();
    while !proxy.client.call("both", &query).await.structured().contains("weather-forecast") {
        assert!(begin.elapsed() < LONG_PATIENCE, "it is never found by its meaning");
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    assert_eq!(proxy.client.call("words", &query).await.structured(), r#"{"names":[]}"#);
    // A config without a model cannot give one.
    let script = "search_index(backends()[\"desk\"].tools(), meaning = True)\n";
    let sections = "sessionInit: { scriptFile: policy.star }\noptimizer: { embedding: { provider: none } }";
    let failed = world(&desk(), sections).file("policy.star", script).run(["check"]).await.expect(1);
    assert!(failed.stderr.contains("`optimizer.embedding.provider` is `none`"), "{}", failed.stderr);
}

#[tokio::test]
async fn nothing_is_embedded_unless_somebody_searches_by_meaning() {
    let proxy = world(&desk(), OPTIMIZED);
    proxy.run(["find", "ticket"]).await.expect(0);
    let other = world(&desk(), PRESET);
    for command in [vec!["list-tools"], vec!["check"], vec!["find", "--words", "ticket"]] {
        other.run(command).await.expect(0);
    }
    let is_embedded = |proxy: &Proxy| proxy.directory.path().join("cache/starlark-mcp-proxy/embeddings").exists();
    assert!(!is_embedded(&proxy) && !is_embedded(&other));
    other.run(["find", "ticket"]).await.expect(0);
    assert!(is_embedded(&other));
}

#[tokio::test]
async fn an_address_for_the_built_in_model_is_a_mistake() {
    let config = Config::new()
        .server("fake", &fake_backend([]))
        .section("optimizer: { embedding: { url: here, provider: builtin } }");
    let wrong = Proxy::new(&config).run(["check"]).await.expect(2);
    assert!(
        wrong.stderr.contains("only embedding servers (`provider: openai` or `tei`) have this key"),
        "{}",
        wrong.stderr
    );
}
