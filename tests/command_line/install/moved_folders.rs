//! Clients whose files are elsewhere, because a variable of theirs says so.

use super::{exists, read, world};

#[tokio::test]
async fn the_entry_goes_to_the_folder_that_the_clients_variable_names() {
    for (client, title, variable, file, usual) in [
        ("codex", "Codex", "CODEX_HOME", "moved/config.toml", "home/.codex"),
        ("claude-code", "Claude Code", "CLAUDE_CONFIG_DIR", "moved/.claude.json", "home/.claude.json"),
    ] {
        let proxy = world();
        let folder = proxy.directory.path().join("moved").display().to_string();
        let proxy = proxy.environment(variable, &folder);
        proxy.run(["install", client, "--yes"]).await.expect(0);
        assert!(read(&proxy, file).contains("serve") && !exists(&proxy, usual), "{client}");
        let healthy = proxy.run(["doctor"]).await.stdout;
        assert!(healthy.contains(&format!("1 client: {title}")), "{healthy}");
        proxy.run(["uninstall", client, "--yes"]).await.expect(0);
        assert!(!exists(&proxy, file), "{client}");
    }
}

#[tokio::test]
async fn servers_are_imported_from_there() {
    let servers = "[mcp_servers.notes]\ncommand = \"notes\"\n";
    let other = "[mcp_servers.other]\ncommand = \"other\"\n";
    let proxy = world().file("moved/config.toml", servers).file("home/.codex/config.toml", other);
    // As a shell has it that is in the same folder.
    let proxy = proxy.environment("CODEX_HOME", "moved");
    proxy.run(["init", "--from", "codex", "--yes", "--force"]).await.expect(0);
    let written = read(&proxy, "proxy.yaml");
    assert!(written.contains("notes") && !written.contains("other"), "{written}");
    // An empty variable is none.
    let proxy = proxy.environment("CODEX_HOME", "");
    proxy.run(["init", "--from", "codex", "--yes", "--force"]).await.expect(0);
    assert!(read(&proxy, "proxy.yaml").contains("other"));
}
