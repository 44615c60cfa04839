//! Calls of an API are recorded and judged like those of any server.

use serde_json::{Value, json};

use super::{Recorder, serving};
use crate::support::config::Config;
use crate::support::listener;
use crate::support::proxy::Proxy;

const PETS: &str = "\
openapi: 3.1.0
info: {title: Pets, version: '1'}
paths:
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: a pet, content: {application/json: {}}}}
";

const POLICY: &str = r#"
def shouting(call):
    def handler(args):
        pet = call({"id": args["id"]})["structuredContent"]
        return {"name": pet["name"].upper()}
    return handler

for meta, call in backends()["pets"].tools():
    publish(meta, call)
    publish(meta.replace(name = "shout"), shouting(call))
"#;

#[tokio::test]
async fn calls_of_an_api_are_replayed_without_it() {
    let (api, url) = listener::bind().await;
    listener::serve(api, |request: http::Request<bytes::Bytes>| async move {
        Some(match request.uri().path().rsplit('/').next() {
            Some("nobody") => listener::json(404, &json!({"why": "no such pet"})),
            name => listener::json(200, &json!({ "name": name })),
        })
    });
    let servers = json!({"pets": {"openapi": "pets.yaml", "url": url}});
    let config =
        Config::new().section(&format!("mcpServers: {servers}")).section("sessionInit: { scriptFile: policy.star }");
    let quiet = POLICY.replace(".upper()", "");
    let proxy = Proxy::new(&config).file("pets.yaml", PETS).file("policy.star", POLICY).file("quiet.star", &quiet);
    let mut proxy = serving(proxy).await;
    let recorder = Recorder::start(&proxy.world).await;
    proxy.client.call("getPet", r#"{"id":"rex"}"#).await.structured();
    assert_eq!(proxy.client.call("shout", r#"{"id":"rex"}"#).await.structured(), r#"{"name":"REX"}"#);
    assert!(proxy.client.call("getPet", r#"{"id":"nobody"}"#).await.text().contains("no such pet"));
    recorder.end(&proxy.world, 4).await;
    let file = proxy.world.directory.path().join("calls.jsonl");
    let text = std::fs::read_to_string(file).expect("it is there");
    let start: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(start["start"]["catalog"]["servers"][0]["offer"]["tools"][0]["_meta"]["extra"]["path"], "/pets/{id}");

    // The API is asked by nobody from now on.
    proxy.client.program.terminate();
    proxy.client.program.exit().await;
    let world =
        Proxy::new(&Config::new().section(&format!(
            "mcpServers: {}",
            json!({"pets": {"openapi": "pets.yaml", "url": "http://127.0.0.1:1"}})
        )));
    let world =
        world.file("pets.yaml", PETS).file("policy.star", POLICY).file("quiet.star", &quiet).file("calls.jsonl", &text);
    let same = world.run(["backtest", "calls.jsonl", "--script", "policy.star"]).await.expect(0);
    assert_eq!(same.stdout, "3 calls: 3 same\n");
    let changed = world.run(["backtest", "calls.jsonl", "--script", "quiet.star", "--json"]).await.expect(1).json();
    assert_eq!((&changed["calls"], &changed["same"]), (&json!(3), &json!(2)), "{changed}");
}
