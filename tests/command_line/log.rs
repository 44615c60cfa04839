//! The log cannot be filled by one server, and audit lines cannot be pushed out.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::config::Config;
use crate::support::message::{call, initialize_params};
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

const SCRIPT: &str = "
def noted(args):
    log('noted', level = 'audit', number = args['number'])
publish(metadata('note', '', {}, {}), noted)
passthrough()
";

#[tokio::test]
async fn a_server_that_floods_the_log_is_cut_short_and_counted_beside_all_audit_lines() {
    let fake = fake_backend(["--only", "echo"]);
    let mut loud = Command::new("sh");
    loud.args(["-c", "yes 'garbage of a server' | head -n 20000 >&2; exec \"$0\" \"$@\""]);
    loud.arg(fake.get_program()).args(fake.get_args());
    let config = Config::new()
        .server_with("loud", &loud, json!({"log": "debug"}))
        .section("sessionInit: { scriptFile: policy.star }");
    let mut proxy = Proxy::new(&config).file("policy.star", SCRIPT).stdio();
    proxy.client.initialize("2025-11-25").await.result();
    for number in 0..50 {
        proxy.client.call("note", &format!(r#"{{"number":{number}}}"#)).await.result();
    }
    // The server starts when the garbage is written.
    proxy.client.stderr().line("ready: ").await;
    proxy.client.close_stdin();
    proxy.client.finish().await;
    let log = proxy.client.stderr().whole().await;
    assert_eq!(log.lines().filter(|line| line.contains(" AUDIT noted")).count(), 50, "{log}");
    let garbage = log.lines().filter(|line| line.contains("garbage of a server")).count();
    assert!((500..=600).contains(&garbage), "{garbage}");
    let counts: Vec<&str> = log.lines().filter(|line| line.contains("left out")).collect();
    let [count] = counts[..] else { panic!("{counts:?}") };
    let left_out = count.split("left out ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
    let left_out: usize = left_out.parse().expect("a number");
    assert!(count.contains(" WARN  loud: left out"), "{count}");
    // A pipe still holds some of it.
    assert!((15_000..=20_000).contains(&left_out), "{left_out}");
}

#[test]
fn calls_go_on_while_nobody_reads_the_log_and_lost_audit_lines_are_counted() {
    let script = "
def noted(args):
    log('noted', level = 'audit', text = 'x' * (1 << 20))
publish(metadata('note', '', {}, {}), noted)
";
    let config = Config::new().section("sessionInit: { scriptFile: policy.star }");
    let proxy = Proxy::new(&config).file("policy.star", script);
    let mut command = proxy.serve_command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut request = |id: u32, method: &str, params: &str| {
        writeln!(input, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).expect("it reads");
        let answer = answers.next().expect("an answer").expect("text");
        assert!(answer.contains("\"result\"") && answer.contains(&format!("\"id\":{id}")), "{answer}");
    };
    request(0, "initialize", &initialize_params("2025-11-25", "{}"));
    let started = Instant::now();
    for id in 1..=20 {
        request(id, "tools/call", &call("note", "{}"));
    }
    // One call waits; the next ones see that nothing moves.
    assert!(started.elapsed() > Duration::from_secs(1), "{:?}", started.elapsed());
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    drop(input);
    let mut log = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut log).expect("text");
    child.wait().expect("it ends");
    let kept = log.lines().filter(|line| line.contains(" AUDIT noted")).count();
    let lost = log.lines().find(|line| line.contains(" ERROR lost ")).expect("a count");
    assert!((7..=9).contains(&kept) && lost.contains(&format!("lost {} audit lines", 20 - kept)), "{kept}: {lost}");
}
