//! `meta.lock` in session scripts.

use serde_json::json;

use super::{Changing, read_note};
use crate::support::config::Config;
use crate::support::proxy::Proxy;

const SCRIPT: &str = r#"
for meta, call in backends()["fake"].tools():
    lock = meta.lock
    live = lock.live.description if lock.live else "none"
    publish(meta.replace(description = "%s %s %s" % (lock.state, ",".join(lock.changed), live)), call)
"#;

async fn descriptions(world: &Proxy) -> Vec<String> {
    let tools = world.run(["list-tools", "--live", "--json"]).await.expect(0).json();
    let texts =
        tools.as_array().expect("a list").iter().map(|tool| tool["tool"]["description"].as_str().unwrap_or_default());
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_script_sees_the_state_of_each_tool_and_what_its_server_says_now() {
    let server = Changing::listing(json!([read_note("Reads a note.", json!({}))])).await;
    let config = |more: &str| {
        Config::new().remote("fake", &server.url).section(&format!("sessionInit: {{scriptFile: policy.star}}\n{more}"))
    };
    let world = Proxy::new(&config("")).file("policy.star", SCRIPT);
    assert_eq!(descriptions(&world).await, ["unlocked  none", "unlocked  none"], "there is no lock");
    world.run(["lock", "--yes"]).await.expect(0);
    assert_eq!(descriptions(&world).await, ["same  none", "same  none"]);
    server.lists(json!([read_note("Reads your diary.", json!({"title": "Diary"}))]));
    assert_eq!(descriptions(&world).await, ["same  none", "changed description,title Reads your diary."]);
    world.directory.write("proxy.yaml", &config("lock: block").text());
    assert_eq!(descriptions(&world).await[1], "held description,title Reads your diary.");
    world.directory.write("proxy.yaml", &config("lock: warn").text());
    let mut other = read_note("New.", json!({}));
    other["name"] = json!("other");
    server.lists(json!([other]));
    assert_eq!(descriptions(&world).await, ["same  none", "new  none"]);
}

#[tokio::test]
async fn a_script_cannot_approve_anything() {
    let server = Changing::listing(json!([])).await;
    let config = Config::new().remote("fake", &server.url).section("sessionInit: {scriptFile: policy.star}");
    let script = "for meta, call in backends()['fake'].tools():\n    publish(meta.replace(lock = None), call)\n";
    let world = Proxy::new(&config).file("policy.star", script);
    let failed = world.run(["list-tools", "--live"]).await.expect(1);
    assert!(failed.stderr.contains("`lock` cannot be replaced: only `proxy lock` approves"), "{}", failed.stderr);
}
