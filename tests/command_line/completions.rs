//! What a shell offers when somebody presses Tab, in real shells. Nothing is started for it.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::empty;
use crate::support::config::Config;
use crate::support::programs::{self, fake_backend};
use crate::support::proxy::Proxy;

/// A server whose lists are known and which notes each start, an extension, and another config with a server whose names a
/// shell must quote.
async fn seen() -> Proxy {
    let proxy = Proxy::with_config_text("");
    let started = proxy.directory.path().join("started");
    let mut server = Command::new("sh");
    server.args(["-c", &format!("echo once more >>'{}'; exec \"$@\"", started.display()), "sh"]);
    let fake = fake_backend(["--only", "echo,search", "--prompts", "--resources"]);
    server.arg(fake.get_program()).args(fake.get_args());
    let config = Config::new().server("one", &server).section("extensions: { paths: [x.star] }");
    let proxy = proxy
        .file("proxy.yaml", &config.text())
        .file("x.star", "def describe_extension():\n    return Extension(name = 'x', version = '1', tools = [Tool(name = 'ours', description = 'One of\\nours', handler = print, parameters = [ToolParameter(name = 'text', param_type = 'string'), ToolParameter(name = 'loud', param_type = 'boolean')])])\n");
    let names = ["two words", "$(touch hacked)", "bad\u{202e}name", "it's", "--json"];
    let tools: Vec<Value> = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    let tools = proxy.directory.write("odd.json", &json!(tools).to_string());
    let odd = Config::new().server("odd", &fake_backend(["--tools", &tools.display().to_string()]));
    let proxy = proxy.file("odd.yaml", &odd.text());
    proxy.run(["check", "--live", "odd.yaml"]).await.expect(0);
    proxy.run(["check", "--live"]).await.expect(0);
    proxy
}

fn starts(proxy: &Proxy) -> usize {
    std::fs::read_to_string(proxy.directory.path().join("started")).expect("it was started").lines().count()
}

/// Runs a script of a shell in the world of the proxy, which is on the path. `None` if the shell is not installed.
fn run(proxy: &Proxy, shell: &str, script: &str) -> Option<String> {
    let folder = programs::proxy().get_program().to_owned();
    let folder = std::path::Path::new(&folder).parent().expect("it is in a folder").to_owned();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let like = proxy.command([]);
    let mut command = Command::new(shell);
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command
        .args(if shell == "zsh" { &["-f", "-c"][..] } else { &["-c"][..] })
        .arg(script)
        .env("PATH", path)
        .current_dir(proxy.directory.path())
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(_) => {
            // Written directly, because the test runner hides what a passing test prints.
            let _ = writeln!(std::io::stderr(), "skipped: {shell} is not installed");
            None
        }
    }
}

/// What bash would insert for a line whose words it splits as it does.
fn bash(proxy: &Proxy, line: &str) -> Vec<String> {
    let script = format!(
        "source <(proxy completions bash)\nCOMP_LINE={line}\nCOMP_POINT=${{#COMP_LINE}}\n_proxy\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        line = quoted(line)
    );
    let shown = run(proxy, "bash", &script).expect("bash is installed");
    shown.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[tokio::test]
async fn bash_offers_what_the_last_known_lists_have() {
    let proxy = seen().await;
    let before = starts(&proxy);
    assert_eq!(bash(&proxy, "proxy call "), ["echo", "search", "ours"]);
    assert_eq!(bash(&proxy, "proxy call se"), ["search"]);
    assert_eq!(bash(&proxy, "proxy list-tools "), ["one", "x"]);
    assert_eq!(bash(&proxy, "proxy call ours "), ["text=", "loud=true", "loud=false"]);
    // Bash replaces what is behind the last `=`.
    assert_eq!(bash(&proxy, "proxy call ours text=a loud=t"), ["true"]);
    assert_eq!(bash(&proxy, "proxy call ours loud=true "), ["text="]);
    assert_eq!(bash(&proxy, "proxy prompt ").len(), 1);
    assert_eq!(bash(&proxy, "proxy show-preset def"), ["default@1"]);
    assert!(bash(&proxy, "proxy li").contains(&"list-tools".to_owned()));
    assert!(bash(&proxy, "proxy call --conf").contains(&"--config".to_owned()));
    // Bash replaces what is behind the last colon.
    let resources = bash(&proxy, "proxy read memo:");
    assert!(!resources.is_empty() && resources.iter().all(|uri| uri.starts_with("//")), "{resources:?}");
    // The config that the line names decides, and no name runs anything or breaks the line.
    assert_eq!(bash(&proxy, "proxy call --config odd.yaml "), ["two\\ words", "\\$\\(touch\\ hacked\\)", "it\\'s"]);
    assert_eq!(bash(&proxy, "proxy call --config odd.yaml \"tw"), ["two words"]);
    assert!(!proxy.directory.path().join("hacked").exists());
    assert_eq!(starts(&proxy), before, "nothing is started for a completion");
}

#[tokio::test]
async fn a_broken_config_offers_no_tools_and_says_nothing() {
    let proxy = Proxy::with_config_text("mcpServers: [\n");
    assert_eq!(bash(&proxy, "proxy call "), [""; 0]);
    assert!(bash(&proxy, "proxy ca").contains(&"call".to_owned()));
    let asked = proxy.run(["completions", "bash", "--", "odd"]).await.expect(2);
    assert!(asked.stderr.starts_with("error: bash passes"), "{}", asked.stderr);
    // No file is meant: the shell completes nothing by itself.
    let files = empty().run(["completions", "fish", "--", "proxy", "check", ""]).await.expect(1);
    assert_eq!((files.stdout.as_str(), files.stderr.as_str()), ("", ""));
}

#[tokio::test]
async fn zsh_offers_the_same() {
    let proxy = seen().await;
    let script = "source <(proxy completions zsh)\ncompadd() { print -rl -- $values; print -rl -- $shown }\nwords=(proxy call ''); CURRENT=3\n_proxy\n";
    if let Some(shown) = run(&proxy, "zsh", script) {
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[..3], ["echo", "search", "ours"], "{shown}");
        assert_eq!(lines[5], "ours  -- One of", "{shown}");
    }
}

#[tokio::test]
async fn fish_offers_the_same() {
    let proxy = seen().await;
    let ask =
        |line: &str| run(&proxy, "fish", &format!("proxy completions fish | source\ncomplete -C {}\n", quoted(line)));
    if let Some(shown) = ask("proxy call ") {
        assert!(shown.contains("echo") && shown.contains("ours\tOne of\n"), "{shown}");
        let quoted = ask("proxy call --config odd.yaml ").expect("fish is installed");
        assert!(quoted.contains("two words") && !quoted.contains("bad"), "{quoted}");
        let files = ask("proxy check odd").expect("fish is installed");
        assert!(files.contains("odd.yaml"), "{files}");
    }
}
