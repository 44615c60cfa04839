//! Queries and tools as nobody expects them.

use serde_json::json;

use super::{OPTIMIZED, desk, names, started, tool, world};

#[tokio::test]
async fn a_query_is_text_never_syntax_and_never_too_much() {
    let mut proxy = started(world(&desk(), OPTIMIZED)).await;
    for empty in ["", "   ", "\u{0}\u{1}\u{fffd}", "the of and", "((((", "\"unclosed", "*:*", "🦀🦀"] {
        assert_eq!(names(&proxy.find(empty).await), [""; 0], "{empty:?}");
    }
    for syntax in ["+weather -forecast", "words:weather^9", "weather AND NOT (city)", "weather~2 [a TO b]", "\"weather"]
    {
        assert_eq!(names(&proxy.find(syntax).await)[0], "weather-forecast", "{syntax:?}");
    }
    let long = format!("weather {}", "many words without any use ".repeat(4_000));
    assert_eq!(names(&proxy.find(&long).await)[0], "weather-forecast");
    assert_eq!(names(&proxy.find(&format!("weather {}", "x".repeat(100_000))).await)[0], "weather-forecast");
}

#[tokio::test]
async fn tools_of_any_kind_are_found_by_what_they_say() {
    let tools = [
        json!({"name": "bare", "inputSchema": {}}),
        json!({"name": "no_words", "description": null, "inputSchema": {"type": "object", "properties": null}}),
        tool("bing_search", "使用必应搜索指定的关键词"),
        tool("übersetzen", "Übersetzt einen Satz ins Französische."),
        tool("поиск", "Ищет документы по словам."),
        json!({"name": "deep", "description": "", "inputSchema": {"type": "object", "properties": {
            "filter": {"type": "object", "properties": {"colour": {"enum": ["turquoise", "magenta"]}}}}}}),
    ];
    let mut proxy = started(world(&tools, OPTIMIZED)).await;
    for (query, name) in [
        ("bare", "bare"),
        ("搜索关键词", "bing_search"),
        ("ÜBERSETZT einen Satz", "übersetzen"),
        ("документы", "поиск"),
        ("something magenta", "deep"),
    ] {
        assert_eq!(names(&proxy.find(query).await)[0], name, "{query}");
    }
}
