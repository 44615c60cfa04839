//! What servers say cannot move the cursor of a terminal, hide itself or pass for a line of the log.

use serde_json::json;

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::terminal::on_a_terminal;

/// Clears the screen, sets the title, returns to the start of the line, and turns the rest of the line around.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;mine\u{7}\rgood \u{202e}live";
const VISIBLE: &str = "\\u{1b}[2J\\u{1b}]0;mine\\u{7}\\u{d}good \\u{202e}live";

/// A server with a hostile tool, and one that answers with what it is given.
fn world() -> Proxy {
    let proxy = Proxy::with_config_text("");
    let schema = json!({"type": "object", "properties": {"which": {"type": "string", "description": HOSTILE}}});
    let hidden = json!({"name": "evil\u{202e}", "description": HOSTILE, "inputSchema": schema});
    let tools = json!([{"name": "evil", "description": HOSTILE, "inputSchema": schema}, hidden]);
    let file = proxy.directory.write("tools.json", &tools.to_string());
    let command = fake_backend(["--tools", file.to_str().expect("a path"), "--builtin", "--only", "raw"]);
    proxy.directory.write("proxy.yaml", &Config::new().server("desk", &command).text());
    proxy
}

fn check(what: &str, text: &str) {
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{what}: {text:?}");
}

#[tokio::test]
async fn tables_types_and_messages_show_it() {
    let proxy = world();
    for (command, shows) in [
        (vec!["list-tools"], VISIBLE),
        (vec!["list-tools", "--all"], VISIBLE),
        (vec!["find", "evil good"], VISIBLE),
        (vec!["types"], "good \\u{202e}live"),
        (vec!["types", "--lang", "star"], "\\u{202e}"),
        (vec!["check", "--live"], "its name `evil\\u{202e}` has invisible characters"),
        (vec!["call", "evil\u{202e}"], "evil\\u{202e}"),
    ] {
        let finished = proxy.run(command.clone()).await;
        let text = finished.stdout + &finished.stderr;
        check(&command.join(" "), &text);
        assert!(!text.contains('\r') && text.contains(shows), "{command:?}: {text:?}");
    }
}

#[tokio::test]
async fn a_terminal_gets_the_result_of_a_tool_harmless_and_a_pipe_as_it_is() {
    let proxy = world();
    let result =
        json!({"result": {"content": [{"type": "text", "text": HOSTILE}], "structuredContent": {"x": HOSTILE}}});
    let arguments = result.to_string();
    let command = || proxy.command(["call", "raw", "--args", &arguments]);
    let piped = Finished::run(command()).await.expect(0);
    assert_eq!(piped.stdout, format!("{HOSTILE}\n"));
    let Some(terminal) = on_a_terminal(&command(), 200) else { return };
    let seen = Finished::run(terminal).await.expect(0).stdout;
    assert!(seen.contains(VISIBLE) && !seen.contains(['\u{7}', '\u{202e}']), "{seen:?}");
    let json = proxy.command(["call", "raw", "--json", "--args", &arguments]);
    let Some(terminal) = on_a_terminal(&json, 200) else { return };
    let seen = Finished::run(terminal).await.expect(0).stdout;
    assert!(seen.contains("good \\u202elive") && !seen.contains('\u{202e}'), "{seen:?}");
}

#[tokio::test]
async fn no_text_of_a_client_passes_for_a_line_of_the_log() {
    let script = "def handler(args):\n    log('heard', said = args['said'])\n    print(args['said'])\n    fail(args['said'])\n\
                  publish(metadata('hear', '', {}, {}), handler)\n";
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = Proxy::new(&config).file("policy.star", script).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let forged = format!("x\n2026-01-01T00:00:00.000Z ERROR audit: forged{HOSTILE}");
    proxy.client.call("hear", &json!({"said": forged}).to_string()).await;
    // The handler's failure is logged last.
    proxy.client.stderr().line("item=hear").await;
    let log = proxy.client.stderr().text();
    assert!(log.contains("forged"), "{log}");
    assert!(!log.lines().any(|line| line.starts_with("2026-01-01T00")), "{log}");
    check("log", &log);
}
