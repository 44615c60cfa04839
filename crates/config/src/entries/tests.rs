//! Entries added to texts as people write them, and taken back.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::*;

fn parsed(name: &str, text: &str) -> ClientText {
    ClientText::parse(Path::new(name), text).unwrap_or_else(|problem| panic!("{problem:?}"))
}

fn entry() -> Json {
    json!({"command": "/opt/proxy", "args": ["serve", "--config", "a b.yaml"]})
}

const SECTION: [&str; 1] = ["mcpServers"];

/// The text with the entry; and without it again it is the same as before.
fn there_and_back(name: &str, section: &[&str], text: &str) -> String {
    let before = parsed(name, text);
    let created = before.missing_sections(section);
    let with = before.with(section, "proxy", EntryText::Value(&entry())).unwrap();
    let after = parsed(name, &with);
    assert_eq!(after.entry(section, "proxy"), Some(entry()), "{with}");
    assert_eq!(after.without(section, "proxy", created).unwrap(), text, "{with}");
    with
}

#[test]
fn an_entry_comes_and_goes_without_a_trace() {
    for text in [
        "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
        "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
        "{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}, // last\r\n\t},\r\n}\r\n",
        "{\n    \"mcpServers\": {\n        \"a\": {} // no comma\n        /* end */\n    }\n}",
        "\u{feff}{\n  \"theme\": \"x\", // why\n  \"b\": [1, 2,],\n}\n",
        "{\"theme\": \"x\"}",
        "{ \"theme\": \"x\", }",
        "// first\n{\n  \"theme\": \"x\"\n}\n// last\n",
        "{\n  \"mcpServers\": {}\n}\n",
        "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n",
        "{}",
        "{}\n",
    ] {
        there_and_back("mcp.json", &SECTION, text);
    }
}

#[test]
fn an_entry_looks_like_its_neighbours() {
    let text = "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"x\": \"y, z\"}, // it's\n\t}\n}\n";
    assert_eq!(
        there_and_back("mcp.json", &SECTION, text),
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"x\": \"y, z\"}, // it's\n\t\t\"proxy\": {\n\t\t\t\"command\": \"/opt/proxy\",\n\
         \t\t\t\"args\": [\"serve\", \"--config\", \"a b.yaml\"]\n\t\t},\n\t}\n}\n"
    );
    let inline = there_and_back("mcp.json", &SECTION, "{\"mcpServers\": {\"a\": {}}}");
    assert!(inline.starts_with("{\"mcpServers\": {\"a\": {}, \"proxy\": {\"command\": ") && !inline.contains('\n'));
    let new = parsed("mcp.json", "").with(&SECTION, "proxy", EntryText::Value(&json!({"command": "x"}))).unwrap();
    assert_eq!(new, "{\n  \"mcpServers\": {\n    \"proxy\": {\n      \"command\": \"x\"\n    }\n  }\n}\n");
}

#[test]
fn an_entry_between_others_goes_alone() {
    for (text, left) in [
        ("{\"s\": {\"proxy\": {}, \"b\": 1}}", "{\"s\": {\"b\": 1}}"),
        ("{\"s\": {\"a\": 1, \"proxy\": {}, \"b\": 1}}", "{\"s\": {\"a\": 1, \"b\": 1}}"),
        ("{\"s\": {\n  \"proxy\": {\n  },\n  \"b\": 1\n}}", "{\"s\": {\n  \"b\": 1\n}}"),
        ("{\"s\": {\n  \"a\": 1, // one\n  \"proxy\": {} }}", "{\"s\": {\n  \"a\": 1 // one\n   }}"),
        (
            "{\"s\": {\n  \"a\": 1, // one\n  \"proxy\": {}, \"b\": 2\n}}",
            "{\"s\": {\n  \"a\": 1, // one\n  \"b\": 2\n}}",
        ),
        ("{\"s\": {\n  \"proxy\": {} // kept\n}}", "{\"s\": {\n   // kept\n}}"),
    ] {
        assert_eq!(parsed("a.json", text).without(&["s"], "proxy", 0).unwrap(), left);
    }
}

#[test]
fn an_entry_is_replaced_in_its_place() {
    let text = "{\n  \"mcpServers\": {\n    \"proxy\": {\"command\": \"old\"},\n    \"b\": {}\n  }\n}\n";
    let with = parsed("a.json", text).with(&SECTION, "proxy", EntryText::Value(&json!({"command": "new"}))).unwrap();
    assert_eq!(with, text.replace("{\"command\": \"old\"}", "{\n      \"command\": \"new\"\n    }"));
    let text = "[mcp_servers.proxy]\ncommand = \"old\"\n\n[mcp_servers.proxy.env]\nA = \"b\"\n\n[tui]\nx = 1\n";
    let new = json!({"command": "new"});
    let with = parsed("a.toml", text).with(&["mcp_servers"], "proxy", EntryText::Value(&new)).unwrap();
    assert!(with.starts_with("[mcp_servers.proxy]\ncommand = \"new\"\n") && with.ends_with("\n[tui]\nx = 1\n"));
    assert_eq!(parsed("a.toml", &with).entry(&["mcp_servers"], "proxy"), Some(new));
}

#[test]
fn tables_come_and_go_without_a_trace() {
    for text in [
        "",
        "model = \"x\" # mine\n",
        "# only a comment\n",
        "model = \"x\"\r\n\r\n[mcp_servers.a]\r\ncommand = \"y\"\r\n",
        "\u{feff}[mcp_servers.a]\ncommand = \"y\"\nnote = \"\"\"\n[mcp_servers.proxy]\n\"\"\"\n\n# about tui\n[tui]\nx = 1\n",
    ] {
        let with = there_and_back("config.toml", &["mcp_servers"], text);
        assert!(with.contains("[mcp_servers.proxy]"), "{with}");
    }
}

#[test]
fn a_table_between_others_goes_alone() {
    for (text, left) in [
        (
            "[mcp_servers.proxy]\ncommand = \"x\"\nargs = [\n  \"serve\",\n]\n\n# about a\n[mcp_servers.a]\ncommand = \"y\"\n",
            "\n# about a\n[mcp_servers.a]\ncommand = \"y\"\n",
        ),
        (
            "[a]\nb = 1\n\n[mcp_servers.\"proxy\"]\ncommand = \"x\"\n[mcp_servers.proxy.env]\nA = \"b\"\n\n[mcp_servers.proxy2]\nc = 2\n",
            "[a]\nb = 1\n\n[mcp_servers.proxy2]\nc = 2\n",
        ),
        (
            "[mcp_servers]\nproxy = { command = \"x\" }\na = { command = \"y\" }\n",
            "[mcp_servers]\na = { command = \"y\" }\n",
        ),
    ] {
        assert_eq!(parsed("config.toml", text).without(&["mcp_servers"], "proxy", 0).unwrap(), left);
    }
}

#[test]
fn what_cannot_be_changed_alone_is_left_to_the_user() {
    let dotted = "mcp_servers.proxy.command = \"x\"\nmcp_servers.a.command = \"y\"\n";
    let problem = parsed("config.toml", dotted).without(&["mcp_servers"], "proxy", 0).unwrap_err();
    assert!(problem.message.contains("without touching other lines"), "{}", problem.message);
    let closed = parsed("config.toml", "mcp_servers = { a = { command = \"y\" } }\n");
    assert!(closed.with(&["mcp_servers"], "proxy", EntryText::Value(&entry())).is_err());
    let problem = parsed("a.json", "{\"mcpServers\": []}").with(&SECTION, "proxy", EntryText::Value(&entry()));
    assert_eq!(problem.unwrap_err().message, "`mcpServers`: expected a map of servers");
    for text in ["[]", "{\"a\": 1, \"a\": 2}", "{"] {
        assert!(ClientText::parse(Path::new("a.json"), text).is_err(), "{text}");
    }
}

#[test]
fn a_written_entry_comes_back_as_it_was() {
    for (name, section, text) in [
        ("a.json", "s", "{\n  \"s\": {\n    \"a\": {\"command\": \"x\" /* why */}\n  }\n}\n"),
        ("a.toml", "s", "x = 1\n\n[s.a]\ncommand = \"x\" # why\n\n[s.a.env]\nA = \"b\"\n"),
    ] {
        let before = parsed(name, text);
        let written = before.written(&[section], "a").unwrap();
        let without = before.without(&[section], "a", 0).unwrap();
        assert!(!without.contains("why"), "{without}");
        let again = parsed(name, &without).with(&[section], "a", EntryText::Written(&written)).unwrap();
        assert_eq!(parsed(name, &again).entry(&[section], "a"), before.entry(&[section], "a"), "{again}");
        assert!(again.contains("why"), "{again}");
    }
}

#[test]
fn this_proxy_is_known_by_its_command() {
    for (entry, is_ours) in [
        (json!({"command": "/opt/bin/proxy", "args": ["serve"]}), true),
        (json!({"command": "npx", "args": ["-y", "starlark-mcp-proxy@0.1.0", "serve"]}), true),
        (json!({"command": ["uvx", "starlark-mcp-proxy@0.1.0", "serve"]}), true),
        (json!({"command": {"path": "proxy", "args": ["serve", "-v"]}}), true),
        (json!({"command": "proxy", "args": ["--port", "80"]}), false),
        (json!({"command": "npx", "args": ["-y", "other", "serve", "starlark-mcp-proxy"]}), false),
        (json!({"url": "http://127.0.0.1/mcp"}), false),
    ] {
        let words = command_words(&entry);
        assert_eq!(is_this_proxy(words.iter().map(String::as_str)), is_ours, "{entry}");
        let names_package = entry.to_string().contains("starlark-mcp-proxy@");
        assert_eq!(is_our_package(words.iter().map(String::as_str)), names_package, "{entry}");
    }
}
