//! Nineteen servers at once on a machine with other work, ten of them real. `tests/trial/starts` does the same with
//! nineteen real ones.

use std::collections::HashMap;
use std::fs;
use std::process::{Child, Command};

use serde_json::{Value, json};

use super::{hanging, with_tools};
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

/// Programs that compute, beside whatever the test does.
struct Load(Vec<Child>);

impl Load {
    fn start(processes: usize) -> Self {
        let hog = |_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        Load((0..processes).map(hog).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// The same server, which leaves its name in a file whenever it is started.
fn named(directory: &TempDir, name: &str, server: &Command) -> Command {
    let mut command = Command::new("sh");
    let line = format!("echo {name} >> {}; exec \"$0\" \"$@\"", directory.path().join("names").display());
    command.args(["-c", &line]).arg(server.get_program()).args(server.get_args());
    for (variable, value) in server.get_envs() {
        command.env(variable, value.expect("nothing is removed"));
    }
    command
}

fn started(directory: &TempDir) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for name in fs::read_to_string(directory.path().join("names")).unwrap_or_default().lines() {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

fn nineteen(directory: &TempDir) -> Option<Config> {
    let files = |name: &str| real_servers::filesystem(&directory.directory(name));
    let real = [
        ("everything", real_servers::everything()?),
        ("notes", files("notes")?),
        ("drafts", files("drafts")?),
        ("photos", files("photos")?),
        ("memory", real_servers::memory(directory.path())?),
        ("graph", real_servers::memory(&directory.directory("graph"))?),
        ("time", real_servers::time()?),
        ("clock", real_servers::time()?),
        ("git", real_servers::git(directory)?),
        ("rmcp", crate::support::programs::rmcp_server([])),
    ];
    let ours = (1..=9).map(|number| (format!("fake{number}"), with_tools("echo,pid")));
    let all = real.map(|(name, server)| (name.to_owned(), server)).into_iter().chain(ours);
    Some(all.fold(Config::new(), |config, (name, server)| config.server(&name, &named(directory, &name, &server))))
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn nineteen_servers_beside_other_work_are_all_up_and_none_is_started_twice() {
    let directory = TempDir::new();
    let Some(config) = nineteen(&directory) else { return };
    let config = config.section("serve: {firstList: 150s}\ndefaults: {startTimeout: 3s}");
    let _load = Load::start(8);
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.program.stderr.patience = LONG_PATIENCE;
    proxy.client.initialize("2025-11-25").await.result();
    let names = proxy.client.request("tools/list", "{}").await.tool_names();
    let status = proxy.world.run(["status", "--json"]).await.expect(0).json();
    let servers = status["servers"].as_array().expect("servers").clone();
    let is_ready = |server: &Value| server["status"] == "ready";
    assert!(servers.len() == 19 && servers.iter().all(is_ready), "{servers:?}");
    assert!(names.len() > 60, "{names:?}");
    let started = started(&directory);
    assert_eq!(started.len(), 19);
    assert!(started.values().all(|times| *times == 1), "{started:?}");
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn from_the_second_start_on_servers_that_hang_or_die_delay_nobody() {
    let config = (1..=16).fold(Config::new(), |config, number| {
        config.server(&format!("fake{number}"), &with_tools(if number == 1 { "echo,pid" } else { "pid" }))
    });
    let dead = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    };
    let config = config
        .server_with("hangs", &hanging(), json!({"startTimeout": "1h"}))
        .server("dead", &dead("exit 1"))
        .server("broken", &dead("echo no key >&2; sleep 0.1; exit 2"));
    let text = |first_list: &str| config.clone().section(&format!("serve: {{firstList: {first_list}}}")).text();
    let mut proxy = Proxy::with_config_text(&text("4s")).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await.len(), 17);
    proxy.client.finish().await;
    proxy.world.directory.write("proxy.yaml", &text("1h"));
    let mut proxy = proxy.world.stdio();
    proxy.client.initialize("2025-11-25").await.result();
    assert_eq!(proxy.tools().await.len(), 17, "without the hour of `firstList`");
}
