//! `GET /sessions`, and the end of sessions.

use serde::{Deserialize, Serialize};

use crate::NamedUser;

/// The HTTP sessions of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionList {
    /// The process.
    pub home: String,
    pub sessions: Vec<SessionStatus>,
}

/// One session. Its id, with which everybody could use it, is not told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionStatus {
    /// What logs and the audit log call the session.
    pub digest: String,
    pub user: String,
    /// The issuer of the user's token; empty if no issuer has said who it is.
    pub issuer: String,
    pub client: String,
    pub client_version: String,
    pub protocol_version: String,
    /// The process that opened the session.
    pub home: String,
    pub opened_seconds_ago: u64,
    pub used_seconds_ago: u64,
}

/// The body of `POST /sessions/end`: which sessions to end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum SessionEnd {
    Digest(String),
    User(NamedUser),
}

/// The answer: how many of them this process served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndedSessions {
    pub ended: usize,
    /// Why other sessions may go on that the operator meant, for people; empty if all has been done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// The body of `GET /replicas`: the processes that share the store, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplicaList {
    /// The process that was asked.
    pub home: String,
    pub replicas: Vec<ReplicaStatus>,
}

/// What a process says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaStatus {
    pub home: String,
    pub version: String,
    pub host: String,
    pub pid: u32,
    /// Where clients connect.
    pub address: String,
    pub uptime_seconds: u64,
    /// The sessions that it serves now. One session may count at several.
    pub sessions: usize,
    /// When it said so, in milliseconds since 1970 by the clock of the store.
    pub at: u64,
    /// How long ago that was.
    pub seen_seconds_ago: u64,
    /// Whether it has other keys, so that nothing more is known of it.
    pub has_other_keys: bool,
}
