//! The processes that scripts run in.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{failure, returned, run, started, world};
use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::patience::within;
use crate::support::program::is_gone;
use crate::support::programs::{self, fake_backend};
use crate::support::proxy::{Proxy, StdioProxy};

/// The processes of a proxy that are there for scripts, at this moment, oldest first.
fn processes(proxy: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("there is /proc").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_one = |id: &u32| {
        let arguments = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let words: Vec<&str> = arguments.split('\0').collect();
        words.get(1) == Some(&"__sandbox") && words.get(2) == Some(&proxy.to_string().as_str())
    };
    let mut processes: Vec<u32> = ids.filter(is_one).collect();
    processes.sort_by_key(|id| (field(*id, 22), *id));
    processes
}

/// Those that run scripts, and then the spare one.
fn workers(proxy: u32) -> Vec<u32> {
    let parent = |id: &u32| u32::try_from(field(*id, 4)).ok();
    processes(proxy).into_iter().filter(|id| parent(id) != Some(proxy)).collect()
}

/// The one they are copies of.
fn zygote(proxy: u32) -> u32 {
    processes(proxy).into_iter().find(|id| field(*id, 4) == i64::from(proxy)).expect("it was needed already")
}

/// A number of `/proc/ID/stat`, counted from 1 as the manual does.
fn field(id: u32, number: usize) -> i64 {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let behind_name = stat.rfind(')').map_or("", |end| &stat[end + 1..]);
    behind_name.split_whitespace().nth(number - 3).and_then(|text| text.parse().ok()).unwrap_or(-1)
}

fn kill(id: u32) {
    let id = Pid::from_raw(id.cast_signed()).expect("a process id");
    kill_process(id, Signal::KILL).expect("it runs");
}

/// A script that waits in a tool, and the worker it runs in.
async fn waiting(proxy: &mut StdioProxy) -> (String, u32) {
    let script = json!({"script": "print('x')\nreturn stall()"});
    let params = json!({"name": "execute_tool_script", "arguments": script}).to_string();
    let id = proxy.client.begin("tools/call", &params).await;
    // The server tells when the call has reached it.
    proxy.client.call("seen", r#"{"wait_for":"stall"}"#).await.result();
    let oldest = workers(proxy.client.program.id()).first().copied();
    (id, oldest.expect("a worker waits for the tool"))
}

/// Runs a script, again and again while it is lost: it may have got the spare worker, whose end has not been noticed yet.
async fn run_again(proxy: &mut StdioProxy, script: &str) -> Message {
    loop {
        let answer = run(proxy, script).await;
        if !answer.raw.contains("; run the script again") {
            return answer;
        }
    }
}

fn descriptors(id: u32) -> usize {
    fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count)
}

/// Tools beside the scripts over them.
fn beside() -> Proxy {
    let config = Config::new()
        .server("fake", &fake_backend(["--only", "stall,seen,echo"]))
        // Longer than anything here waits: the end of a worker is noticed at once.
        .section("codeMode: { enabled: true, timeout: 10m, toolCallTimeout: 10m }");
    Proxy::new(&config)
}

#[tokio::test]
async fn a_worker_holds_nothing_but_its_pipe_and_little_of_the_system() {
    let mut proxy = started(beside()).await;
    let (_, worker) = waiting(&mut proxy).await;
    assert_eq!(descriptors(worker), 1, "only the pipe");
    let environment = fs::read_to_string(format!("/proc/{worker}/environ")).unwrap_or_default();
    assert!(environment.split('\0').all(|entry| entry.is_empty() || entry.starts_with("MIMALLOC_")), "{environment}");
    let limits = fs::read_to_string(format!("/proc/{worker}/limits")).expect("it runs");
    assert!(limits.lines().any(|line| line.starts_with("Max address space") && line.contains("536870912")), "{limits}");
    let status = fs::read_to_string(format!("/proc/{worker}/status")).expect("it runs");
    assert!(status.contains("Seccomp:\t2"), "the filter is on: {status}");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let nice = field(worker, 19);
    assert!(nice >= 10, "it goes behind others: {nice}");
}

/// The zygote keeps one descriptor, whose number is beyond those that the proxy inherited.
#[tokio::test]
async fn a_proxy_that_inherited_many_descriptors_can_still_start_workers() {
    let program = programs::proxy().get_program().display().to_string();
    // Other shells know descriptors of one digit only.
    let open_many = r#"for n in {3..120}; do eval "exec $n</dev/null"; done; exec "$0" "$@""#;
    let beside = beside().stand_in(&format!("exec bash -c '{open_many}' '{program}' \"$@\"\n"));
    let mut proxy = started(beside).await;
    assert!(descriptors(proxy.client.program.id()) > 110, "they were inherited");
    assert_eq!(returned(&run(&mut proxy, "return 1").await), json!(1));
    let (_, worker) = waiting(&mut proxy).await;
    assert_eq!(descriptors(worker), 1, "only the socket");
}

#[tokio::test]
async fn one_that_is_killed_is_an_error_of_its_call_and_the_next_call_has_another() {
    let mut proxy = started(beside()).await;
    let (call, _) = waiting(&mut proxy).await;
    for worker in workers(proxy.client.program.id()) {
        kill(worker);
    }
    let text = failure(&proxy.client.response(&call).await);
    assert!(text.starts_with("the script's worker process was lost (signal: 9"), "{text}");
    assert!(text.ends_with("; run the script again\nprinted before the error:\nx\n"), "{text}");
    assert_eq!(returned(&run_again(&mut proxy, "return echo(n = 1)").await), json!({"n": 1}));
}

#[tokio::test]
async fn the_process_they_come_from_may_be_killed_too() {
    let mut proxy = started(beside()).await;
    let (call, worker) = waiting(&mut proxy).await;
    kill(zygote(proxy.client.program.id()));
    let text = failure(&proxy.client.response(&call).await);
    assert!(text.starts_with("the script's worker process was lost ("), "{text}");
    is_gone(worker, proxy.client.stderr()).await;
    assert_eq!(returned(&run_again(&mut proxy, "return echo(n = 1)").await), json!({"n": 1}));
}

#[tokio::test]
async fn half_of_the_processors_are_left_to_others() {
    let mut proxy = started(beside()).await;
    let (_, worker) = waiting(&mut proxy).await;
    let processors = |id: u32| {
        let pid = Pid::from_raw(id.cast_signed()).expect("a process id");
        let allowed = rustix::thread::sched_getaffinity(Some(pid)).expect("it runs");
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number)).count()
    };
    assert_eq!(processors(worker), processors(proxy.client.program.id()).div_ceil(2));
}

#[tokio::test]
async fn a_cancelled_call_ends_its_worker() {
    let mut proxy = started(beside()).await;
    let (call, worker) = waiting(&mut proxy).await;
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{call}}}"#)).await;
    is_gone(worker, proxy.client.stderr()).await;
    assert_eq!(returned(&run(&mut proxy, "return 2").await), json!(2));
}

#[tokio::test]
async fn no_worker_outlives_the_proxy_however_it_ends() {
    for end in [Signal::TERM, Signal::KILL] {
        for script in ["return stall()", "return max(range(2000000000))"] {
            let mut proxy = started(world("stall,echo", "timeout: 60s")).await;
            run(&mut proxy, "return 1").await.result();
            let params = json!({"name": "execute_tool_script", "arguments": {"script": script}}).to_string();
            proxy.client.begin("tools/call", &params).await;
            // Answered behind it: both have been taken.
            proxy.client.request("ping", "{}").await.result();
            let proxy_id = proxy.client.program.id();
            let started = async {
                while workers(proxy_id).is_empty() {
                    // Processes of another one are only visible by looking.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            within("a worker", proxy.client.stderr(), started).await;
            let all = processes(proxy_id);
            let id = Pid::from_raw(proxy_id.cast_signed()).expect("a process id");
            kill_process(id, end).expect("it runs");
            proxy.client.program.exit().await;
            // One may have been on its way when the list was made.
            for process in all.into_iter().chain(processes(proxy_id)) {
                is_gone(process, proxy.client.stderr()).await;
            }
        }
    }
}

#[tokio::test]
async fn a_hundred_scripts_at_once_all_end_well() {
    let mut proxy = started(world("echo", "timeout: 60s")).await;
    let mut calls = Vec::new();
    for number in 0..100 {
        let script = format!("return echo(n = {number})['n']");
        let params = json!({"name": "execute_tool_script", "arguments": {"script": script}}).to_string();
        calls.push(proxy.client.begin("tools/call", &params).await);
    }
    for (number, call) in calls.iter().enumerate() {
        assert_eq!(returned(&proxy.client.response(call).await), json!(number));
    }
}
