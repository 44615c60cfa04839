//! Results through all their pages: nothing is lost, nothing is changed.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::kept_result::{KeptResult, ToolBehind};
use super::paged_results::{LargeResult, PagedResults};
use super::payload::{Payload, oversized};
use super::read_request::ReadRequest;
use super::settings::PageLimit;
use super::size::TextSize;
use super::wire_form::Addressee;
use proxy_config::Results;
use proxy_dialects::Dialects;
use proxy_json::{Raw, RawRef};
use proxy_model::{Owner, Principal};
use proxy_search::estimate_tokens;
use proxy_store::Store;

const ADDRESSEE: Addressee = Addressee { reader: Some("read_result"), has_links: true };

fn raw(text: &str) -> Raw {
    proxy_json::valid(text.to_owned()).unwrap()
}

fn tool() -> ToolBehind {
    ToolBehind { name: "export".to_owned(), carrier: None, labels: Vec::new(), allowed_by: None }
}

fn kept(payload: Payload, limit: usize) -> KeptResult {
    KeptResult::new(tool(), payload, TextSize::tokens(limit))
}

fn pages(kept: &KeptResult) -> Vec<String> {
    (1..=kept.pages.len()).map(|number| kept.pages.text(kept.payload.text(), number).unwrap()).collect()
}

/// A value with numbers that parsers change.
fn value(items: usize) -> String {
    let item = |number: usize| {
        format!("{{\"id\": {number}, \"price\":1.10 ,\"big\":9223372036854775808,\"n\":1e400,\"t\":\"a]\\\"[ü\"}}")
    };
    let items: Vec<String> = (0..items).map(item).collect();
    format!("{{ \"total\":1.10,\"items\": [\n {}\n ],\"next\":[1,2] }}", items.join(" ,\n "))
}

/// The elements of all pages, and the first page with them in place of its own.
fn elements(pages: &[String]) -> Vec<String> {
    let first = raw(&pages[0]);
    let of = |array: &RawRef| -> Vec<String> { array.elements().unwrap().map(|one| one.get().to_owned()).collect() };
    let mut all = of(first.member("items").unwrap());
    for page in &pages[1..] {
        all.extend(of(&raw(page)));
    }
    all
}

#[test]
fn json_is_cut_between_elements_and_keeps_every_byte() {
    let text = value(50);
    let original: Vec<String> = {
        let whole = raw(&text);
        whole.member("items").unwrap().elements().unwrap().map(|one| one.get().to_owned()).collect()
    };
    for limit in [60, 100, 333, 1000, 5000] {
        let kept = kept(Payload::Json(raw(&text)), limit);
        let pages = pages(&kept);
        assert_eq!(elements(&pages), original, "{limit}");
        assert!(pages[0].starts_with("{ \"total\":1.10,\"items\": [") && pages[0].ends_with("],\"next\":[1,2] }"));
        for (index, page) in pages.iter().enumerate() {
            assert!(estimate_tokens(page) <= limit, "{limit}: {page}");
            assert!(kept.pages.tokens_of(index + 1) >= estimate_tokens(page));
        }
        assert!(pages.len() == 1 || pages.len() > 50 * 20 / limit, "{limit}: {}", pages.len());
    }
}

#[test]
fn a_client_that_counts_bytes_gets_pages_of_so_many_bytes() {
    // Long words have few tokens for their length.
    let words = json!({"items": vec!["incomprehensibilities"; 400]}).to_string();
    let limit = TextSize { tokens: 1000, bytes: 2000 };
    for payload in [Payload::Json(raw(&words)), Payload::Text("incomprehensibilities\n".repeat(400).into())] {
        let kept = KeptResult::new(tool(), payload, limit);
        let pages = pages(&kept);
        assert!(pages.iter().all(|page| page.len() <= 2000 && !page.is_empty()));
        assert!(pages[..pages.len() - 1].iter().all(|page| page.len() > 1900), "{}", pages.len());
    }
    let result = json!({"content": [{"type": "text", "text": "incomprehensibilities ".repeat(150)}]});
    assert!(oversized(&proxy_json::raw(&result), limit).is_some());
    assert!(oversized(&proxy_json::raw(&result), TextSize::tokens(1000)).is_none());
}

#[test]
fn text_is_cut_at_line_ends_and_else_between_characters() {
    let lines: String = (0..500).map(|line| format!("line {line}: etwas Text mit Ümläuten\n")).collect();
    let of_lines = pages(&kept(Payload::Text(lines.as_str().into()), 200));
    assert_eq!(of_lines.concat(), lines);
    assert!(of_lines.iter().all(|page| page.ends_with('\n') && estimate_tokens(page) <= 200), "{of_lines:?}");
    let long = "搜索ü".repeat(1000);
    let of_long = pages(&kept(Payload::Text(long.as_str().into()), 100));
    assert_eq!(of_long.concat(), long);
    assert_eq!(of_long.len(), 30);
}

#[test]
fn an_element_larger_than_a_page_is_cut_alone() {
    let text = format!("[1.10,\"{}\",2,3]", "word ".repeat(1000));
    let pages = pages(&kept(Payload::Json(raw(&text)), 100));
    assert_eq!((pages.first().unwrap().as_str(), pages.last().unwrap().as_str()), ("[1.10]", "[2,3]"));
    assert_eq!(format!("[1.10,{},2,3]", pages[1..pages.len() - 1].concat()), text);
    // What surrounds the largest array is larger than a page.
    let text = format!("{{\"a\":\"{}\",\"b\":[1,2]}}", "word ".repeat(1000));
    let pages = self::pages(&kept(Payload::Json(raw(&text)), 100));
    assert_eq!(pages.concat(), text);
}

#[test]
fn what_scripts_unwrap_is_split() {
    let long = "word ".repeat(200);
    let payload = |result: &serde_json::Value| {
        let text = proxy_json::raw(result);
        oversized(&text, TextSize::tokens(100)).map(|over| (over.payload.text().to_owned(), over.payload.is_json()))
    };
    let structured = json!({"content": [{"type": "text", "text": "short"}], "structuredContent": {"a": [long, long]}});
    assert_eq!(payload(&structured), Some((json!({"a": [long, long]}).to_string(), true)));
    assert_eq!(
        payload(&json!({"content": [], "structuredContent": {"result": [long, 1]}})),
        Some((json!([long, 1]).to_string(), true))
    );
    assert_eq!(payload(&json!({"content": [], "structuredContent": {"result": long}})), Some((long.clone(), false)));
    let blocks = json!({"content": [{"type": "text", "text": "a"}, {"type": "image", "data": long}, {"type": "text", "text": long}]});
    assert_eq!(payload(&blocks), Some((format!("a\n{long}"), false)));
    let json = json!({"content": [{"type": "text", "text": json!([long, 1]).to_string()}]});
    assert_eq!(payload(&json), Some((json!([long, 1]).to_string(), true)));
    let both = json!({"content": [{"type": "text", "text": long}], "structuredContent": {"a": 1}});
    assert_eq!(payload(&both), Some((long.clone(), false)), "the part that is too large");
    for small in [
        json!({"content": [{"type": "text", "text": "word ".repeat(100)}]}),
        json!({"content": [{"type": "image", "data": "x".repeat(1000)}]}),
        json!({"resultType": "input_required", "inputRequests": {"a": long}}),
        json!({"task": {"taskId": long}}),
        json!([long]),
    ] {
        assert_eq!(payload(&small), None, "{small}");
    }
}

fn large(result: &serde_json::Value, owner: Owner) -> LargeResult {
    LargeResult {
        result: proxy_json::raw(result),
        limit: PageLimit { size: TextSize::tokens(500), row: "other".into() },
        tool: tool(),
        owner,
        addressee: ADDRESSEE,
        keeps: true,
    }
}

#[tokio::test]
async fn the_first_page_says_how_to_read_the_others() {
    let results = Arc::new(PagedResults::new(&Results::default(), &Dialects::built_in(), None));
    let store = Store::memory();
    let items: Vec<_> = (0..200).map(|id| json!({"id": id, "name": "a name"})).collect();
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let result = json!({
        "content": [image, {"type": "text", "text": "ignored", "annotations": {"priority": 1}}],
        "structuredContent": {"items": items},
        "_meta": {"a": 1},
        "x": 1,
    });
    let ann = Owner::Person(Principal::named("ann").who.clone());
    let fitted = results.fitted(&store, large(&result, ann.clone())).await;
    let id = fitted.id.unwrap();
    let value: serde_json::Value = serde_json::from_str(fitted.result.get()).unwrap();
    let content = value["content"].as_array().unwrap();
    assert_eq!(content.len(), 4);
    assert_eq!(content[0]["annotations"]["priority"], 1);
    let shown: serde_json::Value = serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap();
    let count = shown["items"].as_array().unwrap().len();
    let (pages, tokens) =
        (value["_meta"]["proxy/result"]["pages"].as_u64().unwrap(), &value["_meta"]["proxy/result"]["tokens"]);
    let note = content[1]["text"].as_str().unwrap();
    let more = format!(
        "more: read_result({{\"result\": \"{id}\", \"page\": 2}}), a part: \"path\": \"items[{count}:{}]\"; kept 30 min]",
        count + 20
    );
    assert!(note.starts_with(&format!("[page 1 of {pages}, ")) && note.ends_with(&more), "{note}");
    assert_eq!(
        content[2],
        json!({"type": "resource_link", "uri": format!("result://{id}?page=2"), "name": "export, page 2", "mimeType": "application/json"})
    );
    assert_eq!(content[3], image);
    assert_eq!(
        value["_meta"],
        json!({"a": 1, "proxy/result": {"page": 1, "pages": pages, "tokens": tokens, "id": id}})
    );
    assert!(value.get("structuredContent").is_none() && value["x"] == 1);
    assert_eq!(results.paged(), [("other".to_owned(), 1)]);
    assert!(results.kept_bytes() > 1000);
    let all = content[0]["text"].as_str().unwrap().len() + note.len();
    assert!(estimate_tokens(content[0]["text"].as_str().unwrap()) + estimate_tokens(note) <= 500, "{all}");

    let found = results.find(&store, &ann, &id).await.unwrap();
    let read = |arguments: serde_json::Value| {
        let request = ReadRequest::of_params(&proxy_json::raw(&json!({"arguments": arguments}))).unwrap();
        results.page(Arc::clone(&found), request, ADDRESSEE)
    };
    let last = read(json!({"result": id, "page": pages})).await.unwrap().as_tool_result();
    let last: serde_json::Value = serde_json::from_str(last.get()).unwrap();
    assert_eq!(last["content"].as_array().unwrap().len(), 2, "no link to another page");
    let note = last["content"][1]["text"].as_str().unwrap();
    assert!(note.starts_with(&format!("[page {pages} of {pages}, ")) && note.ends_with(" tokens]"), "{note}");
    let part = read(json!({"result": id, "path": "items[:150].id"})).await.unwrap().as_tool_result();
    let part: serde_json::Value = serde_json::from_str(part.get()).unwrap();
    let ids: Vec<usize> = serde_json::from_str(part["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(ids, (0..150).collect::<Vec<_>>());
    let beyond = read(json!({"result": id, "page": pages + 1})).await.unwrap_err();
    assert_eq!(beyond, format!("there is no page {}: the last one is {pages}", pages + 1));
}

#[tokio::test]
async fn errors_are_cut_and_small_results_are_not_touched() {
    let results = Arc::new(PagedResults::new(&Results::default(), &Dialects::built_in(), None));
    let long = "word ".repeat(2000);
    let error = json!({"content": [{"type": "text", "text": long}], "isError": true, "structuredContent": {"e": 1}});
    let fitted = results.fitted(&Store::memory(), large(&error, Owner::Process)).await;
    let value: serde_json::Value = serde_json::from_str(fitted.result.get()).unwrap();
    assert!(fitted.id.is_none() && results.kept_bytes() == 0);
    assert_eq!(value["isError"], true);
    let note = value["content"][1]["text"].as_str().unwrap();
    assert_eq!(note, "[the first 400 of 2,000 tokens; the rest of an error is not kept]");
    // Clients show structured content, too.
    let details =
        json!({"content": [{"type": "text", "text": "it failed"}], "isError": true, "structuredContent": {"e": long}});
    let fitted = results.fitted(&Store::memory(), large(&details, Owner::Process)).await;
    let value: serde_json::Value = serde_json::from_str(fitted.result.get()).unwrap();
    assert_eq!(value["content"][0]["text"], "it failed");
    assert!(value.get("structuredContent").is_none() && value["isError"] == true);
    let small = json!({"content": [{"type": "text", "text": "word ".repeat(500)}], "structuredContent": {"e": 1.5}});
    let fitted = results.fitted(&Store::memory(), large(&small, Owner::Process)).await;
    assert_eq!(fitted.result.get(), small.to_string());
}

#[tokio::test]
async fn what_cannot_be_kept_is_said() {
    let results =
        Arc::new(PagedResults::new(&Results { memory: 1000, ..Results::default() }, &Dialects::built_in(), None));
    let long = json!({"content": [{"type": "text", "text": "word ".repeat(2000)}]});
    let fitted = results.fitted(&Store::memory(), large(&long, Owner::Process)).await;
    let value: serde_json::Value = serde_json::from_str(fitted.result.get()).unwrap();
    let note = value["content"][1]["text"].as_str().unwrap();
    assert_eq!(note, "[page 1 of 5, 400 of 2,000 tokens; the rest could not be kept]");
    assert_eq!(value["_meta"]["proxy/result"], json!({"page": 1, "pages": 5, "tokens": 2000}));
    assert_eq!(value["content"].as_array().unwrap().len(), 2, "no link");
}

#[test]
fn a_result_comes_back_from_the_store_as_it_was() {
    for payload in [Payload::Json(raw(&value(30))), Payload::Text("line\n".repeat(300).into())] {
        let kept = kept(payload, 100);
        let again = KeptResult::from_bytes(&kept.to_bytes().unwrap()).unwrap();
        assert_eq!(pages(&again), pages(&kept));
        assert_eq!(again.tool, kept.tool);
    }
    for wrong in [&b""[..], b"{}", b"{}\nx", b"\xff\xfe"] {
        assert!(KeptResult::from_bytes(wrong).is_none());
    }
}

#[test]
fn requests_are_read_as_models_write_them() {
    let id = "r_abcdefghijklmnop";
    let of = |arguments: serde_json::Value| ReadRequest::of_params(&proxy_json::raw(&json!({"arguments": arguments})));
    let second = of(json!({"result": id, "page": 2})).unwrap();
    assert_eq!(of(json!({"result": id, "page": "2", "path": null})).unwrap(), second);
    assert_eq!(ReadRequest::of_uri(&format!("result://{id}?page=2")).unwrap(), second);
    let first = of(json!({"result": id})).unwrap();
    assert_eq!(ReadRequest::of_uri(&format!("result://{id}")).unwrap(), first);
    let part = of(json!({"result": id, "path": "items[0]"})).unwrap();
    assert_eq!(ReadRequest::of_uri(&format!("result://{id}?path=items%5B0%5D&page=1")).unwrap(), part);
    for (arguments, expected) in [
        (json!({}), "`result` is missing"),
        (json!({"result": 5}), "`result` is missing"),
        (json!({"result": id, "page": 0}), "`page` must be a number of at least 1"),
        (json!({"result": id, "page": 1.5}), "`page` must be a number of at least 1"),
        (json!({"result": id, "page": [1]}), "`page` must be a number of at least 1"),
        (json!({"result": id, "path": 5}), "`path` must be a string"),
        (json!({"result": id, "path": "["}), "`path` is wrong at"),
        (json!([]), "`arguments`"),
    ] {
        let error = of(arguments).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(ReadRequest::of_uri(&format!("result://{id}?pages=2")).unwrap_err().contains("unknown parameter"));
    assert!(ReadRequest::of_uri(&format!("result://{id}?path=%ff")).unwrap_err().contains("UTF-8"));
    let wrong = of(json!({"result": "x".repeat(1000)})).unwrap();
    assert!(
        wrong
            .not_kept(Duration::from_secs(90))
            .ends_with("is not kept: results are kept 1 min for whoever asked; call the tool again")
    );
    assert!(wrong.not_kept(Duration::from_secs(5)).len() < 200);
}
