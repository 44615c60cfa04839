//! `command()`: executables of an extension's folder as handlers.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::{refused, started, world};
use crate::support::config::Config;
use crate::support::program::is_gone;
use crate::support::proxy::{Proxy, StdioProxy};

/// An extension with one tool `run`, whose handler is this, and one parameter `name`.
fn runs(handler: &str, allowed: &str) -> String {
    format!(
        "def describe_extension():\n    return Extension(name = \"one\", version = \"1\", allowed_exec = [{allowed}], tools = [Tool(\n        name = \"run\", description = \"\", handler = {handler},\n        parameters = [ToolParameter(name = \"name\", param_type = \"string\")])])\n"
    )
}

/// A proxy that serves this extension and these executables.
fn with_executables(extension: &str, executables: &[(&str, &str)]) -> Proxy {
    let proxy = world(&[("one.star", extension)]);
    for (name, script) in executables {
        let file = proxy.directory.write(&format!("tools/{name}"), &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    }
    proxy
}

/// A proxy whose tool `run` is a script that gets its arguments as JSON.
async fn running(script: &str, options: &str) -> StdioProxy {
    let extension = runs(&format!("command([\"./run.sh\"]{options})"), "\"./run.sh\"");
    started(with_executables(&extension, &[("run.sh", script)])).await
}

const EVERY_KIND: &str = r#"
def describe_extension():
    return Extension(
        name = "one",
        version = "1",
        allowed_exec = ["./bin/say.sh", "./echo.sh"],
        tools = [
            Tool(name = "echo", description = "", handler = command(["./echo.sh"]), parameters = [
                ToolParameter(name = "text", param_type = "string"),
                ToolParameter(name = "count", param_type = "int", default = 2),
            ]),
            Tool(name = "where", description = "", handler = command(["./bin/say.sh", "where"], env = {"MINE": "own"})),
        ],
        resources = [
            Resource(uri = "one://json", name = "json", handler = command(["./bin/say.sh", "json"]), mime_type = "application/json"),
            ResourceTemplate(uri_template = "one://{day}", name = "day", handler = command(["./bin/say.sh", "{day}"], stdin = "none")),
        ],
        prompts = [Prompt(name = "ask", arguments = ["whom"], handler = command(["./bin/say.sh", "ask {whom}"], stdin = "none"))],
    )
"#;

#[tokio::test]
async fn an_executable_is_the_handler_of_every_kind_of_item() {
    let say =
        "case $1 in json) echo '{\"a\": 1}';; where) echo \"$MINE ${TOKEN:-no token}\"; pwd;; *) echo \"$1.\";; esac";
    let proxy = with_executables(EVERY_KIND, &[("echo.sh", "cat"), ("bin/say.sh", say)]);
    let mut proxy = started(proxy.environment("TOKEN", "s3cret")).await;
    // Defaults are filled in, and JSON is data.
    let arguments = json!({"text": "$(id) \"x\""});
    assert_eq!(proxy.data("echo", arguments).await, json!({"text": "$(id) \"x\"", "count": 2}));
    let text = proxy.text("where", json!({})).await;
    assert!(text.starts_with("own no token\n/") && text.ends_with("/tools"), "{text}");
    let read = proxy.client.request("resources/read", r#"{"uri":"one://json"}"#).await.value();
    let content = json!({"uri": "one://json", "text": "{\"a\": 1}", "mimeType": "application/json"});
    assert_eq!(read["result"]["contents"], json!([content]));
    let read = proxy.client.request("resources/read", r#"{"uri":"one://monday"}"#).await.value();
    assert_eq!(read["result"]["contents"][0]["text"], "monday.");
    let asked = proxy.client.request("prompts/get", r#"{"name":"ask","arguments":{"whom":"Ann; id"}}"#).await.value();
    assert_eq!(asked["result"]["messages"][0]["content"]["text"], "ask Ann; id.");
}

#[tokio::test]
async fn an_argument_in_a_command_is_never_an_option() {
    let handler = |argv: &str| runs(&format!("command([{argv}], stdin = \"none\")"), "\"./run.sh\"");
    let script = "for argument in \"$@\"; do echo \"<$argument>\"; done; cat";
    let plain = handler("\"./run.sh\", \"{name}\", \"--to={name}\"");
    let mut proxy = started(with_executables(&plain, &[("run.sh", script)])).await;
    assert_eq!(proxy.text("run", json!({"name": "a b; id"})).await, "<a b; id>\n<--to=a b; id>");
    assert_eq!(proxy.text("run", json!({})).await, "<>\n<--to=>");
    let text = proxy.fault("run", json!({"name": "--delete"})).await;
    assert!(text.contains("`name` must not begin with `-`") && text.contains("puts \"--\" before `{name}`"), "{text}");
    let guarded = handler("\"./run.sh\", \"--\", \"{name}\"");
    let mut proxy = started(with_executables(&guarded, &[("run.sh", script)])).await;
    assert_eq!(proxy.text("run", json!({"name": "--delete"})).await, "<-->\n<--delete>");
}

#[tokio::test]
async fn lines_on_descriptor_3_are_progress() {
    let script = "\
        echo '{\"progress\": 1, \"total\": 3, \"message\": \"first\"}' >&3\n\
        echo garbage >&3; echo '{\"progress\": 1}' >&3; head -c 100000 /dev/zero >&3; echo >&3\n\
        echo '{\"progress\": 2, \"total\": 3}' >&3; printf '{\"progress\"' >&3; echo done";
    let mut proxy = running(script, "").await;
    let params = r#"{"name":"run","arguments":{},"_meta":{"progressToken":"t"}}"#;
    let answer = proxy.client.request("tools/call", params).await;
    assert_eq!(answer.text(), "done");
    let reports: Vec<Value> = proxy.client.unclaimed().map(|message| message.value()["params"].clone()).collect();
    let first = json!({"progressToken": "t", "progress": 1.0, "total": 3.0, "message": "first"});
    assert_eq!(reports, [first, json!({"progressToken": "t", "progress": 2.0, "total": 3.0})]);
    proxy.client.stderr().line("descriptor 3 that are not progress").await;
}

#[tokio::test]
async fn endless_progress_floods_nobody() {
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo \"{\\\"progress\\\": $i}\"; done >&3; echo done";
    let mut proxy = running(script, ", timeout = 600").await;
    let params = r#"{"name":"run","arguments":{},"_meta":{"progressToken":"t"}}"#;
    assert_eq!(proxy.client.request("tools/call", params).await.text(), "done");
    let count = proxy.client.unclaimed().count();
    assert!((1..20_000).contains(&count), "{count} reports");
}

#[tokio::test]
async fn a_failure_is_an_error_with_the_end_of_what_was_said() {
    let script = "i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); echo \"line $i\" >&2; done; echo '{\"a\": 1}'; exit 3";
    let mut proxy = running(script, "").await;
    let text = proxy.fault("run", json!({})).await;
    assert!(text.starts_with("`./run.sh` failed with exit code 3: ") && text.ends_with("line 5000"), "{text}");
    assert!(text.len() < 2500, "{}", text.len());
}

#[tokio::test]
async fn an_executable_that_prints_without_end_is_stopped() {
    // It cannot end by itself, and its timeout is no help.
    let mut proxy = running("exec yes", ", timeout = 600").await;
    let text = proxy.fault("run", json!({})).await;
    assert!(text.starts_with("`./run.sh` printed more than 8 MiB"), "{text}");
}

#[tokio::test]
async fn an_executable_that_never_ends_is_killed_with_its_children() {
    let script = "sleep 1000 & echo $! $$ >&2; wait";
    let mut proxy = running(script, ", timeout = 0.5").await;
    let text = proxy.fault("run", json!({})).await;
    let ids = text.strip_prefix("`./run.sh` did not finish within 0.5 s (timeout): ").expect("a timeout");
    for id in ids.split(' ') {
        is_gone(id.parse().expect("a process id"), proxy.client.stderr()).await;
    }
}

#[tokio::test]
async fn children_that_stay_hold_nothing_up() {
    let mut proxy = running("sleep 1000 & echo $!", ", timeout = 600").await;
    let id = proxy.data("run", json!({})).await["result"].to_string();
    is_gone(id.parse().expect("a process id"), proxy.client.stderr()).await;
}

#[tokio::test]
async fn a_cancelled_call_ends_its_executable() {
    let mut proxy = running("sleep 1000 & echo $! $$ > ids.tmp; mv ids.tmp ids; wait", ", timeout = 600").await;
    let id = proxy.client.begin("tools/call", r#"{"name":"run","arguments":{}}"#).await;
    let ids = proxy.world.directory.appearing("tools/ids", proxy.client.stderr()).await;
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    for id in ids.split_whitespace() {
        is_gone(id.parse().expect("a process id"), proxy.client.stderr()).await;
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_run_says_what_to_do() {
    let extension = runs("command([\"./run.sh\"])", "\"./run.sh\"");
    let world = with_executables(&extension, &[]);
    let file = world.directory.path().join("tools/run.sh");
    let mut proxy = started(world).await;
    let missing = "`./run.sh` not found in the extension's folder";
    proxy.client.stderr().line(missing).await;
    assert!(proxy.fault("run", json!({})).await.contains(missing));

    // Every call looks again, so a cure works at once.
    std::fs::write(&file, "#!/bin/sh\necho ran\n").expect("it can be written");
    let text = proxy.fault("run", json!({})).await;
    assert!(text.contains("`./run.sh` is not executable; run `chmod +x run.sh`"), "{text}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    assert_eq!(proxy.text("run", json!({})).await, "ran");

    std::fs::write(&file, "#!/no/such/shell\n").expect("it can be written");
    let text = proxy.fault("run", json!({})).await;
    assert!(text.contains("the interpreter in its first line was not found"), "{text}");

    std::fs::remove_file(&file).expect("it is there");
    symlink("/bin/true", &file).expect("a link");
    let text = proxy.fault("run", json!({})).await;
    assert!(text.contains("`./run.sh` leads out of the extension's folder"), "{text}");
}

#[tokio::test]
async fn the_example_made_of_shell_scripts_works() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/extensions");
    let config = Config::new().section(&format!("extensions: {{ paths: [{:?}] }}", format!("{folder}/disk.star")));
    let world = Proxy::new(&config);
    world.run(["test", &format!("{folder}/disk_test.star")]).await.expect(0);
    let mut proxy = started(world).await;
    assert!(proxy.data("free_space", json!({})).await["size_kib"].as_u64().is_some_and(|size| size > 0));
    let params = r#"{"name":"largest_files","arguments":{"folder":"disk","count":2},"_meta":{"progressToken":"t"}}"#;
    let answer = proxy.client.request("tools/call", params).await;
    assert_eq!(answer.text().lines().count(), 2, "{}", answer.raw);
    let messages: Vec<Value> =
        proxy.client.unclaimed().map(|message| message.value()["params"]["message"].clone()).collect();
    assert_eq!(messages, ["measuring files", "sorting"]);
}

#[tokio::test]
async fn a_command_that_is_not_declared_or_makes_no_sense_is_refused_with_its_line() {
    for (handler, allowed, expected) in [
        ("command([\"./run.sh\"])", "", "add `allowed_exec = [\"./run.sh\"]`"),
        ("command([\"./run.sh\"])", "\"./other.sh\"", "`allowed_exec` of the extension has \"./other.sh\""),
        ("command([\"/bin/sh\"])", "\"/bin/sh\"", "is not in the folder of the extension"),
        ("command([\"../run.sh\"])", "\"../run.sh\"", "is not in the folder of the extension"),
        ("command([])", "", "takes a list whose first element is the executable"),
        ("command([\"./{name}\"], stdin = \"none\")", "", "a call must not choose the executable"),
        ("command([\"./x\", \"{nane}\"], stdin = \"none\")", "\"./x\"", "did you mean `{name}`?"),
        ("command([\"./x\"], stdin = \"lines\")", "\"./x\"", "`stdin` of command() is `lines`"),
        ("command([\"./x\"], timeout = 0)", "\"./x\"", "`timeout` must be a number of seconds above 0"),
    ] {
        let said = refused(&[("x.star", &runs(handler, allowed))]).await;
        assert!(said.contains(expected) && said.contains("tools/x.star:"), "{handler}\n{said}");
    }
}

#[tokio::test]
async fn tests_answer_for_executables() {
    let extension = format!("run = command([\"./run.sh\", \"-v\"])\n{}", runs("run", "\"./run.sh\""));
    let test = r#"
load("one", "run")

def test_answers():
    commands = testing.exec({"./run.sh -v": ['{"a": 1}', {"exit_code": 2, "stderr": "broken"}]})
    extension = testing.extension("one.star")
    testing.eq(unwrap(extension.call("run", {"name": "Ann"})), {"a": 1})
    testing.eq(json.decode(commands.requests()[0]["stdin"]), {"name": "Ann"})
    result = extension.call("run", {})
    testing.is_true(result["isError"])
    testing.eq(result["content"][0]["text"], "`./run.sh` failed with exit code 2: broken")

def test_a_handler_is_a_function():
    testing.exec({"./run.sh *": "plain"})
    testing.eq(run({"name": "Ann"}), "plain")

def test_the_executable_itself():
    testing.eq(run({"name": "Ann"}), {"name": "Ann"})
"#;
    let proxy = with_executables(&extension, &[("run.sh", "cat")]).file("tools/one_test.star", test);
    let finished = proxy.run(["test", "tools"]).await.expect(0);
    assert!(finished.stdout.contains("3 tests, all passed"), "{}", finished.stdout);
}
