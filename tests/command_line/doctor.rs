//! `proxy doctor`: every fault of an installation with its fix, and nothing on a healthy machine.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::config::Config;
use crate::support::programs::{self, fake_backend};
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

/// Where the program is that the tests run.
fn own_program() -> String {
    programs::proxy().get_program().display().to_string()
}

/// The command that a finding tells somebody to run.
fn told_command(report: &Value, part: &str) -> Vec<String> {
    let found = findings(report);
    let (.., fix) = found.iter().find(|(.., what, _)| what.contains(part)).unwrap_or_else(|| panic!("{found:#?}"));
    let (_, command) = fix.split_once("`proxy ").unwrap_or_else(|| panic!("{fix}"));
    let (command, _) = command.split_once('`').expect("it ends");
    command.split(' ').map(|word| word.trim_matches('\'').to_owned()).collect()
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
         unset: {{command: sh, env: {{KEY: '${{NOT_SET_ANYWHERE}}'}}}}\n  silent: {{url: 'http://127.0.0.1:{closed}/mcp'}}\n  \
         pets: {{openapi: pets.yaml, url: 'http://127.0.0.1:{used_port}'}}\n\
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
            &format!(
                "[mcp_servers.p]\ncommand = \"{}\"\nargs = [\"serve\", \"--config\", \"/gone.yaml\", \"--profile\", \"ops\"]\n",
                own_program()
            ),
        );
    let here = proxy.directory.path().display().to_string();
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
        (
            "clients",
            "config.toml:1: the config `/gone.yaml` is gone",
            "`proxy install codex --name p` writes the entry anew, without",
        ),
        ("apis", "`pets`: cannot use", "save the description there"),
    ] {
        let is_it = |(in_area, state, what, fix): &&(String, String, String, String)| {
            in_area == area && state == "broken" && what.contains(part) && !fix.is_empty() && fix.contains(cure)
        };
        assert!(found.iter().any(|one| is_it(&one)), "{area}: {part} ({cure}) is not in {found:#?}");
    }
    let areas = ["program", "config", "commands", "apis", "urls", "store", "ports", "folders", "boxes", "clients"];
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

/// What is wrong with an entry, its command and options, and those that it has when the fix was run.
const ENTRIES: [(&str, &str, &str, &str); 8] = [
    ("`/gone/proxy` is gone", "/gone/proxy", "", ""),
    (
        "`/gone/proxy` is gone",
        "/gone/proxy",
        "--config HERE/other.yaml --profile=ops",
        "--config HERE/other.yaml --profile ops",
    ),
    ("`/gone/proxy` is gone", "/gone/proxy", "--config=/gone.yaml --profile ops", ""),
    ("the config `/gone.yaml` is gone", "OWN", "--config=/gone.yaml", ""),
    ("the config `/gone.yaml` is gone", "OWN", "-c /gone.yaml --profile here", "--profile here"),
    ("the config `/gone.yaml` is gone", "OWN", "-c /gone.yaml --profile ops", ""),
    ("has no profile `gone`", "OWN", "--config HERE/other.yaml --profile gone", "--config HERE/other.yaml"),
    ("has no profile `ops`", "OWN", "--profile=ops", ""),
];

#[tokio::test]
async fn the_fix_for_an_entry_mends_it_and_keeps_its_options() {
    for (problem, command, options, kept) in ENTRIES {
        let profile = |name: &str| format!("mcpServers: {{}}\nprofiles: {{{name}: {{servers: ['*']}}}}\n");
        let proxy = Proxy::with_config_text("")
            .file("home/.config/starlark-mcp-proxy/proxy.yaml", &profile("here"))
            .file("other.yaml", &profile("ops"));
        let here = proxy.directory.path().display().to_string();
        std::fs::remove_file(proxy.directory.path().join("proxy.yaml")).expect("it was just written");
        let words = format!("serve {options}").replace("HERE", &here);
        let words: Vec<&str> = words.split_whitespace().collect();
        let command = command.replace("OWN", &own_program());
        let entry = serde_json::json!({"mcpServers": {"p": {"command": command, "args": words}}});
        let proxy = proxy.file("home/.cursor/mcp.json", &entry.to_string());
        let report = proxy.run(["doctor", "--json"]).await.expect(1).json();
        let mut fix = told_command(&report, problem);
        fix.push("--yes".to_owned());
        proxy.run(fix.iter().map(String::as_str)).await.expect(0);
        let text = std::fs::read_to_string(proxy.directory.path().join("home/.cursor/mcp.json")).expect("it is there");
        let written: Value = serde_json::from_str(&text).expect("it is JSON");
        let expected = format!("serve {kept}").replace("HERE", &here);
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(written["mcpServers"]["p"]["args"], serde_json::json!(expected), "{fix:?}");
        let found = findings(&proxy.run(["doctor", "--json"]).await.json());
        assert!(!found.iter().any(|(area, state, ..)| area == "clients" && state == "broken"), "{found:#?}");
    }
}

#[tokio::test]
async fn an_entry_that_the_command_would_refuse_is_mended_by_hand() {
    let proxy = Proxy::with_config_text("").executable("other/proxy", "#!/bin/sh\n");
    let other = proxy.directory.path().join("other/proxy");
    let entry = serde_json::json!({"command": other, "args": ["serve", "--config", "/gone.yaml"]});
    let entry = serde_json::json!({"mcpServers": {"proxy": entry}}).to_string();
    let proxy = proxy.file("home/.cursor/mcp.json", &entry);
    let found = findings(&proxy.run(["doctor", "--json"]).await.expect(1).json());
    let (.., fix) = found.iter().find(|(area, ..)| area == "clients").expect("it is found");
    assert_eq!(fix, "put the file back, or name another one in the entry");
}

#[tokio::test]
async fn the_description_of_an_api_is_read() {
    let api = "openapi: 3.0.3\ninfo: {title: Pets, version: '1'}\npaths: {/pets: {get: {operationId: listPets}}}\n";
    let old = "swagger: '2.0'\ninfo: {title: Pets, version: '1'}\npaths: {}\n";
    let broken_path = "openapi: 3.0.3\ninfo: {title: Pets, version: '1'}\npaths: {pets: {get: {}}}\n";
    let closed = closed_port();
    let listening = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let port = listening.local_addr().expect("it has one").port();
    let config = format!("mcpServers:\n  pets: {{openapi: pets.yaml, url: 'http://127.0.0.1:{port}'}}\n");
    for (text, code, state, what, cure) in [
        (Some(api), 0, "ok", "1 description read", ""),
        (Some(broken_path), 0, "warning", "`pets`: 1 remark", "`proxy check`"),
        (Some(old), 1, "broken", "OpenAPI 2.0", "correct the description"),
        (Some("- no\n"), 1, "broken", "`pets`: cannot use", "correct the description"),
        (None, 1, "broken", "`pets`: cannot use", "save the description there, or correct the path in `openapi`"),
    ] {
        let mut proxy = Proxy::with_config_text(&config);
        if let Some(text) = text {
            proxy = proxy.file("pets.yaml", text);
        }
        for arguments in [&["doctor", "--json"][..], &["doctor", "--start", "--json"]] {
            let found = findings(&proxy.run(arguments.iter().copied()).await.expect(code).json());
            let of_it = found.iter().find(|(area, ..)| area == "apis").unwrap_or_else(|| panic!("{found:#?}"));
            assert!(of_it.1 == state && of_it.2.contains(what) && of_it.3.contains(cure), "{of_it:?}");
            let broken = found.iter().filter(|(area, state, ..)| state == "broken" && area != "boxes").count();
            assert_eq!(broken, usize::try_from(code).expect("it is small"), "{found:#?}");
        }
    }
    let text = format!(
        "mcpServers:\n  pets: {{openapi: 'http://127.0.0.1:{closed}/a.json', url: 'http://127.0.0.1:{port}'}}\n"
    );
    let proxy = Proxy::with_config_text(&text);
    let found = findings(&proxy.run(["doctor", "--start", "--json"]).await.expect(1).json());
    let fix = &found.iter().find(|(area, ..)| area == "servers").expect("it could not be started").3;
    assert!(fix.contains("correct `openapi` of `pets`"), "{fix}");
}
