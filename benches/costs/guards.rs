//! What the guards cost a call that they let pass: a lock, flow rules, and a limit for results.

use std::process::{Command, Stdio};

use crate::{http, watched};

/// The sections of a config, and what the row is called.
pub const GUARDS: [(&str, &str); 4] = [
    ("with a lock that holds nothing back", "lock: freeze\n"),
    (
        "with flow rules, an item without labels",
        concat!(
            "flow: { labels: [{ name: echo, labels: [] }, { name: other, labels: [secret] }], ",
            "rules: [{ when: [secret], then: egress, do: deny }] }\n",
        ),
    ),
    (
        "with flow rules, an item that marks",
        concat!(
            "flow: { labels: [{ name: echo, labels: [untrusted] }], ",
            "rules: [{ when: [secret], then: egress, do: deny }] }\n",
        ),
    ),
    ("with a result below the limit", "results: { maxTokens: 20000 }\n"),
];

/// Approves what the servers of a config list.
pub fn lock(proxy: &str, config: &str) {
    let status = Command::new(proxy)
        .args(["lock", "--yes", "--config", config])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success(), "the lock was not written");
}

/// A proxy and its address.
pub type Serving = (tokio::process::Child, String);

/// CPU microseconds of a call through each of the proxies over one through the first. They take turns: the machine is
/// faster at one time than at another.
pub async fn over_the_first(proxies: &[Serving], rounds: usize, calls: usize) -> (f64, Vec<f64>) {
    let mut measured = vec![Vec::new(); proxies.len()];
    for _ in 0..rounds {
        for (proxy, costs) in proxies.iter().zip(&mut measured) {
            costs.push(http::cost(&proxy.1, proxy.0.id().unwrap(), 32, calls).await);
        }
    }
    let over = measured[1..]
        .iter()
        .map(|costs| watched::middle(costs.iter().zip(&measured[0]).map(|(with, without)| with - without).collect()));
    let over = over.collect();
    (watched::middle(measured.swap_remove(0)), over)
}
