//! However the proxy ends, nothing that it started is left.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::patience::within;
use crate::support::program::{Program, is_alive, is_gone};
use crate::support::programs::{self, fake_backend};
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
    signal_id(program.id(), signal);
}

fn signal_id(id: u32, signal: Signal) {
    let id = Pid::from_raw(id.cast_signed()).expect("a process id");
    kill_process(id, signal).expect("the program runs");
}

fn watchdog(program: &Program) -> u32 {
    let is_watchdog = |id: &u32| {
        let arguments = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        arguments.split('\0').nth(1) == Some("__watchdog")
    };
    // One that was killed is a zombie until the proxy looks, and has no arguments.
    descendants(program.id()).into_iter().find(is_watchdog).expect("there is a watchdog")
}

/// Waits until the watchdog has woken, has looked at all processes, and sleeps again. Nothing but its own timer wakes it
/// while no server starts or ends.
async fn watchdog_has_looked(program: &Program) {
    let watchdog = watchdog(program);
    let sleeps = || {
        let status = std::fs::read_to_string(format!("/proc/{watchdog}/status")).expect("the watchdog runs");
        let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).expect("Linux says so").trim();
        let times: u64 = value("voluntary_ctxt_switches:").parse().expect("a number");
        value("State:").starts_with('S').then_some(times)
    };
    let looked = async {
        let mut before = None;
        while before.is_none() || sleeps().is_none_or(|now| Some(now) == before) {
            before = before.or_else(sleeps);
            // Another process's sleep is only visible by looking.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("a look of the watchdog", &program.stderr, looked).await;
}

/// Somebody else's process group.
struct Bystander(Child);

impl Bystander {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").process_group(0).spawn().expect("there is sleep"))
    }

    /// Still there, and not even asked to end.
    fn must_be_unharmed(mut self) {
        // Not the interrupt: what runs in the background of a shell ignores that, and hands it down.
        signal_id(self.0.id(), Signal::USR1);
        let status = self.0.wait().expect("the child is ours to wait for");
        assert_eq!(status.signal(), Some(Signal::USR1.as_raw()));
    }
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
    for end in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        let mut proxy = Proxy::new(&Config::new().server("runaway", &wrapped)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.call("pid", "{}").await.result();
        let family = descendants(proxy.client.program.id());
        assert!(family.len() >= 3, "the watchdog, the server and the process it started: {family:?}");
        if end == Some(Signal::KILL) {
            // The watchdog must have seen it: the server dies at once, and then its children cannot be found.
            watchdog_has_looked(&proxy.client.program).await;
        }
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

#[tokio::test]
async fn a_command_that_does_not_exist_harms_nobody() {
    let config = config().server("absent", &Command::new("no-such-program"));
    for end in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        let bystander = Bystander::start();
        let mut proxy = Proxy::new(&config).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        let child = grandchild(&proxy.client.call("spawn_grandchild", "{}").await);
        let family = descendants(proxy.client.program.id());
        assert!(family.contains(&child), "{child} is not in {family:?}");
        match end {
            Some(end) => signal(&proxy.client.program, end),
            None => proxy.client.close_stdin(),
        }
        proxy.client.program.exit().await;
        all_gone(&family, proxy.client.stderr()).await;
        bystander.must_be_unharmed();
    }
}

#[tokio::test]
async fn after_an_orderly_end_the_watchdog_harms_nobody() {
    for (number, harmed) in [(Some(0), false), (None, true)] {
        let mut bystander = Bystander::start();
        let (mut line, theirs) = UnixStream::pair().expect("a pair of sockets");
        let mut watchdog = Command::new(programs::proxy().get_program())
            .arg("__watchdog")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .expect("the proxy runs");
        for record in [Some(bystander.0.id().cast_signed()), number].into_iter().flatten() {
            line.write_all(&record.to_le_bytes()).expect("the watchdog listens");
        }
        if harmed {
            drop(line);
            assert_eq!(bystander.0.wait().expect("our child").signal(), Some(Signal::TERM.as_raw()));
            assert!(watchdog.wait().expect("our child").success());
        } else {
            // The line is still open: the record alone ends it.
            assert!(watchdog.wait().expect("our child").success());
            bystander.must_be_unharmed();
        }
    }
}

#[tokio::test]
async fn servers_come_back_without_their_watchdog_and_get_another() {
    let config = Config::new()
        .server("mortal", &fake_backend(["--era", "legacy", "--only", "crash,pid"]))
        .server("steady", &fake_backend(["--era", "legacy", "--only", "spawn_grandchild"]));
    let mut proxy = Proxy::new(&config).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let held = grandchild(&proxy.client.call("spawn_grandchild", "{}").await);
    let before = proxy.client.call("pid", "{}").await.structured();
    let first = watchdog(&proxy.client.program);
    signal_id(first, Signal::KILL);
    is_gone(first, proxy.client.stderr()).await;
    assert_eq!(proxy.client.call("crash", "{}").await.value()["result"]["isError"], true);
    assert_ne!(proxy.client.call("pid", "{}").await.structured(), before);
    assert_ne!(watchdog(&proxy.client.program), first);
    // The new one knows of the server that started before it.
    let family = descendants(proxy.client.program.id());
    assert!(family.contains(&held) && is_alive(held), "{held} is not in {family:?}");
    signal(&proxy.client.program, Signal::KILL);
    proxy.client.program.exit().await;
    all_gone(&family, proxy.client.stderr()).await;
}

#[tokio::test]
async fn servers_come_back_even_if_there_can_be_no_watchdog() {
    let server = fake_backend(["--era", "legacy", "--only", "crash,pid"]);
    let world = Proxy::new(&Config::new().server("mortal", &server));
    // A program file of its own, to be taken away: then there is nothing to start another watchdog from.
    let program = world.directory.path().join("proxy-to-lose");
    // Copied by another process: a file that any process of ours holds open for writing cannot be run.
    let copied = Command::new("cp").arg(programs::proxy().get_program()).arg(&program).status().expect("there is cp");
    assert!(copied.success());
    let mut proxy = world.stand_in(&format!("exec '{}' \"$@\"", program.display())).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    let before = proxy.client.call("pid", "{}").await.structured();
    std::fs::remove_file(&program).expect("the copy is ours");
    let only = watchdog(&proxy.client.program);
    signal_id(only, Signal::KILL);
    is_gone(only, proxy.client.stderr()).await;
    assert_eq!(proxy.client.call("crash", "{}").await.value()["result"]["isError"], true);
    assert_ne!(proxy.client.call("pid", "{}").await.structured(), before);
    proxy.client.stderr().line("the watchdog exited and cannot be restarted").await;
}
