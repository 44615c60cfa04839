//! Several clients whose servers move into one config of the proxy, and that leave it in any order.

use super::{exists, read, records, run_on_full_disk, world};
use crate::support::proxy::Proxy;

const CONFIG: &str = "home/.config/starlark-mcp-proxy/proxy.yaml";

/// Clients with a server each.
const CLIENTS: [(&str, &str, &str); 4] = [
    ("cursor", "home/.cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "a", "env": {"KEY": "s3cret-a"}}}}"#),
    ("windsurf", "home/.codeium/windsurf/mcp_config.json", r#"{"mcpServers": {"b": {"command": "b"}}}"#),
    ("gemini", "home/.gemini/settings.json", r#"{"mcpServers": {"c": {"command": "c"}}}"#),
    ("codex", "home/.codex/config.toml", "[mcp_servers.d]\ncommand = \"d\"\n"),
];

/// A home in which the servers of all of them have moved.
async fn moved(config: Option<&str>) -> Proxy {
    let mut proxy = world();
    if let Some(config) = config {
        proxy = proxy.file(CONFIG, config);
    }
    for (client, place, text) in CLIENTS {
        proxy = proxy.file(place, text);
        proxy.run(["install", client, "--import", "--yes"]).await.expect(0);
    }
    proxy
}

/// What is left of imports that were noted.
fn noted(proxy: &Proxy) -> usize {
    let folder = proxy.directory.path().join("home/.local/state/starlark-mcp-proxy/imported");
    folder.read_dir().map_or(0, Iterator::count)
}

#[tokio::test]
async fn the_last_one_that_leaves_gives_the_config_back() {
    let own = "# mine\nmcpServers:\n  own: {command: own}\n";
    for (order, before) in
        [([0, 1, 2, 3], None), ([3, 2, 1, 0], Some(own)), ([1, 3, 0, 2], None), ([2, 0, 3, 1], Some(own))]
    {
        let proxy = moved(before).await;
        let full = read(&proxy, CONFIG);
        for (index, client) in order.into_iter().enumerate() {
            let (name, place, text) = CLIENTS[client];
            let said = proxy.run(["uninstall", name, "--yes"]).await.expect(0).stderr;
            assert_eq!(read(&proxy, place), text);
            if index < 3 {
                assert!(said.contains("keeps the servers, because "), "{order:?}: {said}");
                assert_eq!(read(&proxy, CONFIG), full, "others use it");
            } else {
                let state = if before.is_some() { "is as it was before\n" } else { "is removed, as before" };
                assert!(said.contains(state) && !said.contains("still has"), "{order:?}: {said}");
            }
        }
        assert_eq!(exists(&proxy, CONFIG).then(|| read(&proxy, CONFIG)).as_deref(), before, "{order:?}");
        assert_eq!((records(&proxy), noted(&proxy)), (0, 0));
    }
}

#[tokio::test]
async fn a_client_that_moved_nothing_can_be_the_last() {
    let (cursor, place, text) = CLIENTS[0];
    let proxy = world().file(place, text);
    proxy.run(["install", cursor, "--import", "--yes"]).await.expect(0);
    proxy.run(["install", "zed", "--yes"]).await.expect(0);
    let said = proxy.run(["uninstall", cursor, "--yes"]).await.expect(0).stderr;
    assert!(said.contains("keeps the servers, because Zed uses it"), "{said}");
    proxy.run(["uninstall", "zed", "--yes"]).await.expect(0);
    assert!(!exists(&proxy, CONFIG) && noted(&proxy) == 0);
}

#[tokio::test]
async fn a_client_that_was_there_before_the_config_uses_it_as_long_as_it_has_its_entry() {
    let (cursor, place, text) = CLIENTS[0];
    for is_removed_by_hand in [false, true] {
        let mut proxy = world().file(place, text);
        proxy.run(["install", "zed", "--yes"]).await.expect(0);
        proxy.run(["install", cursor, "--import", "--yes"]).await.expect(0);
        if is_removed_by_hand {
            proxy = proxy.file("home/.config/zed/settings.json", "{}\n");
        }
        let said = proxy.run(["uninstall", cursor, "--yes"]).await.expect(0).stderr;
        let is_kept = said.contains("keeps the servers, because Zed uses it");
        assert_eq!((is_kept, exists(&proxy, CONFIG)), (!is_removed_by_hand, !is_removed_by_hand), "{said}");
        if !is_removed_by_hand {
            proxy.run(["uninstall", "zed", "--yes"]).await.expect(0);
            assert!(!exists(&proxy, CONFIG) && noted(&proxy) == 0);
        }
    }
}

#[tokio::test]
async fn the_clients_of_a_project_share_its_config_whichever_came_first() {
    let proxy = world().file(".cursor/mcp.json", CLIENTS[0].2);
    let project = ["--scope", "project", "--yes"];
    proxy.run(["install", "vscode"].into_iter().chain(project)).await.expect(0);
    proxy.run(["install", "cursor", "--import"].into_iter().chain(project)).await.expect(0);
    let said = proxy.run(["uninstall", "cursor"].into_iter().chain(project)).await.expect(0).stderr;
    assert!(said.contains("keeps the servers, because VS Code uses it") && exists(&proxy, "proxy.yaml"), "{said}");
    proxy.run(["uninstall", "vscode"].into_iter().chain(project)).await.expect(0);
    assert!(!exists(&proxy, "proxy.yaml"));
}

#[tokio::test]
async fn a_config_that_could_not_be_given_back_is_given_back_later() {
    let (cursor, place, text) = CLIENTS[0];
    let before = format!("# {}\nmcpServers:\n  own: {{command: own}}\n", "long".repeat(10_000));
    let proxy = world().file(CONFIG, &before).file(place, text);
    proxy.run(["install", cursor, "--import", "--yes"]).await.expect(0);
    // The client's file is small enough, and the config is not.
    let failed = run_on_full_disk(&proxy, 8, &["uninstall", cursor, "--yes"]).await.expect(1).stderr;
    assert!(failed.contains("File too large") && failed.contains("still has the imported servers"), "{failed}");
    assert_eq!((read(&proxy, place).as_str(), noted(&proxy)), (text, 1));
    assert_ne!(read(&proxy, CONFIG), before);
    let said = proxy.run(["uninstall", cursor, "--yes"]).await.expect(0).stderr;
    assert!(said.contains("is as it was before\n"), "{said}");
    assert_eq!((read(&proxy, CONFIG), noted(&proxy)), (before, 0));
}

#[tokio::test]
async fn servers_and_secrets_that_stay_in_a_changed_config_are_named() {
    let proxy = moved(None).await;
    let changed = read(&proxy, CONFIG) + "# a remark\n";
    let proxy = proxy.file(CONFIG, &changed);
    let mut said = String::new();
    for (client, ..) in CLIENTS {
        assert!(!said.contains("no client uses"), "{said}");
        said = proxy.run(["uninstall", client, "--yes"]).await.expect(0).stderr;
    }
    assert!(said.contains("it still has what was imported: `a`, `b`, `c`, `d`\n"), "{said}");
    assert!(said.contains("secrets are in it as plain text: a: env KEY\n"), "{said}");
    assert!(!said.contains("s3cret") && !said.contains("as it was before"), "{said}");
    assert_eq!(read(&proxy, CONFIG), changed);
}

#[tokio::test]
async fn a_config_that_was_edited_between_two_imports_loses_the_later_one_and_names_the_rest() {
    let proxy = world();
    let mut proxy = proxy.file(CLIENTS[0].1, CLIENTS[0].2).file(CLIENTS[1].1, CLIENTS[1].2);
    let mut edited = String::new();
    for (client, ..) in &CLIENTS[..2] {
        proxy.run(["install", client, "--import", "--yes"]).await.expect(0);
        if edited.is_empty() {
            edited = read(&proxy, CONFIG) + "# a remark\n";
            proxy = proxy.file(CONFIG, &edited);
        }
    }
    proxy.run(["uninstall", CLIENTS[0].0, "--yes"]).await.expect(0);
    let said = proxy.run(["uninstall", CLIENTS[1].0, "--yes"]).await.expect(0).stderr;
    assert_eq!(read(&proxy, CONFIG), edited);
    assert!(said.contains("is as it was before the last import\n"), "{said}");
    assert!(said.contains("it still has what was imported: `a`\n"), "{said}");
}
