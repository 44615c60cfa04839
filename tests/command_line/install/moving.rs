//! `--import`: the servers of the client move into the proxy's config, and back.

use std::os::unix::fs::PermissionsExt;

use super::{CLIENTS, exists, read, records, world};

const CONFIG: &str = "home/.config/starlark-mcp-proxy/proxy.yaml";

const CURSOR: &str = r#"{
  "mcpServers": {
    // the issues
    "github": {
      "command": "npx",
      "args": ["-y", "server-github", "--api-key", "s3cret-2"],
      "env": { "GITHUB_TOKEN": "s3cret-1", "HOST": "a" } // rotate
    },
    "docs": { "url": "https://docs.example.com/mcp", "headers": { "Authorization": "Bearer ${env:DOCS}" } }
  }
}
"#;

#[tokio::test]
async fn servers_move_into_a_new_config_and_back() {
    let proxy = world().file("home/.cursor/mcp.json", CURSOR);
    let done = proxy.run(["install", "cursor", "--import", "--yes"]).await.expect(0);
    let client = read(&proxy, "home/.cursor/mcp.json");
    assert!(!client.contains("github\"") && !client.contains("docs") && client.contains("serve"), "{client}");
    let config = read(&proxy, CONFIG);
    assert!(config.contains("GITHUB_TOKEN: s3cret-1") && config.contains("Bearer ${DOCS}"), "{config}");
    let mode = proxy.directory.path().join(CONFIG).metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let said = done.stderr.clone() + &done.stdout;
    assert!(said.contains("github: env GITHUB_TOKEN; github: argument --api-key\n"), "{said}");
    assert!(!said.contains("s3cret") && !said.contains("header Authorization"), "{said}");
    assert!(done.stderr.contains("  github: npx -y server-github --api-key ***"), "{said}");
    proxy.run(["uninstall", "cursor", "--yes"]).await.expect(0);
    assert_eq!(read(&proxy, "home/.cursor/mcp.json"), CURSOR);
    assert!(!exists(&proxy, CONFIG) && records(&proxy) == 0);
}

#[tokio::test]
async fn every_clients_servers_move_and_come_back() {
    for client in &CLIENTS {
        // Some have a server with variables of a file.
        let proxy = world().file(client.place, &client.text()).file("home/.env", "A=1\n");
        proxy.run(["install", client.name, "--import", "--yes"]).await.expect(0);
        let config = read(&proxy, CONFIG);
        assert!(config.contains("mcpServers:\n  "), "{}: {config}", client.name);
        // Then somebody else changes the file, so that nothing can be restored as a whole.
        let with = read(&proxy, client.place);
        let is_toml = client.place.ends_with(".toml");
        let changed = if is_toml { format!("x = 1\n{with}") } else { with.replacen('{', "{\"x\": 1,", 1) };
        let proxy = proxy.file(client.place, &changed);
        proxy.run(["uninstall", client.name, "--yes"]).await.expect(0);
        // The same servers as before, by what an import makes of them.
        let before = world().file(client.place, &client.text());
        let after = world().file(client.place, &read(&proxy, client.place));
        let mut imported = Vec::new();
        for world in [&before, &after] {
            let from = world.directory.path().join(client.place);
            let from = from.to_str().expect("it is plain");
            world.run(["init", "--from", from, "--yes"]).await.expect(0);
            let here = world.directory.path().file_name().and_then(|name| name.to_str()).expect("it is plain");
            let yaml = read(world, "proxy.yaml").replace(here, "HERE");
            let mut lines: Vec<String> = yaml.lines().skip(2).map(str::to_owned).collect();
            lines.sort();
            imported.push(lines);
        }
        assert_eq!(imported[0], imported[1], "{}", client.name);
    }
}

#[tokio::test]
async fn servers_are_added_to_a_config_that_exists() {
    let own =
        "# mine\nmcpServers:\n    docs: # first\n        command: docs-mcp\n\n# the rest\nserve: {http: 127.0.0.1:0}\n";
    let proxy = world().file(CONFIG, own).file("home/.cursor/mcp.json", CURSOR);
    let done = proxy.run(["install", "cursor", "--import", "--yes"]).await.expect(0);
    assert!(done.stderr.contains("renamed `docs` to `docs_cursor`"), "{}", done.stderr);
    let config = read(&proxy, CONFIG);
    let begin = "# mine\nmcpServers:\n    docs: # first\n        command: docs-mcp\n    github:\n      command: npx\n";
    assert!(config.starts_with(begin) && config.ends_with("\n# the rest\nserve: {http: 127.0.0.1:0}\n"), "{config}");
    let proxy = proxy.environment("DOCS", "x");
    let listed = proxy.run(["check", "--config", CONFIG]).await.expect(0).stdout;
    assert!(listed.contains("github") && listed.contains("docs_cursor"), "{listed}");
    proxy.run(["uninstall", "cursor", "--yes"]).await.expect(0);
    assert_eq!(read(&proxy, CONFIG), own);
    assert_eq!(read(&proxy, "home/.cursor/mcp.json"), CURSOR);
}

#[tokio::test]
async fn a_config_that_others_use_or_changed_keeps_the_servers() {
    let proxy = world().file("home/.cursor/mcp.json", CURSOR);
    proxy.run(["install", "cursor", "--import", "--yes"]).await.expect(0);
    proxy.run(["install", "windsurf", "--yes"]).await.expect(0);
    let kept = proxy.run(["uninstall", "cursor", "--yes"]).await.expect(0).stderr;
    assert!(kept.contains("keeps the servers") && exists(&proxy, CONFIG), "{kept}");
    assert_eq!(read(&proxy, "home/.cursor/mcp.json"), CURSOR);
}

#[tokio::test]
async fn a_config_that_cannot_take_them_is_left_alone() {
    for own in ["mcpServers: {a: {command: x}}\n", "mcpServers: [\n"] {
        let proxy = world().file(CONFIG, own).file("home/.cursor/mcp.json", CURSOR);
        let refused = proxy.run(["install", "cursor", "--import", "--yes"]).await.expect(2).stderr;
        assert!(refused.contains("proxy.yaml"), "{refused}");
        assert_eq!((read(&proxy, CONFIG).as_str(), records(&proxy)), (own, 0));
        assert_eq!(read(&proxy, "home/.cursor/mcp.json"), CURSOR);
    }
    let proxy = world();
    let none = proxy.run(["install", "cursor", "--import", "--yes"]).await.expect(0).stderr;
    assert!(none.contains("Cursor has no servers to move"), "{none}");
}

#[tokio::test]
async fn servers_that_the_proxy_could_not_start_with_stay_in_the_client() {
    let servers = r#"{"mcpServers": {"a": {"command": "x", "envFile": "/nowhere/s3cret.env"}, "b": {"command": "y"}}}"#;
    let own = "mcpServers:\n  docs: {command: x}\n";
    for before in [None, Some(own)] {
        let mut proxy = world().file("home/.cursor/mcp.json", servers);
        if let Some(before) = before {
            proxy = proxy.file(CONFIG, before);
        }
        for more in ["--dry-run", "--yes"] {
            let refused = proxy.run(["install", "cursor", "--import", more]).await.expect(2).stderr;
            assert!(refused.contains("`mcpServers.a.envFile`: cannot read `/nowhere/s3cret.env`"), "{refused}");
            assert!(refused.contains("nothing was written, and Cursor is as it was"), "{refused}");
        }
        assert_eq!(read(&proxy, "home/.cursor/mcp.json"), servers);
        assert_eq!((exists(&proxy, CONFIG), records(&proxy)), (before.is_some(), 0));
        if before.is_some() {
            assert_eq!(read(&proxy, CONFIG), own);
        }
    }
}
