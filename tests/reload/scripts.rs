//! The session script and what it loads.

use super::{LIST_CHANGED, renamed, serving, world};
use crate::support::config::Config;
use crate::support::http_request::HttpRequest;
use crate::support::modern::{modern_meta, with_meta};
use crate::support::programs::fake_backend;

#[tokio::test]
async fn every_edit_of_the_script_is_in_force_in_the_same_session() {
    let mut proxy = serving(world(&renamed("before"))).await;
    // The first edit may be found while the watcher is still being set up; the second one is an event.
    for name in ["between", "after"] {
        proxy.write("policy.star", &renamed(name));
        assert_eq!(proxy.changed_tools().await, [name]);
    }
    assert_eq!(proxy.client.call("after", r#"{"x":1}"#).await.structured(), r#"{"x":1}"#);
    assert!(proxy.client.call("before", "{}").await.value()["error"].is_object());
    proxy.client.stderr().line("reloaded policy.star: 1 tool, as before").await;
}

#[tokio::test]
async fn the_log_says_in_one_line_how_many_tools_more() {
    let proxy = serving(world(&renamed("one"))).await;
    proxy.write("policy.star", &(renamed("one") + &renamed("two") + &renamed("three")));
    proxy.client.stderr().line("reloaded policy.star: 3 tools, 2 more than before").await;
    proxy.write("policy.star", "");
    proxy.client.stderr().line("reloaded policy.star: 0 tools, 3 fewer than before").await;
}

#[tokio::test]
async fn both_eras_hear_of_it_over_http_too() {
    let proxy = world(&renamed("before")).http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["before"]);
    let mut session = client.get_stream().await;
    let listen = HttpRequest::modern("7", "subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#);
    let mut subscription = client.send(&listen).await;
    subscription.next_message().await.expect("an acknowledgment");
    proxy.world.directory.write("policy.star", &renamed("after"));
    for stream in [&mut session, &mut subscription] {
        let told = stream.next_message().await.expect("a change");
        assert_eq!(told.method().as_deref(), Some(LIST_CHANGED));
    }
    assert_eq!(client.request("tools/list", "{}").await.tool_names(), ["after"]);
    assert_eq!(client.modern("tools/list", "{}").await.tool_names(), ["after"]);
}

#[tokio::test]
async fn clients_are_told_only_of_lists_that_changed() {
    let prompt = |text: &str| {
        renamed("tool") + &format!("publish_prompt(prompt_metadata('{text}', 'Says it', []), lambda args: '{text}')\n")
    };
    let mut proxy = serving(world(&prompt("a"))).await;
    let filter = r#"{"notifications":{"toolsListChanged":true}}"#;
    proxy.client.begin("subscriptions/listen", &with_meta(filter, &modern_meta())).await;
    proxy.client.expect_notification("notifications/subscriptions/acknowledged").await;
    proxy.write("policy.star", &prompt("b"));
    proxy.client.expect_notification("notifications/prompts/list_changed").await;
    // Another text of the same list is no change at all.
    proxy.write("policy.star", &(prompt("b") + "# a comment\n"));
    proxy.client.stderr().line("reloaded policy.star: 1 tool, as before").await;
    proxy.write("policy.star", &(prompt("c")));
    proxy.client.expect_notification("notifications/prompts/list_changed").await;
    proxy.tools().await;
    let told = proxy
        .client
        .unclaimed()
        .filter(|message| message.method().is_some_and(|method| method.contains("list_changed")));
    assert_eq!(told.count(), 0);
}

#[tokio::test]
async fn a_loaded_file_counts_as_the_script_does_also_one_that_was_missing() {
    let script = "load('//lib/names.star', 'NAME')\n".to_owned() + &renamed("x").replace("'x'", "NAME");
    let mut proxy = serving(world(&script).file("lib/names.star", "NAME = 'first'\n")).await;
    assert_eq!(proxy.tools().await, ["first"]);
    proxy.write("lib/names.star", "NAME = 'second'\n");
    assert_eq!(proxy.changed_tools().await, ["second"]);
    proxy.client.stderr().line("reloaded lib/names.star: ").await;
    proxy.write("lib/names.star", "load('more.star', 'NAME_OF_IT')\nNAME = NAME_OF_IT\n");
    proxy.client.stderr().line("cannot load `more.star`: there is no such file").await;
    assert_eq!(proxy.tools().await, ["second"]);
    proxy.write("lib/more.star", "NAME_OF_IT = 'third'\n");
    assert_eq!(proxy.changed_tools().await, ["third"]);
}

#[tokio::test]
async fn every_way_of_saving_counts() {
    let mut proxy = serving(world(&renamed("first"))).await;
    let folder = proxy.world.directory.path().to_owned();
    let script = folder.join("policy.star");
    // Editors write another file and put it in the place of the old one.
    proxy.write("policy.star~", &renamed("replaced"));
    std::fs::rename(folder.join("policy.star~"), &script).unwrap();
    assert_eq!(proxy.changed_tools().await, ["replaced"]);
    // Or take the old one away first.
    std::fs::rename(&script, folder.join("policy.star.bak")).unwrap();
    std::fs::write(&script, renamed("made_again")).unwrap();
    assert_eq!(proxy.changed_tools().await, ["made_again"]);
    // Or empty it, and write into it.
    let mut file = std::fs::File::create(&script).unwrap();
    std::io::Write::write_all(&mut file, renamed("truncated").as_bytes()).unwrap();
    drop(file);
    assert_eq!(proxy.changed_tools().await, ["truncated"]);
    // A link to another version.
    proxy.write("versions/2.star", &renamed("linked"));
    std::os::unix::fs::symlink("versions/2.star", folder.join("policy.link")).unwrap();
    std::fs::rename(folder.join("policy.link"), &script).unwrap();
    assert_eq!(proxy.changed_tools().await, ["linked"]);
    proxy.write("versions/2.star", &renamed("behind_the_link"));
    assert_eq!(proxy.changed_tools().await, ["behind_the_link"]);
}

#[tokio::test]
async fn a_folder_that_was_removed_and_made_again_is_followed_again() {
    let script = "load('//lib/names.star', 'NAME')\n".to_owned() + &renamed("x").replace("'x'", "NAME");
    let mut proxy = serving(world(&script).file("lib/names.star", "NAME = 'first'\n")).await;
    std::fs::remove_dir_all(proxy.world.directory.path().join("lib")).unwrap();
    proxy.client.stderr().line("the session script failed, so the old surface stays").await;
    assert_eq!(proxy.tools().await, ["first"]);
    proxy.write("lib/names.star", "NAME = 'second'\n");
    assert_eq!(proxy.changed_tools().await, ["second"]);
    proxy.write("lib/names.star", "NAME = 'third'\n");
    assert_eq!(proxy.changed_tools().await, ["third"]);
}

#[tokio::test]
async fn of_many_quick_saves_the_last_one_counts() {
    let mut proxy = serving(world(&renamed("first"))).await;
    proxy.write("policy.star", &renamed("second"));
    assert_eq!(proxy.changed_tools().await, ["second"]);
    for number in 0..10 {
        let text = if number % 3 == 1 { "not ( starlark".to_owned() } else { renamed(&format!("save_{number}")) };
        proxy.write("policy.star", &text);
    }
    proxy.client.tools_until(|names| names == ["save_9"]).await;
    assert_eq!(proxy.status().await["scriptErrors"], serde_json::json!([]));
}

#[tokio::test]
async fn a_script_that_never_worked_does_not_start_but_one_that_did_can_break_and_be_mended() {
    let mut proxy = serving(world(&renamed("good"))).await;
    proxy.write("policy.star", "publish(\n");
    let said = proxy.client.stderr().line("the session script failed, so the old surface stays").await;
    assert!(said.contains("ERROR"), "{said}");
    assert_eq!(proxy.tools().await, ["good"]);
    let errors = proxy.status().await["scriptErrors"].clone();
    assert!(errors[0].as_str().unwrap().contains("policy.star:"), "{errors}");
    let told = proxy.world.run(["status"]).await.expect(0).stdout;
    assert!(told.contains("the current session script fails and is not in use:\nerror: "), "{told}");
    std::fs::remove_file(proxy.world.directory.path().join("policy.star")).unwrap();
    proxy.client.stderr().line("the session script was not reloaded, the old one stays").await;
    assert_eq!(proxy.tools().await, ["good"]);
    proxy.write("policy.star", &renamed("mended"));
    assert_eq!(proxy.changed_tools().await, ["mended"]);
    let status = proxy.status().await;
    assert_eq!(status["scriptErrors"], serde_json::json!([]));
    assert_eq!(status["lastReload"]["what"], "policy.star");
}

#[tokio::test]
async fn what_was_remembered_survives_an_edit_but_results_are_made_again() {
    let script = |name: &str| {
        r#"
def count(args):
    allowed, _ = check_rate_limit("calls", 3, 3600)
    return "own %d, shared %d, %s" % (state.incr("n"), shared_state.incr("n"), allowed)

publish(metadata("count_NAME", "", {}, {}), count)
publish(metadata("made_NAME", "", {}, {}), cached(lambda args: "%d" % shared_state.incr("made"), 600))
"#
        .replace("NAME", name)
    };
    let mut proxy = serving(world(&script("one"))).await;
    assert_eq!(proxy.client.call("count_one", "{}").await.text(), "own 1, shared 1, True");
    for _ in 0..2 {
        assert_eq!(proxy.client.call("made_one", "{}").await.text(), "1");
    }
    proxy.write("policy.star", &script("two"));
    assert_eq!(proxy.changed_tools().await, ["count_two", "made_two"]);
    assert_eq!(proxy.client.call("count_two", "{}").await.text(), "own 2, shared 2, True");
    assert_eq!(proxy.client.call("made_two", "{}").await.text(), "2");
    // A change of the config is another way to run the script again.
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "echo"]))
        .server("another", &fake_backend(["--only", "echo"]))
        .section("sessionInit: { scriptFile: policy.star }");
    proxy.write("proxy.yaml", &config.text());
    proxy.client.stderr().line("reloaded proxy.yaml").await;
    assert_eq!(proxy.client.call("count_two", "{}").await.text(), "own 3, shared 3, True");
    assert_eq!(proxy.client.call("count_two", "{}").await.text(), "own 4, shared 4, False");
}
