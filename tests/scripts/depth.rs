//! Texts and values nested without end: an error with its place wherever a script is read, never the end of the process.

use serde_json::json;

use super::{refused, started, world};
use crate::support::lsp_client::LspClient;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;

const TOO_DEEP: &str = "this is nested too deeply: more than 1000 nested brackets, operators or blocks";

/// All of them overflow the parser's stack, or that of what walks over its tree, if they get there.
fn bottomless() -> Vec<String> {
    [
        format!("x = {}1", "-".repeat(1_000_000)),
        format!("x = {}1", "not ".repeat(200_000)),
        format!("x = {}{}", "[".repeat(20_000), "]".repeat(20_000)),
        format!("x = {}", "(".repeat(1_000_000)),
        format!("x = 1{}", " + 1".repeat(100_000)),
        format!("x = f{}", "()".repeat(100_000)),
        format!("if 1:\n    pass\n{}", "elif 1:\n    pass\n".repeat(20_000)),
    ]
    .map(|text| format!("# The first line.\n{text}\n"))
    .to_vec()
}

#[tokio::test]
async fn a_script_nested_without_end_is_refused_with_its_line() {
    for text in bottomless() {
        let told = refused(&text).await;
        assert!(told.starts_with(&format!("error: {TOO_DEEP}\n")), "{}", &told[..200.min(told.len())]);
        assert!(told.contains("policy.star:2") || text.contains("elif"), "{}", &told[..200]);
        // A line of a megabyte is of no use to anybody.
        assert!(told.len() < 2000, "{} bytes", told.len());
    }
}

#[tokio::test]
async fn what_is_deep_but_not_too_deep_runs() {
    let text = format!(
        "a = {}1\nb = 1{}\nc = {}{}\nfor meta, call in backends()['fake'].tools():\n    publish(meta, call)\n",
        "- ".repeat(900),
        " + 1".repeat(900),
        "[".repeat(900),
        "]".repeat(900)
    );
    let mut proxy = started(world("echo", &text)).await;
    assert_eq!(proxy.tools().await, ["echo"]);
}

#[tokio::test]
async fn every_command_that_reads_scripts_refuses_it() {
    let deep = &bottomless()[0];
    let proxy = world("echo", deep);
    let checked = proxy.run(["check"]).await.expect(1);
    assert!(checked.stderr.contains(TOO_DEEP) && checked.stderr.contains("policy.star:2:"), "{}", checked.stderr);
    let tests = Proxy::with_config_text("").file("a_test.star", deep);
    let tested = tests.run(["test"]).await.expect(1);
    assert!(tested.stdout.contains(TOO_DEEP) || tested.stderr.contains(TOO_DEEP), "{tested:?}");
    let extension = Proxy::with_config_text("extensions: { paths: [tools] }\n").file("tools/deep.star", deep);
    let checked = extension.run(["check"]).await.expect(1);
    assert!(checked.stderr.contains(TOO_DEEP) && checked.stderr.contains("tools/deep.star:2"), "{checked:?}");
    let exec = Proxy::with_config_text("").file("a.star", &bottomless()[2]);
    let told = exec.run(["exec", "a.star"]).await.expect(1);
    assert!(told.stderr.contains(TOO_DEEP), "{told:?}");
}

#[tokio::test]
async fn an_editor_is_told_and_goes_on() {
    let proxy = world("echo", "");
    let mut client = LspClient::start(proxy.command(["lsp"]));
    let root = format!("file://{}", proxy.directory.path().display());
    client.initialize(&root).await;
    let uri = format!("{root}/policy.star");
    client.open(&uri, &bottomless()[2]).await;
    let found = client.diagnostics(1).await;
    assert_eq!(found[0]["range"]["start"]["line"], json!(1), "{found:?}");
    assert!(found[0]["message"].as_str().unwrap().starts_with(TOO_DEEP), "{found:?}");
    client.change(&uri, 2, "x = 1\n").await;
    assert_eq!(client.diagnostics(2).await.len(), 0);
}

#[tokio::test]
async fn a_change_for_the_deeper_is_told_and_the_old_script_goes_on_under_load() {
    let script = "for meta, call in backends()['fake'].tools():\n    publish(meta, call)\n";
    let mut proxy = started(world("echo", script)).await;
    assert_eq!(proxy.tools().await, ["echo"]);
    for (round, text) in bottomless().iter().enumerate() {
        let mut calls = Vec::new();
        for _ in 0..20 {
            calls.push(proxy.client.begin("tools/call", r#"{"name":"echo","arguments":{"a":1}}"#).await);
        }
        proxy.world.directory.write("policy.star", text);
        proxy.client.stderr().times(TOO_DEEP, round + 1).await;
        for call in calls {
            assert_eq!(proxy.client.response(&call).await.structured(), r#"{"a":1}"#);
        }
    }
}

#[tokio::test]
async fn constants_larger_than_the_memory_are_refused_before_they_are_made() {
    for constant in ["list(range(1000000000))", "\"a\" * 2000000000", "[0] * 2000000000", "sorted(range(1000000000))"] {
        for text in [format!("\nx = {constant}\n"), format!("def never_called():\n    return {constant}\n")] {
            let told = refused(&text).await;
            assert!(told.starts_with("error: this constant would take "), "{told}");
            assert!(told.contains("MiB; the script's memory limit is 256 MiB\n --> policy.star:2:"), "{told}");
        }
    }
}

#[tokio::test]
async fn what_turns_out_too_large_while_it_is_made_is_told_with_the_limit() {
    let told = refused("n = 1000000000\nx = list(range(n))\n").await;
    assert!(told.starts_with("error: the script used more than its limit of 256 MiB of memory"), "{told}");
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn values_inside_each_other_without_end_are_not_kept() {
    for value in ["[x]", "(x,)", "{'a': x}", "struct(a = x)"] {
        let proxy = world("echo", &format!("x = []\nfor i in range(100000):\n    x = {value}\n"));
        let mut finished = proxy.stdio();
        finished.client.program.stderr.patience = LONG_PATIENCE;
        finished.client.stderr().line("the value of `x` is nested deeper than 5000 levels, and cannot be kept").await;
        assert_eq!(finished.client.program.exit().await.code(), Some(1));
    }
}
