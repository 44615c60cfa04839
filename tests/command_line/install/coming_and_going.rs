//! An entry that comes and goes, and what else is in the file.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::{CLIENTS, exists, read, records, world};
use crate::support::terminal::typed;

#[tokio::test]
async fn every_clients_file_is_the_same_after_install_and_uninstall() {
    for client in &CLIENTS {
        let text = client.text();
        let proxy = world().file(client.place, &text);
        let installed = proxy.run(["install", client.name, "--yes"]).await.expect(0);
        let with = read(&proxy, client.place);
        assert!(with.contains("serve") && with != text, "{}: {with}", client.name);
        assert!(installed.stdout.contains("+++ ") && installed.stderr.contains("proxy uninstall"), "{installed:?}");
        for line in text.lines().filter(|line| line.contains("command")) {
            assert!(with.contains(line.trim_end_matches(',')), "{}: {line} is not in {with}", client.name);
        }
        proxy.run(["uninstall", client.name, "--yes"]).await.expect(0);
        assert_eq!(read(&proxy, client.place), text, "{}", client.name);
        assert_eq!(records(&proxy), 0);
    }
}

#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_stays() {
    for client in &CLIENTS {
        let is_toml = client.place.ends_with(".toml");
        let change = |text: &str| {
            if is_toml { format!("added = 1\n{text}") } else { text.replacen('{', "{\n  \"added\": 1,", 1) }
        };
        let text = client.text();
        let proxy = world().file(client.place, &text);
        proxy.run(["install", client.name, "--yes"]).await.expect(0);
        let changed = change(&read(&proxy, client.place));
        let proxy = proxy.file(client.place, &changed);
        proxy.run(["uninstall", client.name, "--yes"]).await.expect(0);
        assert_eq!(read(&proxy, client.place), change(&text), "{}", client.name);
    }
}

#[tokio::test]
async fn a_file_that_was_not_there_goes_with_its_folders() {
    for client in &CLIENTS {
        let proxy = world();
        proxy.run(["install", client.name, "--yes"]).await.expect(0);
        assert!(read(&proxy, client.place).contains(client.section), "{}", client.name);
        proxy.run(["uninstall", client.name, "--yes"]).await.expect(0);
        assert!(!exists(&proxy, client.place), "{}", client.name);
        let folder = client.place.rsplit_once('/').expect("it is in a folder").0;
        assert!(folder == "home" || !exists(&proxy, folder), "{}", client.name);
    }
}

#[tokio::test]
async fn marks_line_ends_comments_and_commas_stay() {
    let cases = [
        "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"}, // why\r\n\t},\r\n}\r\n",
        "// first\n{ \"mcpServers\": {} /* none */ }",
        "{}",
        "",
    ];
    for text in cases {
        let proxy = world().file("home/.cursor/mcp.json", text);
        proxy.run(["install", "cursor", "--yes"]).await.expect(0);
        let with = read(&proxy, "home/.cursor/mcp.json");
        for part in ["\u{feff}", "// why\r\n", "// first", "/* none */"] {
            assert_eq!(with.contains(part), text.contains(part), "{part:?} in {with}");
        }
        assert_eq!(
            with.matches('\n').count() - with.matches("\r\n").count() > 0,
            !text.contains('\r') && with.contains('\n')
        );
        proxy.run(["uninstall", "cursor", "--yes"]).await.expect(0);
        assert_eq!(read(&proxy, "home/.cursor/mcp.json"), text);
    }
}

#[tokio::test]
async fn a_link_stays_one_and_the_file_behind_it_keeps_its_mode() {
    let proxy = world().file("dotfiles/cursor.json", "{\n  \"mcpServers\": {}\n}\n");
    let here = proxy.directory.path();
    let file = here.join("dotfiles/cursor.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("it is ours");
    std::fs::create_dir_all(here.join("home/.cursor")).expect("a folder can be made");
    let link = here.join("home/.cursor/mcp.json");
    symlink("../../dotfiles/cursor.json", &link).expect("a link can be made");
    proxy.run(["install", "cursor", "--yes"]).await.expect(0);
    assert!(link.is_symlink() && read(&proxy, "dotfiles/cursor.json").contains("serve"));
    assert_eq!(file.metadata().expect("it is there").permissions().mode() & 0o777, 0o640);
    proxy.run(["uninstall", "cursor", "--yes"]).await.expect(0);
    assert!(link.is_symlink());
    assert_eq!(read(&proxy, "dotfiles/cursor.json"), "{\n  \"mcpServers\": {}\n}\n");
}

#[tokio::test]
async fn a_dry_run_and_a_no_write_nothing() {
    let client = &CLIENTS[2];
    let proxy = world().file(client.place, &client.text());
    let shown = proxy.run(["install", "cursor", "--dry-run"]).await.expect(0);
    assert!(shown.stdout.contains("+    \"proxy\": {"), "{}", shown.stdout);
    let asked = typed(proxy.command(["install", "cursor"]), "n\n").await.expect(0);
    assert!(
        asked.stderr.contains("mcp.json? [y/N]") && asked.stderr.contains("nothing was written"),
        "{}",
        asked.stderr
    );
    let unasked = proxy.run(["install", "cursor"]).await.expect(2).stderr;
    assert!(unasked.contains("pass --yes"), "{unasked}");
    assert_eq!((read(&proxy, client.place), records(&proxy)), (client.text(), 0));
    typed(proxy.command(["install", "cursor"]), "y\n").await.expect(0);
    let with = read(&proxy, client.place);
    proxy.run(["uninstall", "cursor", "--dry-run"]).await.expect(0);
    assert_eq!((read(&proxy, client.place), records(&proxy)), (with, 1));
}

#[tokio::test]
async fn installing_again_changes_what_is_different_and_is_undone_as_a_whole() {
    let client = &CLIENTS[2];
    let proxy = world().file(client.place, &client.text()).file("other.yaml", "mcpServers: {}\n");
    proxy.run(["install", "cursor", "--yes"]).await.expect(0);
    let same = proxy.run(["install", "cursor", "--yes"]).await.expect(0);
    assert!(same.stdout.is_empty() && same.stderr.contains("has this entry already"), "{same:?}");
    proxy.run(["install", "cursor", "--yes", "--config", "other.yaml"]).await.expect(0);
    assert!(read(&proxy, client.place).contains("other.yaml\"]"));
    proxy.run(["uninstall", "cursor", "--yes"]).await.expect(0);
    assert_eq!(read(&proxy, client.place), client.text());
}

#[tokio::test]
async fn a_projects_file_is_in_the_project() {
    let proxy = world().file("proxy.yaml", "mcpServers: {}\n");
    for (client, place) in
        [("vscode", ".vscode/mcp.json"), ("claude-code", ".mcp.json"), ("codex", ".codex/config.toml")]
    {
        proxy.run(["install", client, "--scope", "project", "--yes"]).await.expect(0);
        let text = read(&proxy, place);
        assert!(text.contains("serve") && !text.contains("--config"), "the config is found there: {text}");
        proxy.run(["uninstall", client, "--scope", "project", "--yes"]).await.expect(0);
        assert!(!exists(&proxy, place));
    }
    let none = proxy.run(["install", "windsurf", "--scope", "project"]).await.expect(2).stderr;
    assert!(none.contains("Windsurf has no config for single projects"), "{none}");
}

#[tokio::test]
async fn results_are_json_on_request() {
    let client = &CLIENTS[6];
    let proxy = world().file(client.place, &client.text());
    let done = proxy.run(["install", "codex", "--yes", "--json"]).await.expect(0).json();
    assert_eq!((&done["client"], &done["changed"]), (&"codex".into(), &true.into()), "{done}");
    assert_eq!(done["entry"]["args"], serde_json::json!(["serve"]));
    let backup = done["backup"].as_str().expect("there is a backup");
    assert_eq!(std::fs::read_to_string(backup).expect("it is there"), client.text());
    let gone = proxy.run(["uninstall", "codex", "--yes", "--json"]).await.expect(0).json();
    assert_eq!(gone["how"], "restored", "{gone}");
}
