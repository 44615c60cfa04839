//! The section `aggregation` and the preset that reads it.

use serde_json::{Value, json};

use super::started;
use crate::support::config::Config;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};

/// `github` has search and issue, `docs` search and read, `web` search and fetch.
fn three(aggregation: &str) -> Proxy {
    let config = [("github", "search,issue"), ("docs", "search,read"), ("web", "search,fetch")]
        .into_iter()
        .fold(Config::new(), |config, (name, tools)| config.server(name, &fake_backend(["--only", tools])));
    Proxy::new(&config.section(&format!("aggregation: {{ {aggregation} }}")))
}

async fn tools(aggregation: &str) -> Vec<String> {
    started(three(aggregation)).await.tools().await
}

#[tokio::test]
async fn auto_keeps_the_first_name_and_prefixes_later_ones() {
    let expected = ["search", "issue", "docs_search", "read", "web_search", "fetch"];
    assert_eq!(tools("conflictResolution: auto").await, expected);
}

#[tokio::test]
async fn prefix_goes_on_every_name() {
    let names = tools("conflictResolution: prefix, conflictResolutionConfig: { prefixFormat: \"{workload}.\" }").await;
    assert_eq!(names, ["github.search", "github.issue", "docs.search", "docs.read", "web.search", "web.fetch"]);
}

#[tokio::test]
async fn priority_lets_the_first_ranked_server_win() {
    let mut proxy =
        started(three("conflictResolution: priority, conflictResolutionConfig: { priorityOrder: [web] }")).await;
    assert_eq!(proxy.tools().await, ["issue", "read", "search", "fetch"]);
    let line = proxy.client.stderr().line("skipping a tool: another server ranks higher").await;
    assert!(line.contains("github") && line.contains("web"), "{line}");
}

#[tokio::test]
async fn manual_wants_every_collision_resolved() {
    let proxy = three("conflictResolution: manual");
    let finished = proxy.refused().await;
    let expected = "these names are not unique: `search` (github.search, docs.search, web.search)";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    let names = tools(
        "conflictResolution: manual, tools: [{ workload: docs, overrides: { search: { name: find } } }, \
         { workload: web, overrides: { search: { name: look } } }]",
    )
    .await;
    assert_eq!(names, ["search", "issue", "find", "read", "look", "fetch"]);
}

#[tokio::test]
async fn what_is_filtered_out_cannot_be_called() {
    let mut proxy =
        started(three("tools: [{ workload: github, filter: [\"iss*\"] }, { workload: web, excludeAll: true }]")).await;
    assert_eq!(proxy.tools().await, ["issue", "search", "read"]);
    assert_eq!(proxy.client.call("fetch", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn overrides_change_names_and_words_and_calls_find_the_way_back() {
    let mut proxy = started(three(
        "tools: [{ workload: web, overrides: { fetch: { name: get_page, description: Gets a page, \
         annotations: { readOnlyHint: true } } } }]",
    ))
    .await;
    let list = proxy.client.request("tools/list", "{}").await.value();
    let tool = list["result"]["tools"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((tool["name"].as_str(), tool["description"].as_str()), (Some("get_page"), Some("Gets a page")));
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert_eq!(proxy.client.call("get_page", r#"{"n":1.10}"#).await.structured(), r#"{"n":1.10}"#);
}

#[tokio::test]
async fn nothing_or_only_what_is_named_can_be_shown() {
    assert_eq!(tools("excludeAllTools: true").await, [""; 0]);
    assert_eq!(tools("defaultToolVisibility: deny").await, [""; 0]);
    assert_eq!(tools("defaultToolVisibility: deny, tools: [{ workload: docs }]").await, ["search", "read"]);
}

#[tokio::test]
async fn names_have_at_most_64_characters_and_stay_the_same() {
    let long = "x".repeat(100);
    let proxy = || {
        let config = Config::new()
            .server("one", &fake_backend(["--only", &long]))
            .server("two", &fake_backend(["--only", &long]));
        Proxy::new(&config)
    };
    let mut running = started(proxy()).await;
    let names = running.tools().await;
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| name.len() == 64), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("xxx")) && names[0] != names[1], "{names:?}");
    assert_eq!(running.client.call(&names[1], r#"{"n":1}"#).await.structured(), r#"{"n":1}"#);
    assert_eq!(started(proxy()).await.tools().await, names);
}

const NOTES: &str = r#"
def describe_extension():
    return Extension(
        name = "notes",
        version = "1.0.0",
        description = "Notes",
        tools = [
            Tool(name = "list_notes", description = "Lists notes", handler = lambda args: "none", parameters = []),
            Tool(name = "drop_notes", description = "Drops notes", handler = lambda args: "gone", parameters = []),
        ],
    )
"#;

/// The server `docs` with two tools, and the extension `notes` with two others.
fn server_and_extension(aggregation: &str) -> Proxy {
    let config = Config::new().server("docs", &fake_backend(["--only", "search,read"]));
    let config = config.section("extensions: { paths: [tools] }");
    Proxy::new(&config.section(&format!("aggregation: {{ {aggregation} }}"))).file("tools/notes.star", NOTES)
}

#[tokio::test]
async fn an_extension_is_a_workload_like_a_server() {
    let aggregation = "defaultToolVisibility: deny, tools: [{ workload: notes, exclude: [\"drop_*\"], \
                       overrides: { list_notes: { name: my_notes } } }]";
    let mut proxy = started(server_and_extension(aggregation)).await;
    assert_eq!(proxy.tools().await, ["my_notes"]);
    assert_eq!(proxy.client.call("my_notes", "{}").await.text(), "none");
    let ranked = "conflictResolution: priority, conflictResolutionConfig: { priorityOrder: [notes, docs] }";
    let names = started(server_and_extension(ranked)).await.tools().await;
    assert_eq!(names, ["search", "read", "list_notes", "drop_notes"]);
}

#[tokio::test]
async fn a_workload_that_does_not_exist_is_a_config_error() {
    let proxy = server_and_extension("prompts: [{ workload: nots }]");
    for command in ["serve", "check"] {
        let finished = proxy.run([command]).await.expect(2);
        let message =
            "error: `aggregation.prompts[0].workload`: there is no server or extension `nots`\n --> proxy.yaml:3:";
        assert!(finished.stderr.contains(message), "{}", finished.stderr);
        assert!(finished.stderr.contains("hint: did you mean `notes`?"), "{}", finished.stderr);
    }
}

#[tokio::test]
async fn an_extension_that_does_not_load_is_the_only_error() {
    let proxy =
        server_and_extension("tools: [{ workload: notes, excludeAll: true }]").file("tools/notes.star", "def (");
    let finished = proxy.run(["check"]).await.expect(1);
    assert!(!finished.stderr.contains("there is no server or extension"), "{}", finished.stderr);
    assert!(finished.stderr.contains("notes.star"), "{}", finished.stderr);
}

#[tokio::test]
async fn a_server_named_on_the_command_line_is_a_workload() {
    let command = fake_backend(["--only", "search,read"]);
    let words: Vec<String> = std::iter::once(command.get_program().to_string_lossy().into_owned())
        .chain(command.get_args().map(|argument| argument.to_string_lossy().into_owned()))
        .collect();
    let proxy = Proxy::with_config_text("aggregation: { tools: [{ workload: docs, exclude: [read] }] }\n")
        .argument("--server")
        .argument(&format!("docs={}", words.join(" ")));
    assert_eq!(started(proxy).await.tools().await, ["search"]);
}

#[tokio::test]
async fn exclude_wins_over_filter() {
    let mut proxy = started(three(
        "tools: [{ workload: github, filter: [\"*\"], exclude: [\"sea*\"] }, { workload: docs, exclude: [read] }]",
    ))
    .await;
    assert_eq!(proxy.tools().await, ["issue", "search", "web_search", "fetch"]);
    assert_eq!(proxy.client.call("read", "{}").await.error_code(), -32602);
}

#[tokio::test]
async fn an_empty_filter_in_the_settings_of_a_script_publishes_nothing() {
    let config = ["github", "docs"]
        .into_iter()
        .fold(Config::new(), |config, name| config.server(name, &fake_backend(["--only", name])))
        .section("sessionInit: { scriptFile: policy.star }");
    let script = "load('@proxy//lib@1.star', 'aggregate')

for meta, call in aggregate(backends(), {'tools': [{'workload': 'github', 'filter': []}]}):
    publish(meta, call)
";
    assert_eq!(started(Proxy::new(&config).file("policy.star", script)).await.tools().await, ["docs"]);
}

#[tokio::test]
async fn a_pattern_that_matches_nothing_is_a_warning() {
    let proxy = three(
        "tools: [{ workload: github, filter: [\"*\", \"lits_*\"], exclude: [serach], overrides: { isue: { name: x } } }], \
         prompts: [{ workload: docs, exclude: [ask] }], resources: [{ workload: web, filter: [\"file:///*\"] }]",
    );
    let finished = proxy.run(["check", "--live"]).await;
    for (key, pattern) in [
        ("tools[0].filter[1]", "lits_*"),
        ("tools[0].exclude[0]", "serach"),
        ("tools[0].overrides.isue", "isue"),
        ("prompts[0].exclude[0]", "ask"),
        ("resources[0].filter[0]", "file:///*"),
    ] {
        let line = format!("`aggregation.{key}`: nothing matches `{pattern}`");
        let times = finished.stderr.matches(&line).count() + finished.stdout.matches(&line).count();
        assert_eq!(times, 1, "{line}\n{}{}", finished.stdout, finished.stderr);
    }
    assert!(!finished.stderr.contains("nothing matches `*`"), "{}", finished.stderr);
    // `proxy serve` logs them.
    let (program, _stdin, _stdout) = Program::start(proxy.serve_command());
    program.stderr.line("aggregation.tools[].filter: nothing matches").await;
}

/// Two servers with the same prompt, resources and template.
fn twins(aggregation: &str) -> Proxy {
    let twin = || fake_backend(["--only", "echo", "--resources", "--prompts"]);
    let config = Config::new().server("one", &twin()).server("two", &twin());
    Proxy::new(&config.section(&format!("aggregation: {{ {aggregation} }}")))
}

/// The members of the items in a list.
async fn listed(proxy: &mut StdioProxy, list: &str, members: &[&str]) -> Vec<Vec<Value>> {
    let answer = proxy.client.request(list, "{}").await.value();
    let result = answer["result"].as_object().expect("a result");
    let items = result.values().find_map(Value::as_array).expect("a list");
    items.iter().map(|item| members.iter().map(|member| item[*member].clone()).collect()).collect()
}

#[tokio::test]
async fn prompts_are_selected_and_overridden_like_tools() {
    let mut proxy = started(twins(
        "prompts: [{ workload: two, overrides: { greet: { name: hail, title: Hail, description: Says hail } } }]",
    ))
    .await;
    let prompts = listed(&mut proxy, "prompts/list", &["name", "title", "description"]).await;
    let null = Value::Null;
    assert_eq!(prompts, [[json!("greet"), null.clone(), null], [json!("hail"), json!("Hail"), json!("Says hail")]]);
    let said = proxy.client.request("prompts/get", r#"{"name":"hail","arguments":{"who":"ann"}}"#).await;
    assert!(said.raw.contains("greet with"), "{}", said.raw);

    for hiding in ["exclude: [\"gr*\"]", "excludeAll: true", "filter: [other]"] {
        let mut proxy = started(twins(&format!("prompts: [{{ workload: one, {hiding} }}]"))).await;
        assert_eq!(listed(&mut proxy, "prompts/list", &["name"]).await, [[json!("greet")]], "{hiding}");
    }
    let all = "prompts: [{ workload: one, excludeAll: true }, { workload: two, excludeAll: true }]";
    let mut proxy = started(twins(all)).await;
    assert_eq!(proxy.client.request("prompts/get", r#"{"name":"greet"}"#).await.error_code(), -32602);

    let proxy = twins("conflictResolution: manual, tools: [{ workload: two, excludeAll: true }]");
    let finished = proxy.refused().await;
    let expected = "`greet` (one.greet, two.greet). Give them other names in aggregation.prompts[].overrides";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
}

#[tokio::test]
async fn a_prefix_changes_the_name_of_a_resource_and_never_its_uri() {
    let mut proxy = started(twins(
        "conflictResolution: prefix, resources: [{ workload: two, overrides: { \"memo://greeting\": { uri: \"memo://two/greeting\" } } }]",
    ))
    .await;
    assert_eq!(
        listed(&mut proxy, "resources/list", &["uri", "name"]).await,
        [
            [json!("memo://greeting"), json!("one_greeting")],
            [json!("memo://farewell"), json!("one_farewell")],
            [json!("memo://two/greeting"), json!("two_greeting")],
        ]
    );
    let templates = listed(&mut proxy, "resources/templates/list", &["uriTemplate", "name"]).await;
    assert_eq!(templates, [[json!("memo://notes/{name}"), json!("one_notes")]]);
    let line = proxy.client.stderr().line("resource skipped: its URI is already published").await;
    assert!(line.contains("memo://farewell") && line.contains("two") && line.contains("one"), "{line}");
    let read = proxy.client.request("resources/read", r#"{"uri":"memo://two/greeting"}"#).await;
    assert!(read.raw.contains("the text of memo://greeting"), "{}", read.raw);
}

#[tokio::test]
async fn resources_are_selected_by_uri_and_templates_by_their_text() {
    let mut proxy = started(twins(
        "resources: [{ workload: one, filter: [\"memo://greeting\", \"memo://notes/{name}\"], exclude: [\"memo://notes/secret*\"], \
         overrides: { \"memo://notes/{name}\": { name: pages, description: One page } } }, { workload: two, excludeAll: true }]",
    ))
    .await;
    assert_eq!(listed(&mut proxy, "resources/list", &["uri"]).await, [[json!("memo://greeting")]]);
    let templates = listed(&mut proxy, "resources/templates/list", &["uriTemplate", "name", "description"]).await;
    assert_eq!(templates, [[json!("memo://notes/{name}"), json!("pages"), json!("One page")]]);
    let read = proxy.client.request("resources/read", r#"{"uri":"memo://notes/open"}"#).await;
    assert!(read.raw.contains("the text of memo://notes/open"), "{}", read.raw);
    for hidden in ["memo://farewell", "memo://notes/secret-1"] {
        let answer = proxy.client.request("resources/read", &json!({ "uri": hidden }).to_string()).await.value();
        assert_eq!(answer["error"]["data"]["uri"], hidden, "{answer}");
    }
}
