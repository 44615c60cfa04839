use super::empty;
use crate::support::programs::fake_backend;
use crate::support::terminal::typed;

const CLAUDE: &str = r#"{"globalShortcut": "x", "mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "my files"], "env": {"KEY": "s3cret-1"}}}}"#;
const CURSOR: &str = r#"{"mcpServers": {
  // comments are fine
  "docs": {"url": "https://docs.example.com/mcp", "headers": {"Authorization": "Bearer ${env:DOCS}"}, "autoApprove": ["x"]}}}"#;
const VS_CODE: &str = r#"{"inputs": [{"id": "gh-token", "type": "promptString"}], "servers": {
  "owner/gh": {"type": "stdio", "command": "gh-mcp", "env": {"TOKEN": "${input:gh-token}"}}}}"#;

#[tokio::test]
async fn it_writes_a_commented_file_that_is_valid() {
    let proxy = empty();
    let done = proxy.run(["init"]).await.expect(0);
    assert_eq!(
        done.stderr,
        "wrote proxy.yaml and proxy.schema.json for editors. Next: `proxy check`, then `proxy serve`\n"
    );
    let text = std::fs::read_to_string(proxy.directory.path().join("proxy.yaml")).unwrap();
    let begin = "# yaml-language-server: $schema=proxy.schema.json\n# Proxy config.";
    assert!(text.starts_with(begin), "{text}");
    let schema = std::fs::read_to_string(proxy.directory.path().join("proxy.schema.json")).unwrap();
    assert_eq!(schema, proxy.run(["config-schema"]).await.expect(0).stdout);
    proxy.run(["check"]).await.expect(0);
}

#[tokio::test]
async fn it_does_not_overwrite_unless_told() {
    let proxy = empty().file("proxy.yaml", "# mine\n");
    let refused = proxy.run(["init"]).await.expect(1);
    assert_eq!(
        refused.stderr,
        "error: `proxy.yaml` already exists\n |\n = hint: use --force to overwrite it, or --output FILE to write another file\n"
    );
    let text = || std::fs::read_to_string(proxy.directory.path().join("proxy.yaml")).unwrap();
    assert_eq!(text(), "# mine\n");
    proxy.run(["init", "--output", "other.yaml"]).await.expect(0);
    assert_eq!(text(), "# mine\n");
    proxy.run(["init", "--force"]).await.expect(0);
    assert_ne!(text(), "# mine\n");
}

#[tokio::test]
async fn it_shows_what_an_imported_file_would_start_and_asks() {
    let proxy = empty().file("claude.json", CLAUDE);
    let asked = proxy.run(["init", "--from", "claude.json"]).await.expect(2);
    assert_eq!(
        asked.stderr,
        "\
this config starts or connects to:
  files: npx -y @modelcontextprotocol/server-filesystem \"my files\"  (sets KEY)
error: standard input is not a terminal: pass --yes to accept these commands
"
    );
    assert!(!proxy.directory.path().join("proxy.yaml").exists());
}

#[tokio::test]
async fn it_imports_the_files_of_other_clients() {
    for (text, shown, server) in [
        (CLAUDE, "  files: npx -y @modelcontextprotocol/server-filesystem \"my files\"  (sets KEY)\n", "files"),
        (CURSOR, "  docs: https://docs.example.com/mcp  (sends Authorization)\n", "docs"),
        (VS_CODE, "  owner-gh: gh-mcp  (sets TOKEN)\n", "owner-gh"),
    ] {
        let proxy = empty().file("client.json", text).environment("DOCS", "d").environment("GH_TOKEN", "t");
        let done = proxy.run(["init", "--from", "client.json", "--yes"]).await.expect(0);
        assert!(done.stderr.contains(shown), "{}", done.stderr);
        let checked = proxy.run(["check"]).await.expect(0);
        assert!(checked.stdout.contains(&format!("\n{server} ")), "{}", checked.stdout);
    }
}

#[tokio::test]
async fn values_that_only_the_client_has_are_named_before_the_question() {
    let servers = r#"{"servers": {"git": {"command": "git-mcp", "args": ["${workspaceFolder}/repo"]},
        "gh": {"command": "gh-mcp", "env": {"TOKEN": "${input:gh-token}"}}}}"#;
    let proxy = empty().file("client.json", servers);
    let here = proxy.directory.path().canonicalize().expect("it is there").display().to_string();
    let asked = proxy.run(["init", "--from", "client.json"]).await.expect(2).stderr;
    for told in [
        format!("warning: `git` is the same for every workspace now: `${{workspaceFolder}}` is {here}\n"),
        format!("  git: git-mcp {here}/repo\n"),
        "warning: `gh` needs the environment variable GH_TOKEN: VS Code prompts for it\n".to_owned(),
    ] {
        assert!(asked.contains(&told), "{told} is not in {asked}");
    }
    let done = proxy.run(["init", "--from", "client.json", "--yes"]).await.expect(0).stderr;
    assert!(done.contains("Next: set GH_TOKEN, then `proxy check`"), "{done}");
    let set = proxy.environment("GH_TOKEN", "x");
    let done = set.run(["init", "--from", "client.json", "--yes", "--force"]).await.expect(0).stderr;
    assert!(!done.contains("GH_TOKEN") && done.contains("Next: `proxy check`"), "{done}");
    set.run(["check"]).await.expect(0);
}

#[tokio::test]
async fn a_check_of_a_new_config_says_how_to_add_a_server() {
    let proxy = empty();
    proxy.run(["init"]).await.expect(0);
    let told = proxy.run(["check", "--strict"]).await.expect(0).stderr;
    assert!(
        told.contains("no server is configured yet") && told.contains("`proxy init --from CLIENT --force`"),
        "{told}"
    );
    let configured = proxy.file("proxy.yaml", "mcpServers:\n  a: {command: sh}\n");
    let told = configured.run(["check"]).await.expect(0).stderr;
    assert!(!told.contains("no server"), "{told}");
}

#[tokio::test]
async fn what_has_no_meaning_here_is_said() {
    let proxy = empty().file("client.json", CURSOR);
    let done = proxy.run(["init", "--from", "client.json", "--yes"]).await.expect(0);
    assert!(
        done.stderr.contains("warning: `docs.autoApprove` was not imported: the proxy does not ask"),
        "{}",
        done.stderr
    );
    let none = proxy.run(["init", "--from", "none.json", "--output", "x.yaml"]).await.expect(2);
    assert!(none.stderr.starts_with("error: cannot read `none.json`: "), "{}", none.stderr);
}

#[tokio::test]
async fn secrets_in_arguments_are_not_shown() {
    let proxy = empty().file(
        "client.json",
        r#"{"mcpServers": {"a": {"command": "run", "args": ["--api-key", "s3cret", "TOKEN=s3cret", "--verbose"]}}}"#,
    );
    let done = proxy.run(["init", "--from", "client.json", "--yes"]).await.expect(0);
    assert!(done.stderr.contains("  a: run --api-key *** TOKEN=*** --verbose\n"), "{}", done.stderr);
    let written = std::fs::read_to_string(proxy.directory.path().join("proxy.yaml")).unwrap();
    assert!(written.contains("s3cret"), "{written}");
}

#[tokio::test]
async fn it_ends_with_the_offer_to_start_each_server_once() {
    let server = fake_backend(["--only", "echo"]);
    let arguments: Vec<_> = server.get_args().map(|argument| argument.to_string_lossy()).collect();
    let entry = serde_json::json!({"command": server.get_program().to_string_lossy(), "args": arguments});
    let client = serde_json::json!({"mcpServers": {"fake": entry}}).to_string();
    for (keys, started) in [("y\n\n", true), ("y\nn\n", false)] {
        let proxy = empty().file("client.json", &client);
        let done = typed(proxy.command(["init", "--from", "client.json"]), keys).await.expect(0);
        assert!(done.stderr.contains("start each server once now"), "{}", done.stderr);
        assert_eq!(done.stdout.contains("ready"), started, "{}", done.stdout);
        let cached = proxy.directory.path().join("cache/starlark-mcp-proxy");
        assert_eq!(cached.read_dir().map_or(0, Iterator::count) > 0, started);
    }
    let proxy = empty().file("client.json", &client);
    let done = proxy.run(["init", "--from", "client.json", "--yes"]).await.expect(0);
    assert!(done.stderr.ends_with("so that the first client gets all tools at once\n"), "{}", done.stderr);
}

#[tokio::test]
async fn a_schema_of_somebody_else_is_kept() {
    let proxy = empty().file("proxy.schema.json", "{}");
    let done = proxy.run(["init"]).await.expect(0);
    assert_eq!(done.stderr, "wrote proxy.yaml. Next: `proxy check`, then `proxy serve`\n");
    assert_eq!(std::fs::read_to_string(proxy.directory.path().join("proxy.schema.json")).unwrap(), "{}");
    let json = proxy.run(["init", "--output", "other.json"]).await.expect(2);
    assert!(json.stderr.contains("`proxy init` writes YAML"), "{}", json.stderr);
}
