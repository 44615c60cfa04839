//! With an embedding server, tools are found by their meaning too; without it, by their words.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde_json::{Value, json};

use super::{PRESET, desk, names, started, tool, world};
use crate::elicitation::{Client, EVERYTHING, text};
use crate::support::patience::LONG_PATIENCE;

/// What the server was asked: path, key, texts.
type Asked = Arc<Mutex<Vec<(String, String, Vec<String>)>>>;

/// Whatever is about cats is alike.
fn vector(text: &str) -> Value {
    let cats = ["feline", "kitty"].iter().any(|word| text.contains(word));
    if cats { json!([1.0, 0.0]) } else { json!([0.0, 1.0]) }
}

fn texts(body: &Value, member: &str) -> Vec<String> {
    body[member].as_array().expect("texts").iter().map(|text| text.as_str().expect("text").to_owned()).collect()
}

fn note(asked: &Asked, path: &str, headers: &HeaderMap, texts: Vec<String>) {
    let key = headers.get("authorization").map(|key| key.to_str().expect("text").to_owned()).unwrap_or_default();
    asked.lock().expect("no test panicked").push((path.to_owned(), key, texts));
}

async fn tei(State(asked): State<Asked>, headers: HeaderMap, body: String) -> String {
    let texts = texts(&serde_json::from_str(&body).expect("JSON"), "inputs");
    let answer = json!(texts.iter().map(|text| vector(text)).collect::<Vec<_>>());
    note(&asked, "tei", &headers, texts);
    answer.to_string()
}

async fn openai(State(asked): State<Asked>, headers: HeaderMap, body: String) -> String {
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(body["model"], "small");
    let texts = texts(&body, "input");
    let vectors = texts.iter().enumerate().map(|(at, text)| json!({"index": at, "embedding": vector(text)}));
    let answer = json!({"data": vectors.rev().collect::<Vec<_>>()});
    note(&asked, "openai", &headers, texts);
    answer.to_string()
}

async fn server() -> (String, Asked) {
    let asked = Asked::default();
    let router =
        Router::new().route("/embed", post(tei)).route("/v1/embeddings", post(openai)).with_state(asked.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async { axum::serve(listener, router).await });
    (url, asked)
}

fn tools() -> Vec<Value> {
    [desk(), vec![tool("pet_feline", "Strokes a feline.")]].concat()
}

#[tokio::test]
async fn what_shares_no_word_is_found_by_its_meaning() {
    for (provider, path) in [("tei", ""), ("openai", "/v1")] {
        let (url, asked) = server().await;
        let optimizer =
            format!("optimizer: {{ embedding: {{ provider: {provider}, url: \"{url}{path}\", model: small }} }}");
        let proxy = world(&tools(), &format!("{PRESET}\n{optimizer}")).environment("EMBEDDING_API_KEY", "s3cret");
        let mut proxy = started(proxy).await;
        let begin = Instant::now();
        while names(&proxy.find("kitty").await).first() != Some(&"pet_feline") {
            assert!(begin.elapsed() < LONG_PATIENCE, "{:?}", asked.lock().expect("no test panicked"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(names(&proxy.find("kitty").await), ["pet_feline"], "the others are far in meaning");
        assert_eq!(names(&proxy.find("create a ticket").await)[0], "create_ticket");
        assert!(
            asked
                .lock()
                .expect("no test panicked")
                .iter()
                .all(|(path, key, _)| path == provider && key == "Bearer s3cret")
        );
        // What was embedded once is on disk.
        let world = proxy.world;
        asked.lock().expect("no test panicked").clear();
        let found = world.run(["find", "kitty", "--json"]).await.expect(0).json();
        assert_eq!(found[0]["tool"]["name"], "pet_feline", "{found}");
        let asked: Vec<_> =
            asked.lock().expect("no test panicked").iter().flat_map(|(_, _, texts)| texts.clone()).collect();
        assert_eq!(asked, ["kitty"]);
    }
}

#[tokio::test]
async fn what_was_found_before_a_question_is_not_searched_for_again() {
    let script = r#"
index = search_index(backends()["desk"].tools())

def find(args):
    return index.search("kitty")[0]["name"]

def handler(args):
    found = find(args)
    said = elicit("Sure?", when_unavailable = "error").action
    wrong = index.call("nothing_like_it", {})
    elicit("Really?", when_unavailable = "error")
    return "%s %s %s" % (said, found, wrong["isError"])

publish(metadata("find", "", {}, {}), find)
publish(metadata("handler", "", {}, {}), handler)
"#;
    let (url, asked) = server().await;
    let sections = format!(
        "sessionInit: {{ scriptFile: policy.star }}\noptimizer: {{ embedding: {{ provider: tei, url: \"{url}\" }} }}"
    );
    let mut client = Client::at(world(&tools(), &sections).file("policy.star", script), true, EVERYTHING).await;
    let begin = Instant::now();
    while client.proxy.client.modern_call("find", "{}").await.text() != "pet_feline" {
        assert!(begin.elapsed() < LONG_PATIENCE, "{:?}", asked.lock().expect("no test panicked"));
    }
    asked.lock().expect("no test panicked").clear();
    let (questions, outcome) = client.converse("handler", json!({}), json!({"action": "accept"})).await;
    assert_eq!((questions.len(), text(&outcome).as_str()), (2, "accept pet_feline True"), "{outcome}");
    let asked: Vec<_> =
        asked.lock().expect("no test panicked").iter().flat_map(|(_, _, texts)| texts.clone()).collect();
    assert_eq!(asked, ["kitty", "nothing_like_it"], "each once, over three runs");
}

#[tokio::test]
async fn without_the_embedding_server_the_words_decide() {
    let optimizer = "optimizer: { embedding: { provider: tei, url: \"http://127.0.0.1:9\" } }";
    let mut proxy = started(world(&tools(), &format!("{PRESET}\n{optimizer}"))).await;
    assert_eq!(names(&proxy.find("create a ticket").await)[0], "create_ticket");
    proxy.client.stderr().line("no embeddings yet").await;
    assert_eq!(names(&proxy.find("strokes").await), ["pet_feline"]);
}
