//! Where extensions are found: in folders and the folders below them, and never by themselves.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{one_tool, started, world};
use crate::support::message;
use crate::support::proxy::Proxy;
use crate::support::stdio_client::StdioClient;

/// An extension with one tool of the same name.
fn named(name: &str) -> String {
    one_tool("return data.load_text('x.txt')", "")
        .replace("\"one\"", &format!("\"{name}\""))
        .replace("\"run\"", &format!("\"{name}\""))
}

#[tokio::test]
async fn folders_are_searched_with_those_below_them() {
    let world = world(&[
        ("top.star", &named("top")),
        ("a/first.star", &named("first")),
        ("a/x.txt", "of a"),
        ("a/first_test.star", &named("tested")),
        // Loaded by `first.star` of another folder only: its own `load` would lead out of its folder.
        ("a/lib/library.star", "load(\"../facts\", \"fact\")\n"),
        ("a/b/c/deep.star", &named("deep")),
        (".hidden/hidden.star", &named("hidden")),
        ("node_modules/package/foreign.star", &named("foreign")),
    ]);
    let elsewhere = world.directory.write("elsewhere/linked.star", &named("linked"));
    let tools = world.directory.path().join("tools");
    symlink(elsewhere.parent().expect("it is in a folder"), tools.join("link")).expect("a link");
    let checked = world.run(["check"]).await.expect(0);
    assert!(checked.stdout.contains("3 tools published"), "{}", checked.stdout);
    let mut proxy = started(world).await;
    assert_eq!(proxy.client.request("tools/list", "{}").await.tool_names(), ["deep", "first", "top"]);
    // The folder of an extension is its own.
    assert_eq!(proxy.text("first", json!({})).await, "of a");

    // So is a folder that comes later.
    let new = tools.join("new/below");
    std::fs::create_dir_all(&new).expect("the folder is new");
    std::fs::write(new.join("late.star"), named("late")).expect("it can be written");
    proxy.client.tools_until(|names| names.iter().any(|name| name == "late")).await;
}

#[tokio::test]
async fn a_folder_without_a_config_loads_nothing_and_says_how_to() {
    let proxy = Proxy::with_config_text("");
    std::fs::remove_file(proxy.directory.path().join("proxy.yaml")).expect("it was written");
    let proxy = ["a", "b", "below/c", "below/c_test"]
        .into_iter()
        .fold(proxy, |proxy, name| proxy.file(&format!("extensions/{name}.star"), &named(&name.replace('/', "_"))));
    let mut client = StdioClient::start(proxy.command(["serve"]));
    client.initialize("2025-11-25").await.result();
    client.stderr().line("./extensions has 3 files: add --extension ./extensions").await;
    let names = client.request("tools/list", "{}").await.tool_names();
    assert!(names.iter().any(|name| name == "greet") && !names.iter().any(|name| name == "a"), "{names:?}");
    client.finish().await;

    let mut client = StdioClient::start(proxy.command(["serve", "--extension", "./extensions"]));
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["a", "b", "below_c"]);
    assert!(!client.stderr().text().contains("add --extension"));
}

const MARK: &str = "\u{feff}";

#[tokio::test]
async fn a_byte_order_mark_at_the_beginning_of_a_file_or_message_is_ignored() {
    let config =
        "extensions: { paths: [tools] }\nsessionInit: { scriptFile: policy.star }\ncedar: { policies: [all.cedar] }\n";
    let marked = |text: &str| format!("{MARK}{text}");
    let world = Proxy::with_config_text(&marked(config))
        .file("policy.star", &marked("load(\"lib.star\", \"published\")\npublished()\n"))
        .file("lib.star", &marked("load(\"@proxy//lib@1.star\", \"aggregate\")\ndef published():\n    [publish(meta, call) for meta, call in aggregate(backends())]\n"))
        .file("all.cedar", &marked("permit(principal, action, resource);\n"))
        .file("tools/one.star", &marked(&one_tool("return 'ran'", "")));
    let checked = world.run(["check"]).await.expect(0);
    assert!(checked.stdout.contains("1 tool published"), "{}{}", checked.stdout, checked.stderr);
    let mut proxy = started(world).await;
    for number in [71, 72] {
        proxy
            .client
            .send(&marked(&message::request(&number.to_string(), "tools/call", &message::call("run", "{}"))))
            .await;
        assert_eq!(proxy.client.response(&number.to_string()).await.text(), "ran");
    }
}
