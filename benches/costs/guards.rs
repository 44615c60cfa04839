//! What the guards cost a call that they let pass: a lock, flow rules, and a limit for results.

use std::process::{Command, Stdio};

/// A guard, and what it may cost.
pub struct Guard {
    pub what: &'static str,
    pub section: &'static str,
    /// In CPU microseconds; `None` if nobody has set a limit.
    pub limit: Option<f64>,
}

pub const GUARDS: [Guard; 4] = [
    Guard { what: "a lock that holds nothing back", section: "lock: freeze\n", limit: None },
    Guard {
        what: "flow rules, an item without labels",
        section: concat!(
            "flow: { labels: [{ name: echo, labels: [] }, { name: other, labels: [secret] }], ",
            "rules: [{ when: [secret], then: egress, do: deny }] }\n",
        ),
        limit: None,
    },
    Guard {
        what: "flow rules, an item that marks",
        section: concat!(
            "flow: { labels: [{ name: echo, labels: [untrusted] }], ",
            "rules: [{ when: [secret], then: egress, do: deny }] }\n",
        ),
        limit: None,
    },
    Guard { what: "a result below the limit", section: "results: { maxTokens: 20000 }\n", limit: Some(0.05) },
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
