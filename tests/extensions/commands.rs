//! `exec.run`: what is allowed, what comes out, and that nothing stays behind.

use serde_json::json;

use super::{one_tool, serving, started, world};
use crate::support::program::is_gone;
use crate::support::proxy::StdioProxy;
use crate::support::stderr_log::StderrLog;

#[tokio::test]
async fn commands_run_only_if_they_are_declared() {
    let none = one_tool("return exec.run('ls', ['-la'])", "");
    let others = one_tool("return exec.run(\"rm\", [\"-rf\", \"/tmp/x\"])", "allowed_exec = [\"ls\", \"cat\"],")
        .replace("\"one\"", "\"two\"")
        .replace("\"run\"", "\"other\"");
    let mut proxy = serving(&[("one.star", &none), ("two.star", &others)]).await;
    let text = proxy.fault("run", json!({})).await;
    assert!(text.contains("the extension may not run commands; add `allowed_exec = [\"ls\"]`"), "{text}");
    let text = proxy.fault("other", json!({})).await;
    assert!(text.contains("`rm` is not allowed: `allowed_exec` of the extension has \"ls\", \"cat\""), "{text}");
}

#[tokio::test]
async fn a_command_gets_arguments_as_they_are_and_a_small_environment() {
    let body = "return exec.run('sh', ['-c', 'echo \"$1\"; echo \"${TOKEN:-no token}\"; cat; pwd; exit 3', 'sh', params['text']], stdin = 'in ', cwd = 'sub')";
    let proxy = world(&[("one.star", &one_tool(body, "allowed_exec = ['sh'],")), ("sub/x.txt", "")]);
    let mut proxy = started(proxy.environment("TOKEN", "s3cret")).await;
    let result = proxy.data("run", json!({"text": "$(id); `id` && \"x\""})).await;
    let output = result["stdout"].as_str().unwrap();
    assert!(output.starts_with("$(id); `id` && \"x\"\nno token\nin /") && output.ends_with("/tools/sub\n"), "{output}");
    assert_eq!(
        (&result["exit_code"], &result["success"], &result["timed_out"]),
        (&json!(3), &json!(false), &json!(false))
    );
}

#[tokio::test]
async fn a_command_that_forks_and_hangs_is_ended_with_all_its_children() {
    let body = "return exec.run('sh', ['-c', 'sleep 1000 & echo $!; setsid sleep 1000 & echo $!; echo $$; wait'], timeout = 0.5)";
    let mut proxy = serving(&[("one.star", &one_tool(body, "allowed_exec = ['sh'],"))]).await;
    let result = proxy.data("run", json!({})).await;
    assert_eq!(result["timed_out"], true);
    let ids: Vec<String> = result["stdout"].as_str().unwrap().lines().map(str::to_owned).collect();
    assert_eq!(ids.len(), 3, "{result}");
    all_gone(&ids, proxy.client.stderr()).await;
}

#[tokio::test]
async fn a_cancelled_call_ends_its_command() {
    let body = "return exec.run('sh', ['-c', 'sleep 1000 & echo $! $$ > ids.tmp; mv ids.tmp ids; wait'], cwd = '.', timeout = 600)";
    let mut proxy = serving(&[("one.star", &one_tool(body, "allowed_exec = ['sh'],"))]).await;
    let id = proxy.client.begin("tools/call", r#"{"name":"run","arguments":{}}"#).await;
    let ids = ids(&proxy).await;
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    all_gone(&ids, proxy.client.stderr()).await;
    // The proxy itself goes on.
    proxy.client.request("ping", "{}").await.result();
}

#[tokio::test]
async fn a_daemon_that_left_its_group_and_its_parents_is_ended_too() {
    // The shell in between is gone at once: nobody's parent is left to be found by.
    let daemon = "(setsid sh -c 'sleep 1000 & echo $! $$ > ids.tmp; mv ids.tmp ids; wait' &)";
    let body = format!("return exec.run('sh', ['-c', \"{daemon}; sleep 1000\"], cwd = '.', timeout = 600)");
    let mut proxy = serving(&[("one.star", &one_tool(&body, "allowed_exec = ['sh'],"))]).await;
    let id = proxy.client.begin("tools/call", r#"{"name":"run","arguments":{}}"#).await;
    let ids = ids(&proxy).await;
    assert_eq!(ids.len(), 2);
    proxy.client.notify("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
    all_gone(&ids, proxy.client.stderr()).await;
}

#[tokio::test]
async fn a_killed_proxy_leaves_no_command() {
    let body = "return exec.run('sh', ['-c', 'sleep 1000 & echo $! $$ > ids.tmp; mv ids.tmp ids; wait'], cwd = '.', timeout = 600)";
    let mut proxy = serving(&[("one.star", &one_tool(body, "allowed_exec = ['sh'],"))]).await;
    proxy.client.begin("tools/call", r#"{"name":"run","arguments":{}}"#).await;
    let ids = ids(&proxy).await;
    proxy.client.program.kill();
    all_gone(&ids, proxy.client.stderr()).await;
}

#[tokio::test]
async fn output_without_end_is_cut() {
    let body = "result = exec.run('yes', timeout = 0.3)\nreturn {\"truncated\": result[\"truncated\"], \"kept\": len(result[\"stdout\"])}";
    let mut proxy = serving(&[("one.star", &one_tool(body, "allowed_exec = ['yes'],"))]).await;
    assert_eq!(proxy.data("run", json!({})).await, json!({"truncated": true, "kept": 1 << 20}));
}

/// The process ids that a command has written down.
async fn ids(proxy: &StdioProxy) -> Vec<String> {
    let text = proxy.world.directory.appearing("tools/ids", proxy.client.stderr()).await;
    text.split_whitespace().map(str::to_owned).collect()
}

async fn all_gone(ids: &[String], log: &StderrLog) {
    for id in ids {
        is_gone(id.parse().expect("a process id"), log).await;
    }
}
