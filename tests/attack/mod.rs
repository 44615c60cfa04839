//! Everything at once that somebody who means harm could do, beside two honest sessions: they get all their answers,
//! and the proxy stays small. `ATTACK_SECONDS` says for how long; 600 is the full measure.
//! `ATTACK_ONLY` chooses attacks by a part of their names.

mod attackers;

use std::io::Write;
use std::time::{Duration, Instant};

use futures::future::{join, join_all};
use tokio_util::sync::CancellationToken;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::patience::LONG_PATIENCE;
use crate::support::programs;
use crate::support::proxy::{HttpProxy, Proxy};

const SECONDS: u64 = 12;
/// What all limits add up to, which a long attack reaches: queues, surfaces, schemas.
const MAX_KILOBYTES: usize = 768 * 1024;

const HONEST: [(&str, &str); 2] = [("alice", "alice-and-her-long-token"), ("bob", "bob-and-his-long-token")];
const MALLORY: &str = "mallory-and-the-long-token";

/// One surface for each name of a client; every tool of the hostile server is wrapped, so that its schemas are checked.
const SCRIPT: &str = r#"
NAME = client().name

def wrapped(call):
    def handler(args):
        return call(args)
    return handler

for name, backend in backends().items():
    for meta, call in backend.tools():
        publish(meta, wrapped(call) if name == "schema" else call)
"#;

async fn serve() -> HttpProxy {
    let hostile = |kind: &str| {
        let mut command = std::process::Command::new("python3");
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack/hostile.py")).arg(kind);
        command
    };
    let script: String = SCRIPT.lines().map(|line| format!("    {line}\n")).collect();
    let people = HONEST.iter().chain(&[("mallory", MALLORY)]);
    let tokens: String = people.map(|(name, token)| format!("    - {{ sub: {name}, token: {token} }}\n")).collect();
    let config = Config::new()
        .server("b", &programs::fake_backend(["--only", "echo,big,flood,progress,slow"]))
        .server_with("lists", &hostile("lists"), serde_json::json!({"maxListBytes": "8MiB"}))
        .server("schema", &hostile("schema"))
        .server("noise", &hostile("noise"))
        .section(&format!("sessionInit:\n  script: |\n{script}"))
        .section(&format!("auth:\n  tokens:\n{tokens}"))
        .section(concat!("extensions:\n  paths: [", env!("CARGO_MANIFEST_DIR"), "/extensions/text.star]"));
    Proxy::new(&config).http().await
}

/// A client whose servers are there.
async fn honest_client(proxy: &HttpProxy, token: &str) -> HttpClient {
    let mut client = proxy.client().with_header("Authorization", &format!("Bearer {token}"));
    client.initialize("2025-11-25").await.result();
    client.request("tools/list", "{}").await.result();
    client
}

/// Calls one after the other until it is over, and at least twice. Returns how long each took.
async fn call_honestly(mut client: HttpClient, over: &CancellationToken) -> Vec<Duration> {
    let mut took = Vec::new();
    while !over.is_cancelled() || took.len() < 2 {
        let (text, began) = (format!("call {}", took.len()), Instant::now());
        let answer = client.call("echo", &serde_json::json!({"text": text}).to_string()).await;
        took.push(began.elapsed());
        assert_eq!(answer.value()["result"]["structuredContent"]["text"], text, "{}", answer.raw);
    }
    took.sort();
    took
}

#[tokio::test]
#[ignore = "seconds of load"]
async fn under_every_attack_at_once_honest_calls_are_answered_and_memory_stays_bounded() {
    let seconds = std::env::var("ATTACK_SECONDS").map_or(SECONDS, |text| text.parse().expect("a number of seconds"));
    let mut proxy = serve().await;
    proxy.program.stderr.patience = LONG_PATIENCE;
    let over = CancellationToken::new();
    let honest = join_all(HONEST.map(|(_, token)| honest_client(&proxy, token))).await;
    let (counts, attacks) = attackers::all(&proxy, MALLORY, &over);
    let honest = join_all(honest.into_iter().map(|client| call_honestly(client, &over)));
    let clock = async {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        // Where the processors are busy with other things, an attack may take longer to begin.
        let end = Instant::now() + LONG_PATIENCE;
        while !counts.missing().is_empty() && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        over.cancel();
    };
    let (((), took), ()) = join(join(attacks, honest), clock).await;

    let peak = peak_kilobytes(proxy.program.id());
    let times: Vec<_> =
        took.iter().map(|took| (took.len(), took[took.len() / 2], took[took.len() * 99 / 100])).collect();
    let mut stderr = std::io::stderr();
    let _ =
        writeln!(stderr, "attack: {seconds} s, at most {} MiB\n{counts:?}\n(calls, p50, p99): {times:?}", peak / 1024);
    assert!(counts.missing().is_empty(), "not carried out: {:?}", counts.missing());
    assert!(peak < MAX_KILOBYTES, "{peak} kB");
}

/// The most memory that the process ever had.
fn peak_kilobytes(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the proxy still runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a process has a size");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number of kilobytes")
}
