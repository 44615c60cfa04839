//! `read_result`: pages, parts, mistakes, and who else sees the request.

use serde_json::{Value, json};

use super::{LIMIT, is_error, note, page_of, paged, part_of, session, stdio, world};
use crate::support::patience::within;
use crate::support::stdio_client::StdioClient;

#[tokio::test]
async fn a_part_is_read_by_its_path_and_split_like_a_result() {
    let mut proxy = stdio(world(LIMIT)).await;
    let (id, _) = paged(&proxy.client.call("export", "{}").await);
    let read = async |client: &mut StdioClient, path: &str| client.call("read_result", &part_of(&id, path)).await;
    assert_eq!(read(&mut proxy.client, "items[40].price").await.text(), "1.10");
    assert_eq!(read(&mut proxy.client, "[\"items\"][999].big").await.text(), "9223372036854775808");
    assert_eq!(read(&mut proxy.client, "items[998:].id").await.text(), "[998,999]");
    assert_eq!(read(&mut proxy.client, "items[7].name").await.text(), "item 7 ü", "a string is text");
    assert!(note(&read(&mut proxy.client, "total").await).starts_with("[page 1 of 1 of \"total\", "));

    let ids = read(&mut proxy.client, "items[*].id").await;
    let (_, pages) = paged(&ids);
    assert!(pages > 1, "{}", note(&ids));
    let mut all: Vec<Value> = Vec::new();
    for page in 1..=pages {
        let arguments = json!({"result": id, "page": page, "path": "items[*].id"}).to_string();
        let answer = proxy.client.call("read_result", &arguments).await;
        all.extend(serde_json::from_str::<Vec<Value>>(&answer.text()).expect("an array"));
    }
    assert_eq!(all, (0..1000).map(Value::from).collect::<Vec<_>>());
    let uri = json!({"uri": format!("result://{id}?path=items%5B40%5D.id")}).to_string();
    let read = proxy.client.request("resources/read", &uri).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "40");
}

#[tokio::test]
async fn mistakes_are_told_in_words_that_a_model_can_act_on() {
    let mut proxy = stdio(world(LIMIT)).await;
    let (id, pages) = paged(&proxy.client.call("export", "{}").await);
    let (log, _) = paged(&proxy.client.call("log", "{}").await);
    for (arguments, expected) in [
        (part_of(&id, "items[0].name.x"), "`items[0].name` is a string: it has no members".to_owned()),
        (part_of(&id, "items[1000]"), "`items` has 1,000 elements, counted from 0".to_owned()),
        (part_of(&id, "items[2000:2010]"), "`items` has 1,000 elements, counted from 0".to_owned()),
        (
            part_of(&id, "[\"a \\\"quote\\\"\"]"),
            "the result has no member `a \"quote\"`; it has `total`, `items`, `more`".to_owned(),
        ),
        (part_of(&id, &"a".repeat(300)), "`path` is too long: at most 256 characters".to_owned()),
        (part_of(&log, "items"), "this result is text: it has pages, but no `path`".to_owned()),
        (page_of(&id, pages + 1), format!("there is no page {}: the last one is {pages}", pages + 1)),
        (page_of(&id, 0), "`page` must be a number of at least 1".to_owned()),
        ("{}".to_owned(), "`result` is missing or not a string: give the id of the result".to_owned()),
        (
            page_of("r_aaaaaaaaaaaaaaaa", 1),
            "`r_aaaaaaaaaaaaaaaa` is not kept: results are kept 30 min for whoever asked; call the tool again"
                .to_owned(),
        ),
        (
            page_of("nonsense", 1),
            "`nonsense` is not kept: results are kept 30 min for whoever asked; call the tool again".to_owned(),
        ),
    ] {
        let answer = proxy.client.call("read_result", &arguments).await;
        assert!(is_error(&answer), "{arguments}");
        assert_eq!(answer.text(), expected, "{arguments}");
    }
    let twice = format!(r#"{{"result":"{id}","result":"{id}"}}"#);
    assert!(is_error(&proxy.client.call("read_result", &twice).await));
    let read = async |client: &mut StdioClient, uri: String| {
        client.request("resources/read", &json!({ "uri": uri }).to_string()).await
    };
    let unknown = read(&mut proxy.client, "result://r_aaaaaaaaaaaaaaaa".to_owned()).await;
    assert_eq!((unknown.error_code(), unknown.error_message().as_str()), (-32002, "resource not found"));
    let wrong = read(&mut proxy.client, format!("result://{id}?page=x")).await;
    assert_eq!(wrong.error_message(), "`page` must be a number of at least 1");
}

#[tokio::test]
async fn the_script_sees_each_read_as_one_that_forwards() {
    let policy = r#"
def on_request(request):
    if request.arguments.get("page") == 3:
        fail("no third page")
    if request.arguments.get("page") == 4:
        return "answered by the script"
    log("asked", name = request.name, method = request.method, forwards = request.forwards)

for meta, call in backends()["fake"].tools():
    publish(meta, call)
"#;
    let world = world(&format!("{LIMIT}\nsessionInit: {{scriptFile: policy.star}}")).file("policy.star", policy);
    let mut proxy = stdio(world).await;
    let (id, _) = paged(&proxy.client.call("export", "{}").await);
    proxy.client.stderr().line("asked").await;
    proxy.client.call("read_result", &page_of(&id, 2)).await.result();
    let line = proxy.client.stderr().line("name=read_result").await;
    assert!(line.contains("forwards=True") || line.contains("forwards=true"), "{line}");
    let refused = proxy.client.call("read_result", &page_of(&id, 3)).await;
    assert!(is_error(&refused) && refused.text().starts_with("no third page"), "{}", refused.raw);
    assert_eq!(proxy.client.call("read_result", &page_of(&id, 4)).await.text(), "answered by the script");
}

#[tokio::test]
async fn reading_costs_no_use_of_a_rate_limit() {
    let limits = "rateLimiting: {perUser: {maxTokens: 1, refillPeriod: 1h}}";
    let mut proxy = stdio(world(&format!("{LIMIT}\n{limits}"))).await;
    let (id, _) = paged(&proxy.client.call("export", "{}").await);
    for page in 2..5 {
        let answer = proxy.client.call("read_result", &page_of(&id, page)).await;
        assert!(!is_error(&answer), "{}", answer.raw);
    }
    assert!(is_error(&proxy.client.call("export", "{}").await), "the limit is used up");
}

#[tokio::test]
async fn the_audit_log_names_the_result_and_its_tool() {
    let sections = format!("{LIMIT}\naudit: {{file: logs/audit.jsonl, arguments: none, results: none}}");
    let mut proxy = stdio(world(&sections)).await;
    let (id, _) = paged(&proxy.client.call("export", "{}").await);
    proxy.client.call("read_result", &page_of(&id, 2)).await.result();
    let uri = json!({"uri": format!("result://{id}?page=2")}).to_string();
    proxy.client.request("resources/read", &uri).await.result();
    proxy.client.finish().await;
    let log = std::fs::read_to_string(proxy.world.directory.path().join("logs/audit.jsonl")).expect("a log");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let targets: Vec<&Value> =
        lines.iter().map(|line| &line["target"]).filter(|target| target["result"] == id.as_str()).collect();
    let about = |target: &Value| (target["name"].clone(), target["tool"].clone(), target["server"].clone());
    assert_eq!(
        targets.into_iter().map(about).collect::<Vec<_>>(),
        [
            (json!("export"), Value::Null, json!("fake")),
            (json!("read_result"), json!("export"), Value::Null),
            (json!(format!("result://{id}?page=2")), json!("export"), Value::Null),
        ]
    );
}

#[tokio::test]
async fn pages_are_counted_and_what_is_kept_is_within_its_limit() {
    let sections = "results: {maxTokens: 2000, memory: 500KB}\ntelemetry: {metrics: '127.0.0.1:0'}";
    let proxy = world(sections).http().await;
    let line = proxy.program.stderr.line("metrics on ").await;
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned();
    let metrics = async |series: &str| -> Option<f64> {
        let page = reqwest::get(format!("http://{address}/metrics")).await.expect("the port answers");
        let text = page.text().await.expect("it is text");
        text.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
    };
    assert_eq!(metrics("proxy_results_kept_bytes").await, Some(0.0));
    let mut client = session(&proxy).await;
    let (first, _) = paged(&client.call("export", "{}").await);
    let one = metrics("proxy_results_kept_bytes").await.expect("a number");
    assert!(one > 60_000.0, "{one}");
    let mut last = first.clone();
    for _ in 0..12 {
        (last, _) = paged(&client.call("export", "{}").await);
    }
    let full = metrics("proxy_results_kept_bytes").await.expect("a number");
    assert!(full <= 500_000.0 && full > 400_000.0, "{full}");
    assert_eq!(metrics("proxy_results_paged_total{row=\"other\"}").await, Some(13.0));
    assert!(is_error(&client.call("read_result", &page_of(&first, 2)).await), "the oldest made room");
    assert!(!is_error(&client.call("read_result", &page_of(&last, 2)).await));
    // A result that is larger than all of that is not kept.
    let large = json!({"n": 600_000}).to_string();
    let proxy = super::Proxy::new(
        &super::Config::new()
            .server("fake", &super::fake_backend(["--era", "legacy"]))
            .section("results: {maxTokens: 2000, memory: 500KB}"),
    );
    let mut proxy = stdio(proxy).await;
    let answer = proxy.client.call("big", &large).await;
    assert!(note(&answer).ends_with("; the rest could not be kept]"), "{}", note(&answer));
}

#[tokio::test]
async fn what_has_expired_reads_like_what_never_was() {
    let mut proxy = stdio(world("results: {maxTokens: 2000, keep: 300ms}")).await;
    let answer = proxy.client.call("export", "{}").await;
    let (id, _) = paged(&answer);
    assert!(note(&answer).ends_with("; kept 300 ms]"), "{}", note(&answer));
    let stderr = proxy.client.stderr().clone();
    let expired = async {
        loop {
            let read = proxy.client.call("read_result", &page_of(&id, 2)).await;
            if is_error(&read) {
                break read.text();
            }
        }
    };
    let text = within("the expiry", &stderr, expired).await;
    assert_eq!(text, format!("`{id}` is not kept: results are kept 300 ms for whoever asked; call the tool again"));
}
