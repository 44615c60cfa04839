//! One server, in `GET /status` and `GET /surface`.

use serde::{Deserialize, Deserializer, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerStatus {
    pub name: String,
    /// Such as `ready` or `starting`.
    pub status: String,
    /// Such as `stdio` or `extension`.
    pub kind: String,
    /// What the server calls itself.
    pub server_name: String,
    pub version: String,
    pub protocol_version: String,
    pub tools: usize,
    pub resources: usize,
    pub resource_templates: usize,
    pub prompts: usize,
    pub start_milliseconds: Option<u64>,
    /// Why it is not ready; empty if there is no error.
    pub error: String,
    /// The items that were left out, and why.
    pub reports: Vec<String>,
    /// How it compares with the lock; missing if it is not locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockStatus>,
    /// When an earlier process saw it last.
    pub last_seen: Option<String>,
    pub last_error: Option<ServerFailure>,
    // From here on only what a running proxy knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_open: Option<bool>,
    /// Null for an extension.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub restarts: Option<Option<u64>>,
    /// How many people have connections of their own; missing if all share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub people: Option<usize>,
    /// How many of them have to log in to their own account first; missing if there are no such accounts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub people_to_log_in: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<Vec<ServerProcess>>,
    /// Only while it rests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<RestStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// Null without calls.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub p50_ms: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub p95_ms: Option<Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_minute: Option<CallCounts>,
}

/// A member that is there, null or not.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl ServerStatus {
    /// The status for people: a server whose circuit breaker is open gets no calls, even if it is ready.
    pub fn state(&self) -> &str {
        match self.status.as_str() {
            "ready" | "resting" if self.breaker_open == Some(true) => "breaker open",
            status => status,
        }
    }
}

/// How a server compares with the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LockStatus {
    /// `warn`, `freeze` or `block`.
    pub mode: String,
    /// What is not as approved, one line each; empty if everything is.
    pub differences: Vec<String>,
}

/// Why a server was not ready when it was last tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerFailure {
    pub at: String,
    pub error: String,
}

/// The rest of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RestStatus {
    /// How long ago it was stopped; null if this proxy has not started it.
    pub stopped_seconds_ago: Option<u64>,
    /// The memory of its processes when it was stopped; null if it had none, or if that is not known on this system.
    pub saved_bytes: Option<u64>,
}

/// A process of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerProcess {
    pub pid: u32,
    pub uptime_seconds: u64,
}

/// Calls of a server within some time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallCounts {
    pub calls: u64,
    pub failed_calls: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_a_command_reads_and_prints_again_has_the_same_members() {
        let told = json!({"name": "a", "restarts": null, "p50Ms": null, "p95Ms": 1.5, "calls": 0});
        let read: ServerStatus = serde_json::from_value(told).unwrap();
        let printed = serde_json::to_value(&read).unwrap();
        assert_eq!((&printed["restarts"], &printed["p95Ms"]), (&Value::Null, &json!(1.5)));
        let members = printed.as_object().unwrap();
        assert!(members.contains_key("restarts") && members.contains_key("p50Ms"), "{printed}");
        // The last known state has nothing of what only a running proxy knows.
        let printed = serde_json::to_value(ServerStatus::default()).unwrap();
        assert!(!printed.as_object().unwrap().contains_key("restarts"), "{printed}");
    }
}
