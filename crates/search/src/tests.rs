use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use proxy_json::raw;
use proxy_model::{Definition, ItemKind};

fn tool(server: &str, definition: &Value) -> Tool {
    let definition = Definition::parse(ItemKind::Tool, raw(definition)).unwrap();
    Tool { server: server.into(), original_name: definition.key().into(), definition: Arc::new(definition) }
}

fn simple(server: &str, name: &str, description: &str) -> Tool {
    tool(server, &json!({"name": name, "description": description, "inputSchema": {"type": "object"}}))
}

fn found(index: &Index, query: &str) -> Vec<String> {
    index.search(query, 10).iter().map(|hit| index.tools()[hit.tool].definition.key().to_owned()).collect()
}

#[test]
fn names_count_more_than_descriptions_and_these_more_than_parameters() {
    let index = Index::new(vec![
        tool(
            "a",
            &json!({"name": "one", "description": "x", "inputSchema": {"properties": {"p": {"description": "invoice"}}}}),
        ),
        simple("b", "two", "Lists every invoice."),
        simple("c", "invoice", "x"),
        simple("d", "other", "y"),
    ]);
    assert_eq!(found(&index, "invoices"), ["invoice", "two", "one"]);
}

#[test]
fn a_tool_is_found_only_if_it_shares_a_stem_with_the_query() {
    let index = Index::new(vec![
        simple("a", "post_message", "Posts a message to a channel."),
        simple("a", "weather", "Tells the weather of a city."),
        simple("b", "list_pods", "Lists what runs in a cluster."),
    ]);
    // `port` is one edit away from `post`, but it is another word.
    assert_eq!(found(&index, "open a port"), [""; 0]);
    assert_eq!(found(&index, "a port for the clusters"), ["list_pods"]);
    assert_eq!(found(&index, "the wether"), ["weather"]);
    assert_eq!(found(&index, "posting messages"), ["post_message"]);
    assert_eq!(found(&index, "launch a rocket to the moon"), [""; 0]);
}

#[test]
fn a_server_is_a_reason_too() {
    let index = Index::new(vec![simple("github", "search", "Searches."), simple("slack", "search", "Searches.")]);
    assert_eq!(index.search("search in slack", 1)[0].tool, 1);
    assert_eq!(index.search("search github", 1)[0].tool, 0);
    assert_eq!(index.search("search github", 2)[0].matched, ["github", "search"]);
}

#[test]
fn tools_of_one_name_are_both_found() {
    let index = Index::new(vec![simple("a", "search", "Mail."), simple("b", "search", "Mail."), simple("c", "x", "y")]);
    assert_eq!(found(&index, "search mail"), ["search", "search"]);
}

#[test]
fn nothing_is_found_in_nothing() {
    assert!(Index::new(Vec::new()).search("anything", 5).is_empty());
    assert!(Index::new(vec![simple("", "", "")]).search("anything", 5).is_empty());
    assert!(Index::new(Vec::new()).nearest_names("anything", 3, None).is_empty());
}

#[test]
fn ten_thousand_tools_are_searched() {
    let tools = (0..10_000).map(|number| simple("many", &format!("tool_{number}"), "Does one of many things."));
    let index = Index::new(tools.chain([simple("one", "needle", "Sews a button.")]).collect());
    assert_eq!(found(&index, "sew the button"), ["needle"]);
    assert_eq!(found(&index, "tool 4711")[0], "tool_4711");
    assert_eq!(index.search("many things", 20).len(), 20);
}

#[test]
fn a_set_of_tools_has_one_index_and_a_changed_set_reads_only_what_is_new() {
    let first = IndexCache::shared().index(vec![simple("s", "alpha", "Alpha."), simple("s", "beta", "Beta.")], None);
    let again = IndexCache::shared().index(vec![simple("s", "alpha", "Alpha."), simple("s", "beta", "Beta.")], None);
    assert!(Arc::ptr_eq(&first, &again));
    assert_eq!(first.ready().search("alpha", 5).len(), 1);
    let changed =
        IndexCache::shared().index(vec![simple("s", "alpha", "Alpha."), simple("s", "gamma", "Gamma.")], None);
    assert!(!Arc::ptr_eq(&first, &changed));
    assert_eq!(found(changed.ready(), "gamma"), ["gamma"]);
    assert!(first.shares_with(&changed, 0) && !first.shares_with(&changed, 1));
}
