//! The clients themselves read what was written.

use std::path::Path;
use std::process::Command;

use super::{exists, world};
use crate::support::finished::Finished;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

/// What a client says about its servers. `moved` is the folder that Codex is told to use.
async fn listed(proxy: &Proxy, bin: &Path, client: &str, moved: Option<&Path>) -> String {
    let folder = proxy.directory.directory("work");
    let mut command = Command::new(bin.join(client));
    command.args(["mcp", "list"]).current_dir(folder).env("HOME", proxy.directory.path().join("home"));
    for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CODEX_HOME"] {
        command.env_remove(name);
    }
    command.envs(moved.map(|folder| ("CODEX_HOME", folder)));
    let done = Finished::run(command).await.expect(0);
    done.stdout + &done.stderr
}

#[tokio::test]
#[ignore = "installs three clients from npm"]
async fn the_clients_own_readers_find_the_entry_and_lose_it_again() {
    let Some(bin) = real_servers::mcp_clients() else { return };
    for (client, place) in [
        ("codex", "home/.codex/config.toml"),
        ("gemini", "home/.gemini/settings.json"),
        ("opencode", "home/.config/opencode/opencode.json"),
    ] {
        let proxy = world();
        proxy.run(["install", client, "--name", "our-proxy", "--yes"]).await.expect(0);
        let with = listed(&proxy, &bin, client, None).await;
        assert!(with.contains("our-proxy") && with.contains("serve"), "{client}: {with}");
        proxy.run(["uninstall", client, "--name", "our-proxy", "--yes"]).await.expect(0);
        let without = listed(&proxy, &bin, client, None).await;
        assert!(!without.contains("our-proxy"), "{client}: {without}");
        assert!(!exists(&proxy, place) || client == "opencode", "{client}");
    }
}

#[tokio::test]
#[ignore = "installs three clients from npm"]
async fn codex_finds_the_entry_in_the_folder_that_its_variable_names() {
    let Some(bin) = real_servers::mcp_clients() else { return };
    let proxy = world();
    let folder = proxy.directory.directory("moved");
    let proxy = proxy.environment("CODEX_HOME", &folder.display().to_string());
    proxy.run(["install", "codex", "--name", "our-proxy", "--yes"]).await.expect(0);
    let there = listed(&proxy, &bin, "codex", Some(&folder)).await;
    assert!(there.contains("our-proxy") && there.contains("serve"), "{there}");
    let elsewhere = listed(&proxy, &bin, "codex", None).await;
    assert!(!elsewhere.contains("our-proxy"), "{elsewhere}");
}
