//! The proxy as the first process of a container: signals reach it, and orphans do not stay as zombies.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::support::config::Config;
use crate::support::finished::Finished;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::real_servers::missing;
use crate::support::stderr_log::StderrLog;

/// The same command as the first process of a new process namespace. None where the kernel allows none.
fn as_first_process(command: &Command) -> Option<Command> {
    let namespace = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child=TERM", "--"];
    let mut trial = Command::new("unshare");
    trial.args(namespace).arg("true");
    if !trial.output().is_ok_and(|done| done.status.success()) {
        return missing("`unshare` cannot make a process namespace");
    }
    let mut inside = Command::new("unshare");
    inside.args(namespace).arg(command.get_program()).args(command.get_args());
    inside.current_dir(command.get_current_dir().expect("the folder of the config"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    Some(inside)
}

/// The children of a process, with zombies.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("there is /proc").flatten();
    let child = |entry: fs::DirEntry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let of = stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?;
        (of == parent.to_string()).then_some(id)
    };
    processes.filter_map(child).collect()
}

/// The only child, once there is one and no other.
async fn only_child(of: u32, log: &StderrLog) -> u32 {
    let there = async {
        loop {
            if let [id] = children(of)[..] {
                return id;
            }
            // No event tells of another process's child.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("a child", log, there).await
}

/// A server that leaves an orphan, which ends soon.
const LEAVES_AN_ORPHAN: &str = "#!/bin/sh\n(sh -c 'echo >orphan; exec sleep 0.3' &)\nwait_for_input=$(cat)\n";

#[tokio::test]
async fn a_container_leaves_no_zombies_and_ends_on_sigterm() {
    let proxy = Proxy::with_config_text("mcpServers: { orphans: { command: ./server } }\n")
        .executable("server", LEAVES_AN_ORPHAN);
    let command = proxy.command(["serve", "--http", "127.0.0.1:0", "--config", "proxy.yaml"]);
    let Some(command) = as_first_process(&command) else { return };

    let (mut container, _) = Program::start_server(command).await;

    let log = container.stderr.clone();
    proxy.directory.appearing("orphan", &log).await;
    let first = only_child(container.id(), &log).await;
    // The kernel has made the orphan a child of the first process, which has to wait for it.
    only_child(first, &log).await;
    // A container's SIGTERM reaches its first process.
    let first = i32::try_from(first).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(first, rustix::process::Signal::TERM).expect("it runs");
    assert!(container.exit().await.success(), "the proxy drains and ends by itself");
}

#[tokio::test]
async fn a_container_has_the_exit_code_of_the_proxy() {
    let proxy = Proxy::new(&Config::new().server("fake", &fake_backend(["--only", "echo"])));
    let Some(wrong) = as_first_process(&proxy.command(["check", "--config", "nowhere.yaml"])) else { return };
    let Some(right) = as_first_process(&proxy.command(["--version"])) else { return };

    let refused = Finished::run(wrong).await.expect(2);
    assert!(refused.stderr.contains("nowhere.yaml"), "{}", refused.stderr);
    assert!(Finished::run(right).await.expect(0).stdout.starts_with("proxy "));
}
