//! The everyday commands with eighteen servers, six of them real and twelve slow: how many processes each command starts and
//! how many lines it prints. `run` beside this file measures the same with nineteen real servers and in seconds, `starts` their
//! first minutes beside other work, and `rest` what it saves that servers rest.

use std::process::Command;

use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

/// The same server, which leaves its name in a file whenever it is started.
fn counted(directory: &TempDir, name: &str, server: &Command) -> Command {
    let starts = directory.path().join("starts");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("echo {name} >> '{}'; exec \"$0\" \"$@\"", starts.display())]);
    command.arg(server.get_program()).args(server.get_args());
    for (variable, value) in server.get_envs() {
        command.env(variable, value.expect("nothing is removed"));
    }
    command
}

/// How many servers were started since the last look.
fn started(directory: &TempDir) -> usize {
    let file = directory.path().join("starts");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(file);
    text.lines().count()
}

fn config(directory: &TempDir) -> Option<Config> {
    let files = directory.directory("files");
    let real = [
        ("everything", real_servers::everything()?),
        ("filesystem", real_servers::filesystem(&files)?),
        ("memory", real_servers::memory(directory.path())?),
        ("time", real_servers::time()?),
        ("git", real_servers::git(directory)?),
        ("notes", real_servers::filesystem(&directory.directory("notes"))?),
    ];
    let slow = |number: usize| (format!("slow{number}"), fake_backend(["--start-delay", "1000", "--only", "echo"]));
    let servers = real.map(|(name, server)| (name.to_owned(), server)).into_iter().chain((1..=12).map(slow));
    let config =
        servers.fold(Config::new(), |config, (name, server)| config.server(&name, &counted(directory, &name, &server)));
    Some(config.section("serve: {firstList: 60s}"))
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn with_eighteen_servers_commands_start_none_or_the_one_that_they_need() {
    let directory = TempDir::new();
    let Some(config) = config(&directory) else { return };
    let proxy = Proxy::new(&config);

    // Given that all were started once
    let states = proxy.run(["list-servers", "--live", "--json"]).await.expect(0).json();
    let is_ready = |state: &serde_json::Value| state["status"] == "ready";
    assert!(states.as_array().is_some_and(|states| states.len() == 18 && states.iter().all(is_ready)), "{states}");
    assert!(started(&directory) >= 18);

    // Then lists start nothing
    for command in ["list-servers", "list-tools", "list-resources", "find time", "types", "check"] {
        proxy.run(command.split(' ')).await.expect(0);
        assert_eq!(started(&directory), 0, "{command}");
    }
    // And a call starts the server that it reaches
    let told = proxy.run(["call", "get_current_time", "timezone=UTC"]).await.expect(0);
    assert!(told.stdout.contains("UTC"), "{}", told.stdout);
    assert_eq!(started(&directory), 1);

    // Given a proxy that runs, which says in fewer than thirty lines that all are up
    let (mut program, _) = Program::start_server(proxy.command(["serve", "--http", "127.0.0.1:0"])).await;
    program.stderr.patience = LONG_PATIENCE;
    program.stderr.line("all 18 servers are up").await;
    assert!(program.stderr.text().lines().count() < 30, "{}", program.stderr.text());
    started(&directory);
    // Then it is asked, and nothing is started
    for command in ["list-servers", "list-tools", "find time", "call get_current_time timezone=UTC", "status"] {
        proxy.run(command.split(' ')).await.expect(0);
        assert_eq!(started(&directory), 0, "{command}, beside a running proxy");
    }
}
