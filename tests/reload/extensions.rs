//! Local tools edited with a client connected.

use serde_json::json;

use super::serving;
use crate::support::config::Config;
use crate::support::proxy::{Proxy, StdioProxy};

fn extension(name: &str, tool: &str, says: &str) -> String {
    format!(
        "def say(params):\n    return '{says}'\n\ndef describe_extension():\n    return Extension(name = '{name}', version = '1', \
         description = 'Says it', tools = [Tool(name = '{tool}', description = 'Says it', handler = say)])\n"
    )
}

fn world(section: &str) -> Proxy {
    Proxy::new(&Config::new().section(section)).file("tools/a.star", &extension("a", "say", "first"))
}

impl StdioProxy {
    /// What `proxy status` says of the one extension that is not in force.
    async fn extension_error(&self) -> String {
        let status = self.status().await;
        let errors = status["extensionErrors"].as_array().expect("a list");
        assert_eq!(errors.len(), 1, "{status}");
        errors[0].as_str().expect("a text").to_owned()
    }
}

const WATCHED: &str = "extensions: { paths: [tools] }";

#[tokio::test]
async fn an_extension_can_be_changed_added_broken_mended_and_deleted() {
    let mut proxy = serving(world(WATCHED)).await;
    assert_eq!(proxy.client.call("say", "{}").await.text(), "first");
    proxy.write("tools/a.star", &extension("a", "speak", "second"));
    assert_eq!(proxy.changed_tools().await, ["speak"]);
    assert_eq!(proxy.client.call("speak", "{}").await.text(), "second");
    // A change that no list shows is in force too.
    proxy.write("tools/a.star", &extension("a", "speak", "third"));
    proxy.client.stderr().line("reloaded tools/a.star: 1 tool, as before").await;
    proxy.write("tools/b.star", &extension("b", "shout", "HEY"));
    assert_eq!(proxy.changed_tools().await, ["speak", "shout"]);
    assert_eq!(proxy.client.call("speak", "{}").await.text(), "third");
    proxy.write("tools/a.star", "def describe_extension(:\n");
    proxy.client.stderr().line("an extension was not loaded").await;
    assert_eq!(proxy.client.call("speak", "{}").await.text(), "third");
    let error = proxy.extension_error().await;
    assert!(error.contains("a.star:1") && error.contains("the previous version stays in use"), "{error}");
    proxy.write("tools/a.star", &extension("a", "whisper", "psst"));
    assert_eq!(proxy.changed_tools().await, ["whisper", "shout"]);
    assert_eq!(proxy.status().await["extensionErrors"], json!([]));
    std::fs::remove_file(proxy.world.directory.path().join("tools/a.star")).unwrap();
    assert_eq!(proxy.changed_tools().await, ["shout"]);
    std::fs::remove_dir_all(proxy.world.directory.path().join("tools")).unwrap();
    assert_eq!(proxy.changed_tools().await, [""; 0]);
    proxy.write("tools/c.star", &extension("c", "hum", "hm"));
    assert_eq!(proxy.changed_tools().await, ["hum"]);
}

#[tokio::test]
async fn what_an_extension_loads_counts_as_the_extension_does() {
    let text = "load('lib/words.star', 'WORD')\n".to_owned() + &extension("a", "say", "x").replace("'x'", "WORD");
    let mut proxy =
        serving(world(WATCHED).file("tools/a.star", &text).file("tools/lib/words.star", "WORD = 'one'\n")).await;
    assert_eq!(proxy.client.call("say", "{}").await.text(), "one");
    proxy.write("tools/lib/words.star", "WORD = 'two'\n");
    proxy.client.stderr().line("reloaded tools/a.star: ").await;
    assert_eq!(proxy.client.call("say", "{}").await.text(), "two");
}

#[tokio::test]
async fn of_two_with_one_name_the_first_stays_until_it_goes() {
    let mut proxy = serving(world(WATCHED).file("tools/z.star", &extension("z", "zed", "z"))).await;
    // Sorted before the one that has the name already.
    proxy.write("tools/b.star", &extension("z", "other", "b"));
    let error = proxy.client.stderr().line("two extensions are named `z`: ").await;
    assert!(error.contains("z.star` and `") && error.contains("b.star`"), "{error}");
    assert_eq!(proxy.tools().await, ["say", "zed"]);
    assert!(proxy.extension_error().await.contains("two extensions are named `z`"));
    std::fs::remove_file(proxy.world.directory.path().join("tools/z.star")).unwrap();
    assert_eq!(proxy.changed_tools().await, ["say", "other"]);
    assert_eq!(proxy.status().await["extensionErrors"], json!([]));
}

#[tokio::test]
async fn one_that_is_broken_at_the_start_keeps_no_other_out_and_comes_in_when_it_is_mended() {
    let mut proxy = serving(world(WATCHED).file("tools/b.star", "def describe_extension(:\n")).await;
    assert_eq!(proxy.client.call("say", "{}").await.text(), "first");
    proxy.client.stderr().line("an extension was not loaded").await;
    let error = proxy.extension_error().await;
    assert!(error.contains("b.star:1") && !error.contains("previous version"), "{error}");
    proxy.write("tools/b.star", &extension("b", "shout", "HEY"));
    assert_eq!(proxy.changed_tools().await, ["say", "shout"]);
    assert_eq!(proxy.status().await["extensionErrors"], json!([]));
}

#[tokio::test]
async fn of_two_with_one_name_at_the_start_the_second_appears_when_the_first_vanishes() {
    let mut proxy = serving(world(WATCHED).file("tools/b.star", &extension("a", "other", "b"))).await;
    assert_eq!(proxy.tools().await, ["say"]);
    let error = proxy.extension_error().await;
    assert!(error.contains("two extensions are named `a`") && error.contains("a.star` was loaded first"), "{error}");
    std::fs::remove_file(proxy.world.directory.path().join("tools/a.star")).unwrap();
    assert_eq!(proxy.changed_tools().await, ["other"]);
    assert_eq!(proxy.status().await["extensionErrors"], json!([]));
}

#[tokio::test]
async fn a_broken_one_that_comes_with_another_config_is_told_and_the_others_come() {
    let mut proxy = serving(
        world(WATCHED)
            .file("more/broken.star", "x = undefined_name\n")
            .file("more/good.star", &extension("b", "shout", "HEY")),
    )
    .await;
    proxy.write("proxy.yaml", "extensions: { paths: [tools, more] }\n");
    assert_eq!(proxy.changed_tools().await, ["say", "shout"]);
    proxy.client.stderr().line("an extension was not loaded").await;
    assert!(proxy.extension_error().await.contains("broken.star:1"));
    assert_eq!(proxy.status().await["configErrors"], json!([]));
}

#[tokio::test]
async fn a_call_finishes_with_the_version_it_began_with() {
    // Says that it has begun, and goes on when it is told to.
    let waiting = |says: &str| {
        let waits = "exec.run(\"sh\", [\"-c\", \"echo > began; until [ -e go ]; do sleep 0.01; done\"], cwd = \".\")\n    return";
        extension("a", "say", says)
            .replace("return '", &format!("{waits} '"))
            .replace("version = '1',", "version = '1', allowed_exec = ['sh'],")
    };
    let mut proxy = serving(world(WATCHED).file("tools/a.star", &waiting("old"))).await;
    let call = proxy.client.begin("tools/call", r#"{"name":"say","arguments":{}}"#).await;
    proxy.world.directory.appearing("tools/began", proxy.client.stderr()).await;
    proxy.write("tools/a.star", &extension("a", "speak", "new"));
    assert_eq!(proxy.changed_tools().await, ["speak"]);
    assert_eq!(proxy.client.call("speak", "{}").await.text(), "new");
    assert!(proxy.client.unclaimed().all(|message| !message.is_response()), "the call is still under way");
    proxy.write("tools/go", "");
    assert_eq!(proxy.client.response(&call).await.text(), "old");
}

#[tokio::test]
async fn of_ten_quick_saves_the_last_one_counts_and_none_is_seen_half() {
    let mut proxy = serving(world(WATCHED)).await;
    for number in 0..10 {
        proxy.write("tools/a.star", &extension("a", &format!("tool_{number}"), "x"));
    }
    let mut seen = Vec::new();
    while seen.last().is_none_or(|last| last != "tool_9") {
        let tools = proxy.changed_tools().await;
        assert_eq!(tools.len(), 1, "{tools:?}");
        seen.extend(tools);
    }
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!(proxy.status().await["extensionErrors"], json!([]));
    assert!(!proxy.client.stderr().text().contains("was not loaded"));
}

#[tokio::test]
async fn a_file_that_is_replaced_by_another_is_the_other() {
    let mut proxy = serving(world(WATCHED)).await;
    let folder = proxy.world.directory.path().join("tools");
    proxy.write("tools/a.star~", &extension("a", "renamed", "x"));
    std::fs::rename(folder.join("a.star~"), folder.join("a.star")).unwrap();
    assert_eq!(proxy.changed_tools().await, ["renamed"]);
    proxy.write("elsewhere/a.star", &extension("a", "linked", "x"));
    std::os::unix::fs::symlink("../elsewhere/a.star", folder.join("link")).unwrap();
    std::fs::rename(folder.join("link"), folder.join("a.star")).unwrap();
    assert_eq!(proxy.changed_tools().await, ["linked"]);
}

#[tokio::test]
async fn without_watch_a_change_waits_for_the_next_start() {
    let mut proxy = serving(world("extensions: { paths: [tools], watch: false }")).await;
    proxy.write("tools/a.star", &extension("a", "speak", "second"));
    // The config is followed all the same, and tells when it was looked at: extensions are loaded with it.
    proxy.write(
        "proxy.yaml",
        "extensions: { paths: [tools], watch: false }\naggregation: { conflictResolution: prefix }\n",
    );
    assert_eq!(proxy.changed_tools().await, ["a_speak"]);
    let log = proxy.client.stderr().text();
    assert!(!log.contains("reloaded tools/a.star"), "{log}");
}
