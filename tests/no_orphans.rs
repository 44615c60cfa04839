//! However the proxy ends, nothing that it started is left.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::program::{Program, is_gone};
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stderr_log::StderrLog;

/// Two servers; each starts a process of its own when asked.
fn config() -> Config {
    Config::new()
        .server("one", &fake_backend(["--era", "legacy", "--only", "spawn_grandchild"]))
        .server("two", &fake_backend(["--era", "modern", "--only", "spawn_grandchild"]))
}

const TOOLS: [(&str, &str); 2] = [("spawn_grandchild", "{}"), ("two_spawn_grandchild", r#"{"hold_stdout":true}"#)];

fn grandchild(answer: &Message) -> u32 {
    let pids: Value = answer.value()["result"]["structuredContent"].clone();
    pids["grandchild"].as_u64().and_then(|id| u32::try_from(id).ok()).expect("a process id")
}

/// Every process below this one, at this moment.
fn descendants(root: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("there is /proc").flatten();
    let all: Vec<(u32, u32)> = entries
        .filter_map(|entry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let parent = stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect();
    let (mut found, mut parents) = (Vec::new(), vec![root]);
    while let Some(parent) = parents.pop() {
        let children: Vec<u32> = all.iter().filter(|(_, of)| *of == parent).map(|(id, _)| *id).collect();
        parents.extend(&children);
        found.extend(children);
    }
    found
}

/// The family as it is now; the grandchildren must be in it, or the test would show nothing.
fn family(program: &Program, grandchildren: &[u32]) -> Vec<u32> {
    let family = descendants(program.id());
    assert!(grandchildren.iter().all(|id| family.contains(id)), "{grandchildren:?} are not in {family:?}");
    assert!(family.len() >= 4, "two servers and their children: {family:?}");
    family
}

async fn all_gone(family: &[u32], log: &StderrLog) {
    for id in family {
        is_gone(*id, log).await;
    }
}

fn signal(program: &Program, signal: Signal) {
    let id = Pid::from_raw(program.id().cast_signed()).expect("a process id");
    kill_process(id, signal).expect("the program runs");
}

#[tokio::test]
async fn a_proxy_on_stdio_leaves_nothing_behind() {
    for end in [None, Some(Signal::TERM), Some(Signal::INT), Some(Signal::KILL)] {
        let mut proxy = Proxy::new(&config()).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        let mut grandchildren = Vec::new();
        for (tool, arguments) in TOOLS {
            grandchildren.push(grandchild(&proxy.client.call(tool, arguments).await));
        }
        let family = family(&proxy.client.program, &grandchildren);
        match end {
            Some(end) => signal(&proxy.client.program, end),
            None => proxy.client.close_stdin(),
        }
        let status = proxy.client.program.exit().await;
        assert_eq!(status.success(), end != Some(Signal::KILL), "{end:?}: {status}");
        all_gone(&family, proxy.client.stderr()).await;
    }
}

#[tokio::test]
async fn a_proxy_on_http_leaves_nothing_behind() {
    for end in [Signal::TERM, Signal::INT, Signal::KILL] {
        let mut proxy = Proxy::new(&config()).http().await;
        let mut client = proxy.client();
        let mut grandchildren = Vec::new();
        for (tool, arguments) in TOOLS {
            grandchildren.push(grandchild(&client.modern_call(tool, arguments).await));
        }
        let family = family(&proxy.program, &grandchildren);
        signal(&proxy.program, end);
        let status = proxy.program.exit().await;
        assert_eq!(status.success(), end != Signal::KILL, "{end:?}: {status}");
        all_gone(&family, &proxy.program.stderr).await;
    }
}

#[tokio::test]
async fn a_process_that_left_its_group_is_ended_too() {
    let server = fake_backend(["--era", "legacy", "--only", "pid"]);
    let mut wrapped = std::process::Command::new("sh");
    wrapped
        .args(["-c", "setsid sleep 1000 </dev/null >/dev/null 2>&1 &\nexec \"$0\" \"$@\""])
        .arg(server.get_program())
        .args(server.get_args());
    for end in [None, Some(Signal::TERM)] {
        let mut proxy = Proxy::new(&Config::new().server("runaway", &wrapped)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.call("pid", "{}").await.result();
        let family = descendants(proxy.client.program.id());
        assert!(family.len() >= 2, "the server and the process it started: {family:?}");
        match end {
            Some(end) => signal(&proxy.client.program, end),
            None => proxy.client.close_stdin(),
        }
        proxy.client.program.exit().await;
        all_gone(&family, proxy.client.stderr()).await;
    }
}

#[tokio::test]
async fn the_children_of_a_server_that_died_are_ended_with_it() {
    let server = fake_backend(["--era", "legacy", "--only", "spawn_grandchild,crash"]);
    let mut proxy = Proxy::new(&Config::new().server("mortal", &server)).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for arguments in ["{}", r#"{"hold_stdout":true}"#] {
        let orphan = grandchild(&proxy.client.call("spawn_grandchild", arguments).await);
        assert_eq!(proxy.client.call("crash", "{}").await.value()["result"]["isError"], true);
        is_gone(orphan, proxy.client.stderr()).await;
    }
}
