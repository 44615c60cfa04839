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
}
