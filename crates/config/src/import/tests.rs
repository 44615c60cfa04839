//! Imports of single files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::{Config, TransportConfig, load_text};

fn surroundings(folder: &Path) -> Surroundings {
    Surroundings { home: None, config_folder: None, current_folder: folder.to_owned(), moved: HashMap::default() }
}

fn imported_file(name: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder: PathBuf = std::env::temp_dir().join(format!("proxy-import-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    let surroundings = surroundings(&folder);
    let imported = import(&[file_of(&path, &surroundings)], &surroundings);
    std::fs::remove_dir_all(&folder).unwrap();
    imported
}

fn imported(text: &str) -> Imported {
    imported_file("client.json", text).unwrap()
}

fn round_trip(imported: &Imported) -> Config {
    let yaml = render_yaml(imported);
    let environment = |name: &str| Some(format!("<{name}>"));
    load_text(Path::new("proxy.yaml"), &yaml, &environment).unwrap_or_else(|errors| panic!("{errors:?}\n{yaml}")).0
}

fn messages(imported: &Imported) -> Vec<&str> {
    imported.warnings.iter().map(|warning| warning.message.as_str()).collect()
}

#[test]
fn a_claude_desktop_file() {
    let imported = imported(
        r#"{"globalShortcut": "x", "mcpServers": {"fs": {"command": "npx", "args": ["-y", "@a/b", "C:\\Users\\a b", "--x=\"y\""],
            "env": {"KEY": "pa$$w0rd: #1", "N": 5}}}}"#,
    );
    let TransportConfig::Stdio { command, args, env, .. } = round_trip(&imported).servers["fs"].transport.clone()
    else {
        panic!("not a command")
    };
    assert_eq!(command, "npx");
    assert_eq!(args, ["-y", "@a/b", "C:\\Users\\a b", "--x=\"y\""]);
    assert_eq!((env["KEY"].reveal(), env["N"].reveal()), ("pa$$w0rd: #1", "5"));
    assert_eq!(messages(&imported), [""; 0]);
    assert!(!format!("{imported:?}").contains("pa$$w0rd"));
}

#[test]
fn a_bridge_to_a_url_is_taken_over_with_a_hint() {
    for command in [
        r#""command": "npx", "args": ["-y", "mcp-remote@0.1.29", "https://h/sse?key=s3cret"]"#,
        r#""command": "/usr/bin/mcp-remote", "args": ["https://h/sse?key=s3cret"]"#,
    ] {
        let imported = imported(&format!(r#"{{"mcpServers": {{"linear": {{{command}}}}}}}"#));
        let [message] = messages(&imported)[..] else { panic!("{:?}", messages(&imported)) };
        assert!(message.contains("`linear` runs `mcp-remote`") && message.contains("`proxy login NAME`"), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
        assert!(matches!(round_trip(&imported).servers["linear"].transport, TransportConfig::Stdio { .. }));
    }
}

#[test]
fn keys_of_other_clients_are_taken_over_or_named() {
    let imported = imported(
        r#"{"mcpServers": {"docs": {"url": "https://h/mcp?k=1", "headers": {"Authorization": "Bearer ${env:DOCS}"},
            "autoApprove": ["x"], "timeout": 60, "headersHelper": "x", "gallery": true},
            "off": {"command": "x", "disabled": true, "envFile": ".env"},
            "old": {"url": "https://h/sse", "type": "sse"}, "odd": {}, "box": {"command": "x", "sandbox": {"a": 1}}}}"#,
    );
    let config = round_trip(&imported);
    let TransportConfig::Http { url, headers, sse: false } = &config.servers["docs"].transport else {
        panic!("not an address")
    };
    assert_eq!((url.as_str(), headers["Authorization"].reveal()), ("https://h/mcp?k=1", "Bearer <DOCS>"));
    assert!(config.servers["off"].disabled && config.servers["box"].disabled);
    assert!(
        matches!(&config.servers["old"].transport, TransportConfig::Http { url, sse: true, .. } if url == "https://h/sse")
    );
    assert_eq!(config.servers.len(), 4);
    let found = messages(&imported);
    for expected in [
        "`docs.autoApprove` was not imported: the proxy does not ask for approval before a call",
        "`docs.headersHelper` was not imported: the proxy does not run a program to get headers",
        "skipped `odd`: it has neither a command nor a URL",
        "`box.sandbox` was not imported: the server would run without a sandbox. `box` is disabled",
    ] {
        assert!(found.iter().any(|message| message.starts_with(expected)), "{expected}: {found:?}");
    }
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn a_timeout_of_an_unknown_client_is_not_guessed() {
    let imported = imported(r#"{"mcpServers": {"a": {"command": "x", "timeout": 60}}}"#);
    assert!(messages(&imported)[0].contains("seconds or milliseconds; write `timeout: 60s` if seconds"));
    assert_eq!(imported.entries[0].timeout, None);
}

#[test]
fn vs_code_files_of_both_kinds() {
    let servers = r#"{"owner/gh": {"type": "stdio", "command": "${workspaceFolder}/x", "env": {"T": "${input:gh-token}"}, "gallery": true}}"#;
    for text in
        [format!(r#"{{"inputs": [], "servers": {servers}}}"#), format!(r#"{{"mcp": {{"servers": {servers}}}}}"#)]
    {
        let imported = imported(&text);
        let yaml = render_yaml(&imported);
        assert!(yaml.contains("# VS Code prompts for this value: set the environment variable GH_TOKEN"), "{yaml}");
        let config = round_trip(&imported);
        let TransportConfig::Stdio { command, env, .. } = &config.servers["owner-gh"].transport else {
            panic!("not a command")
        };
        assert!(command.starts_with('/') && command.ends_with("/x"), "{command}");
        assert_eq!(env["T"].reveal(), "<GH_TOKEN>");
        assert_eq!(messages(&imported), ["renamed `owner/gh` to `owner-gh`"]);
    }
}

#[test]
fn a_hidden_tool_stays_hidden() {
    for (keys, expected) in [
        (r#""disabledTools": ["a"]"#, (None, vec!["a"])),
        (r#""includeTools": ["a", "b(x)"], "excludeTools": ["b"]"#, (Some(vec!["a", "b"]), vec!["b"])),
        // A name is not a glob there, and an empty list is no tool.
        (r#""includeTools": ["*"]"#, (Some(vec![]), vec![])),
        (r#""enabled_tools": []"#, (Some(vec![]), vec![])),
        (r#""available_tools": []"#, (None, vec![])),
    ] {
        let imported = imported(&format!(r#"{{"mcpServers": {{"s": {{"command": "x", {keys}}}}}}}"#));
        let tools = &imported.entries[0].tools;
        let only = tools.only.as_ref().map(|only| only.iter().map(String::as_str).collect());
        assert_eq!((only, tools.exclude.iter().map(String::as_str).collect()), expected, "{keys}");
        round_trip(&imported);
    }
    let unknown = imported(r#"{"mcpServers": {"s": {"command": "x", "blockedTools": ["a"]}}}"#);
    assert!(unknown.entries[0].disabled, "{:?}", messages(&unknown));
}

#[test]
fn every_command_is_shown_and_cannot_disguise_itself() {
    let imported = imported(
        "{\"mcpServers\": {\"a\": {\"command\": \"sh\", \"args\": [\"-c\", \"rm x\\u001b[2K\\n\", \"\"], \"env\": {\"LD_PRELOAD\": \"s3cret\"}}, \
         \"b\": {\"url\": \"http://h\"}, \"c\": {\"command\": \"x\", \"cwd\": \"/tmp\", \"disabled\": true}}}",
    );
    assert_eq!(
        commands(&imported),
        [r#"a: sh -c "rm x\u{1b}[2K\n" ""  (sets LD_PRELOAD)"#, "b: http://h/", "c: x  (in /tmp)  (disabled)"]
    );
}

#[test]
fn a_command_is_shown_without_the_secrets_in_its_arguments() {
    let imported = imported(
        r#"{"mcpServers": {"a": {"command": "docker", "args": ["run", "-e", "API_KEY=s3cret", "--token", "s3cret",
            "--api-key=s3cret", "--password:s3cret", "--header", "Authorization: Bearer s3cret", "MODE=fast", "--port", "80"]}}}"#,
    );
    assert_eq!(
        commands(&imported),
        ["a: docker run -e API_KEY=*** --token *** --api-key=*** --password=*** --header *** MODE=fast --port 80"]
    );
}

#[test]
fn an_address_is_shown_without_what_may_be_a_key() {
    let imported = imported(
        r#"{"mcpServers": {"a": {"url": "https://u:s3cret@h:8/mcp?key=s3cret#x", "headers": {"X-Key": "s3cret"}}}}"#,
    );
    assert_eq!(commands(&imported), ["a: https://h:8/mcp?...  (sends X-Key)"]);
}

#[test]
fn a_file_without_servers_says_what_was_expected() {
    let errors = imported_file("settings.json", "{\"a\": 1}").unwrap_err();
    assert!(errors[0].message.starts_with("no servers found in `"), "{}", errors[0].message);
    assert!(imported_file("x.json", "{").is_err());
    assert!(render_yaml(&imported("{\"mcpServers\": {}}")).contains("mcpServers: {}"));
}

#[test]
fn names_that_do_not_fit_are_changed_and_stay_apart() {
    let imported =
        imported(r#"{"mcpServers": {"a-b": {"command": "x"}, "a/b": {"command": "y"}, "": {"command": "z"}}}"#);
    let names: Vec<&str> = imported.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["a-b", "a-b-2", "server"]);
    round_trip(&imported);
}

#[test]
fn the_proxy_does_not_import_itself() {
    let imported = imported(
        r#"{"mcpServers": {"all": {"command": "/opt/bin/proxy", "args": ["serve"]}, "other": {"command": "proxy", "args": ["x"]}}}"#,
    );
    assert_eq!(messages(&imported), ["skipped `all`: it is this proxy, which would start itself"]);
    assert_eq!(imported.entries.len(), 1);
}

#[test]
fn servers_are_added_below_a_key_without_servers_whose_comment_stays() {
    for (before, after) in [
        ("mcpServers: {} # mine\nserve: {}\n", "mcpServers: # mine\n  a:\n    command: x\nserve: {}\n"),
        ("mcpServers:   # mine\n", "mcpServers:   # mine\n  a:\n    command: x\n"),
        ("mcpServers: null # mine", "mcpServers: # mine\n  a:\n    command: x\n"),
        ("# one\nmcpServers:\n# two\nserve: {}\n", "# one\nmcpServers:\n  a:\n    command: x\n# two\nserve: {}\n"),
        ("\"mcpServers\": {\n  }  # mine\n", "\"mcpServers\":  # mine\n  a:\n    command: x\n"),
    ] {
        let mut imported = imported(r#"{"mcpServers": {"a": {"command": "x"}}}"#);
        let added = added_to(Path::new("proxy.yaml"), before, &mut imported, "cursor");
        assert_eq!(added.unwrap(), after, "{before}");
    }
}
