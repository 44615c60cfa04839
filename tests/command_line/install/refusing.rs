//! Files that cannot be changed, and entries that are somebody else's.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::{CLIENTS, read, records, run_on_full_disk, world};
use crate::support::programs;

#[tokio::test]
async fn a_file_that_is_broken_is_shown_with_its_line() {
    for (client, place, text, at) in [
        ("cursor", "home/.cursor/mcp.json", "{\n \"mcpServers\": {\n", "mcp.json:2:16"),
        ("cursor", "home/.cursor/mcp.json", "{\n \"mcpServers\": 5}", "mcp.json:2:16"),
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": {},\n \"mcpServers\": {}}", "mcp.json:2:2"),
        ("codex", "home/.codex/config.toml", "a = 1\nb = \n", "config.toml:2:"),
    ] {
        let proxy = world().file(place, text);
        let refused = proxy.run(["install", client, "--yes"]).await.expect(2).stderr;
        assert!(refused.contains(at), "{refused}");
        assert_eq!((read(&proxy, place).as_str(), records(&proxy)), (text, 0));
    }
}

#[tokio::test]
async fn a_server_of_our_name_that_is_not_ours_stays() {
    let text = "{\"mcpServers\": {\n  \"proxy\": {\"command\": \"squid\", \"args\": [\"--password\", \"s3cret\"]}}}";
    let proxy = world().file("home/.cursor/mcp.json", text);
    let refused = proxy.run(["install", "cursor", "--yes"]).await.expect(1).stderr;
    assert!(refused.contains("mcp.json:2 has another server named `proxy`"), "{refused}");
    assert!(refused.contains("--name my-proxy") && !refused.contains("s3cret"), "{refused}");
    let refused = proxy.run(["uninstall", "cursor", "--yes"]).await.expect(1).stderr;
    assert!(refused.contains("`proxy` is another server"), "{refused}");
    let done = proxy.run(["install", "cursor", "--name", "my-proxy", "--yes"]).await.expect(0);
    assert!(!done.stdout.contains("s3cret"), "{}", done.stdout);
    let unnamed = proxy.run(["uninstall", "cursor", "--yes"]).await.expect(1).stderr;
    assert!(unnamed.contains("add `--name my-proxy`"), "{unnamed}");
    proxy.run(["uninstall", "cursor", "--name", "my-proxy", "--yes"]).await.expect(0);
    assert_eq!(read(&proxy, "home/.cursor/mcp.json"), text);
}

#[tokio::test]
async fn another_program_that_is_called_proxy_stays() {
    let proxy = world().executable("other/bin/proxy", "#!/bin/sh\n");
    let other = proxy.directory.path().join("other/bin/proxy").display().to_string();
    let text = &format!("{{\"mcpServers\": {{\"proxy\": {{\"command\": \"{other}\", \"args\": [\"serve\"]}}}}}}");
    let proxy = proxy.file("home/.cursor/mcp.json", text);
    for arguments in
        [["install", "cursor", "--yes"], ["uninstall", "cursor", "--yes"], ["install", "cursor", "--dry-run"]]
    {
        let refused = proxy.run(arguments).await.expect(1).stderr;
        assert!(refused.contains("another server"), "{refused}");
    }
    proxy.run(["install", "cursor", "--import", "--name", "mine", "--yes"]).await.expect(0);
    assert!(read(&proxy, "home/.cursor/mcp.json").contains(&other));
    proxy.run(["uninstall", "cursor", "--name", "mine", "--yes"]).await.expect(0);
    assert_eq!((read(&proxy, "home/.cursor/mcp.json").as_str(), records(&proxy)), (text.as_str(), 0));
}

#[tokio::test]
async fn an_entry_that_a_person_wrote_leaves_a_backup() {
    let own = programs::proxy();
    let own = own.get_program().to_str().expect("it is plain");
    for words in [
        format!("\"command\": \"{own}\", \"args\": [\"serve\"]"),
        "\"command\": \"npx\", \"args\": [\"-y\", \"starlark-mcp-proxy\", \"serve\"]".to_owned(),
    ] {
        let text = format!("{{\"mcpServers\": {{\"proxy\": {{{words}}}, \"a\": {{\"command\": \"x\"}}}}}}");
        let proxy = world().file("home/.cursor/mcp.json", &text);
        let done = proxy.run(["uninstall", "cursor", "--yes", "--json"]).await.expect(0).json();
        assert_eq!(done["how"], "edited", "{done}");
        let backup = std::path::Path::new(done["backup"].as_str().expect("there is one"));
        assert_eq!(std::fs::read_to_string(backup).expect("it is there"), text);
        let mode = |path: &std::path::Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(backup), mode(backup.parent().expect("a folder"))), (0o600, 0o700));
        assert!(!read(&proxy, "home/.cursor/mcp.json").contains("serve"));
    }
}

#[tokio::test]
async fn without_an_entry_there_is_nothing_to_undo() {
    let proxy = world().file("home/.cursor/mcp.json", "{}");
    let none = proxy.run(["uninstall", "cursor", "--yes"]).await.expect(1).stderr;
    assert!(none.contains("has no entry `proxy`") && none.contains("--scope project"), "{none}");
    let unknown = proxy.run(["install", "emacs"]).await.expect(2).stderr;
    assert!(unknown.contains("claude-desktop") && unknown.contains("opencode"), "{unknown}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_leaves_no_record() {
    // Nobody can make a file there, not even root.
    let proxy = world();
    let here = proxy.directory.path();
    std::fs::create_dir_all(here.join("home/.cursor")).expect("a folder can be made");
    for target in ["/proc/mcp.json", "/proc/nowhere/mcp.json"] {
        let link = here.join("home/.cursor/mcp.json");
        symlink(target, &link).expect("a link can be made");
        let failed = proxy.run(["install", "cursor", "--yes"]).await.expect(1).stderr;
        assert!(failed.contains("error: cannot ") && failed.contains(target), "{failed}");
        assert_eq!(records(&proxy), 0, "{failed}");
        std::fs::remove_file(&link).expect("it is ours");
    }
}

#[tokio::test]
async fn a_full_disk_leaves_the_file_as_it_was() {
    let client = &CLIENTS[2];
    let proxy = world().file(client.place, &client.text());
    let failed = run_on_full_disk(&proxy, 0, &["install", "cursor", "--yes"]).await;
    assert_ne!(failed.code, 0);
    assert!(failed.stderr.contains("File too large") && failed.stderr.contains("nothing was changed"), "{failed:?}");
    assert_eq!((read(&proxy, client.place), records(&proxy)), (client.text(), 0));
    let folder = proxy.directory.path().join("home/.cursor");
    assert_eq!(folder.read_dir().expect("it is there").count(), 1, "no part of a file is left");
}

#[tokio::test]
async fn an_entry_whose_program_is_gone_is_replaced_and_taken_out() {
    for command in ["/gone/proxy", "HERE/bin/proxy"] {
        let proxy = world().file("bin/proxy", "not executable");
        let command = command.replace("HERE", &proxy.directory.path().display().to_string());
        let text = format!("{{\"mcpServers\": {{\"proxy\": {{\"command\": \"{command}\", \"args\": [\"serve\"]}}}}}}");
        let proxy = proxy.file("home/.cursor/mcp.json", &text);
        proxy.run(["install", "cursor", "--yes"]).await.expect(0);
        assert!(!read(&proxy, "home/.cursor/mcp.json").contains(&command));
        let proxy = proxy.file("home/.cursor/mcp.json", &text);
        proxy.run(["uninstall", "cursor", "--yes"]).await.expect(0);
        assert!(!read(&proxy, "home/.cursor/mcp.json").contains("serve"));
    }
}
