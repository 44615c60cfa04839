//! `proxy doctor`: every fault of an installation with its fix, and nothing on a healthy machine.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

fn findings(report: &Value) -> Vec<(String, String, String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let one = |found: &Value| (text(found, "area"), text(found, "state"), text(found, "what"), text(found, "fix"));
    report["findings"].as_array().expect("there are findings").iter().map(one).collect()
}

/// A port at which nothing listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    listener.local_addr().expect("it has one").port()
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_healthy_installation_has_no_findings() {
    let server = fake_backend(["--only", "echo"]);
    let proxy = Proxy::new(&Config::new().server("one", &server).section("serve: {http: '127.0.0.1:0'}"));
    proxy.run(["install", "cursor", "--yes"]).await.expect(0);
    let before = files(proxy.directory.path());
    let report = proxy.run(["doctor", "--json"]).await.expect(0).json();
    assert_eq!(report["healthy"], true);
    for (area, state, what, fix) in findings(&report) {
        // The kernel of the machine decides about those.
        assert!(state == "ok" || area == "boxes", "{area}: {what}; {fix}");
    }
    let text = proxy.run(["doctor"]).await.expect(0).stdout;
    assert!(text.contains("commands 1 program found") && text.contains("clients  1 client: Cursor"), "{text}");
    assert_eq!(files(proxy.directory.path()), before, "it changes nothing, and starts no server");
}

#[tokio::test]
async fn every_planted_fault_is_found_with_its_fix() {
    let used = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let used_port = used.local_addr().expect("it has one").port();
    let closed = closed_port();
    let text = format!(
        "mcpServers:\n  missing: {{command: no-such-program}}\n  folder: {{command: sh, cwd: nowhere}}\n  \
         nodeless: {{command: npx, env: {{PATH: BIN}}}}\n  plain: {{command: ./notes.txt}}\n  \
         unset: {{command: sh, env: {{KEY: '${{NOT_SET_ANYWHERE}}'}}}}\n  silent: {{url: 'http://127.0.0.1:{closed}/mcp'}}\n\
         store: {{url: 'redis://127.0.0.1:{closed}'}}\nserve: {{http: '127.0.0.1:{used_port}', stateKeys: [0123456789abcdef0123456789abcdef]}}\n"
    );
    let proxy = Proxy::with_config_text("")
        .executable("bin/npx", "#!/bin/sh\n")
        .file("notes.txt", "no program\n")
        .file("no-folder", "")
        .file(
            "home/.cursor/mcp.json",
            "{\"mcpServers\": {\n \"proxy\": {\"command\": \"/gone/proxy\", \"args\": [\"serve\"]}}}",
        )
        .file(
            "home/.codex/config.toml",
            "[mcp_servers.p]\ncommand = \"HERE/bin/proxy\"\nargs = [\"serve\", \"--config\", \"/gone.yaml\", \"--profile\", \"ops\"]\n",
        )
        .executable("bin/proxy", "#!/bin/sh\n");
    let here = proxy.directory.path().display().to_string();
    let codex = std::fs::read_to_string(proxy.directory.path().join("home/.codex/config.toml")).expect("it is there");
    let proxy = proxy.file("home/.codex/config.toml", &codex.replace("HERE", &here));
    let proxy = proxy.file("proxy.yaml", &text.replace("BIN", &format!("{here}/bin")));
    let proxy = proxy.environment("XDG_CACHE_HOME", &format!("{here}/no-folder"));
    let report = proxy.run(["doctor", "--json"]).await.expect(1).json();
    assert_eq!(report["healthy"], false);
    let found = findings(&report);
    for (area, part, cure) in [
        ("commands", "`missing`: there is no program `no-such-program`", "install it"),
        ("commands", "`folder`: its `cwd` is no folder", "make the folder"),
        ("commands", "`nodeless`: `npx` needs `node`", "install Node.js"),
        ("commands", "/notes.txt` is not executable", "chmod +x"),
        ("commands", "NOT_SET_ANYWHERE", ""),
        ("urls", "`silent`: 127.0.0.1:", "correct `url`"),
        ("store", "Redis does not answer", "store.url"),
        ("ports", "cannot listen at 127.0.0.1:", "stop the program"),
        ("folders", "no-folder", "XDG_CACHE_HOME"),
        ("clients", "mcp.json:2: `/gone/proxy` is gone", "`proxy install cursor`"),
        ("clients", "config.toml:1: the config `/gone.yaml` is gone", "`proxy install codex --name p --profile ops`"),
    ] {
        let is_it = |(in_area, state, what, fix): &&(String, String, String, String)| {
            in_area == area && state == "broken" && what.contains(part) && !fix.is_empty() && fix.contains(cure)
        };
        assert!(found.iter().any(|one| is_it(&one)), "{area}: {part} ({cure}) is not in {found:#?}");
    }
    let areas = ["program", "config", "commands", "urls", "store", "ports", "folders", "boxes", "clients"];
    let mut order: Vec<&str> = found.iter().map(|(area, ..)| area.as_str()).collect();
    order.dedup();
    assert_eq!(order, areas);
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_one_finding_and_not_one_for_each_log_in() {
    let listening = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let port = listening.local_addr().expect("it has one").port();
    let servers = format!("mcpServers:\n  hosted: {{url: 'http://127.0.0.1:{port}/mcp', auth: {{type: oauth}}}}\n");
    let store = format!(
        "store: {{url: 'redis://127.0.0.1:{}'}}\nserve: {{stateKeys: [0123456789abcdef0123456789abcdef]}}\n",
        closed_port()
    );
    for (more, broken) in
        [("", ("log-ins", "`hosted`", "`proxy login hosted`")), (&store, ("store", "Redis", "store.url"))]
    {
        let proxy = Proxy::with_config_text(&format!("{servers}{more}"));
        let found = findings(&proxy.run(["doctor", "--json"]).await.expect(1).json());
        let is_broken = |(area, state, ..): &&(String, String, String, String)| state == "broken" && area != "boxes";
        let found: Vec<_> = found.iter().filter(is_broken).collect();
        let [(area, _, what, fix)] = found.as_slice() else { panic!("{found:#?}") };
        assert!(area == broken.0 && what.contains(broken.1) && fix.contains(broken.2), "{area}: {what}; {fix}");
    }
}

#[tokio::test]
async fn a_config_that_is_broken_hides_nothing_else() {
    let gone = "{\"mcpServers\": {\"proxy\": {\"command\": \"/gone/proxy\", \"args\": [\"serve\"]}}}";
    let proxy = Proxy::with_config_text("mcpServers:\n  a: {comand: x}\n").file("home/.cursor/mcp.json", gone);
    let text = proxy.run(["doctor"]).await.expect(1).stdout;
    assert!(text.contains("broken   config   proxy.yaml:2:"), "{text}");
    assert!(text.contains("broken   clients  Cursor: "), "{text}");
    assert!(text.contains("fix: `proxy install cursor` writes the entry anew\n"), "{text}");
}

#[tokio::test]
async fn servers_start_only_on_request() {
    let config = Config::new().server("good", &fake_backend(["--only", "echo"])).server("bad", &Command::new("false"));
    let proxy = Proxy::new(&config);
    let quiet = proxy.run(["doctor"]).await.expect(0).stdout;
    assert!(!quiet.contains("servers  "), "{quiet}");
    let started = proxy.run(["doctor", "--start"]).await.expect(1).stdout;
    assert!(started.contains("ok       servers  `good` is ready"), "{started}");
    assert!(started.contains("broken   servers  `bad` is failed: "), "{started}");
}

#[tokio::test]
async fn a_server_that_could_not_be_started_has_one_finding() {
    let text = format!(
        "mcpServers:\n  ghost: {{command: no-such-program}}\n  unset: {{command: sh, env: {{KEY: '${{NOT_SET_ANYWHERE}}'}}}}\n  \
         silent: {{url: 'http://127.0.0.1:{}/mcp'}}\n  bad: {{command: 'false'}}\n",
        closed_port()
    );
    let proxy = Proxy::with_config_text(&text);
    let found = findings(&proxy.run(["doctor", "--start", "--json"]).await.expect(1).json());
    for (server, area, cure) in [
        ("ghost", "commands", "install it"),
        ("unset", "commands", "set it"),
        ("silent", "urls", "correct `url`"),
        ("bad", "servers", "run its command in a terminal"),
    ] {
        let of_it: Vec<_> = found.iter().filter(|(_, _, what, _)| what.starts_with(&format!("`{server}`"))).collect();
        let [(in_area, _, _, fix)] = of_it.as_slice() else { panic!("{server}: {of_it:#?}") };
        assert!(in_area == area && fix.contains(cure), "{of_it:?}");
    }
}
