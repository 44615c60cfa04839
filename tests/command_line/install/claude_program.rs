//! Claude Code's own program makes the changes in its file.

use super::{empty, exists, read};
use crate::support::proxy::Proxy;

/// A `claude` that knows two commands, and writes the file in a form of its own.
const CLAUDE: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/claude.log"
[ "$1 $3 $4" = "mcp --scope user" ] || exit 3
case $2 in
  add-json) printf '{"numStartups":1,"mcpServers":{"%s":%s}}' "$5" "$6" > "$HOME/.claude.json" ;;
  remove) printf '{"numStartups":1,"mcpServers":{}}' > "$HOME/.claude.json" ;;
  *) exit 4 ;;
esac
"#;

fn world(program: &str) -> Proxy {
    let proxy = empty().executable("bin/claude", program);
    let bin = proxy.directory.path().join("bin");
    proxy.environment("PATH", &format!("{}:/usr/bin:/bin", bin.display()))
}

#[tokio::test]
async fn the_program_adds_and_removes_the_entry() {
    let proxy = world(CLAUDE).file("home/.claude.json", "{\"numStartups\": 1}\n");
    proxy.run(["install", "claude-code", "--yes"]).await.expect(0);
    assert!(read(&proxy, "home/.claude.json").contains("\"serve\""));
    proxy.run(["uninstall", "claude-code", "--yes"]).await.expect(0);
    assert_eq!(read(&proxy, "home/.claude.json"), "{\"numStartups\": 1}\n", "nobody else has changed it");
    proxy.run(["install", "claude-code", "--yes"]).await.expect(0);
    let changed = read(&proxy, "home/.claude.json").replace(":1,", ":2,");
    let proxy = proxy.file("home/.claude.json", &changed);
    proxy.run(["uninstall", "claude-code", "--yes"]).await.expect(0);
    let log = read(&proxy, "home/claude.log");
    assert!(log.ends_with("mcp remove --scope user proxy\n"), "{log}");
    assert!(!read(&proxy, "home/.claude.json").contains("serve"));
}

#[tokio::test]
async fn a_program_that_fails_is_told_with_what_it_said() {
    let proxy = world("#!/bin/sh\necho 'not today' >&2\nexit 1\n").file("home/.claude.json", "{}");
    let failed = proxy.run(["install", "claude-code", "--yes"]).await.expect(1).stderr;
    assert!(failed.contains("mcp add-json` failed") && failed.contains("not today"), "{failed}");
    assert_eq!(read(&proxy, "home/.claude.json"), "{}");
    assert!(!exists(&proxy, "home/.local/state/starlark-mcp-proxy/installed/claude-code"));
    let proxy = world("#!/bin/sh\nexit 0\n").file("home/.claude.json", "{}");
    let silent = proxy.run(["install", "claude-code", "--yes"]).await.expect(1).stderr;
    assert!(silent.contains("wrote no such entry"), "{silent}");
}
