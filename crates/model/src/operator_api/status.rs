//! `GET /status`, and what is told of single servers.

use serde::{Deserialize, Serialize};

use super::ServerStatus;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxyStatus {
    pub version: String,
    pub pid: u32,
    pub uptime_seconds: u64,
    /// The config file as it was given.
    pub config: Option<String>,
    pub folder: String,
    /// `stdio` or `http`.
    pub transport: Option<String>,
    pub address: Option<String>,
    /// What is in use; null if it is more than a file, or a newer version is not in use yet.
    pub source: Option<ServedSource>,
    /// The name of the session script.
    pub script: Option<String>,
    pub published: ItemCounts,
    /// The profile that the command line chose: then the members of this struct are about it.
    pub profile: Option<String>,
    /// The profiles that clients reach by their paths, sorted by name.
    pub profiles: Vec<ProfileStatus>,
    pub servers: Vec<ServerStatus>,
    pub last_reload: Option<LastReload>,
    pub config_errors: Vec<String>,
    pub script_errors: Vec<String>,
    pub user_errors: Vec<UserError>,
    pub extension_errors: Vec<String>,
    pub audit: Option<AuditStatus>,
    /// What holds code-mode scripts; null before the first one.
    pub jail: Option<JailStatus>,
    pub issuers: Vec<IssuerStatus>,
    pub clients: Vec<ClientStatus>,
    /// What clients get in another form, for each row of limits that is in use.
    pub rows: Vec<RowStatus>,
    /// What each thread that serves clients does.
    pub threads: Vec<ThreadStatus>,
    /// `ready` if it takes work. Empty for a proxy of an older version.
    pub health: String,
}

/// The config file and the digests of its text and of the session script.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServedSource {
    pub path: String,
    pub digest: String,
    pub script: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ItemCounts {
    pub tools: usize,
    pub resources: usize,
    pub resource_templates: usize,
    pub prompts: usize,
}

/// A profile that clients reach by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProfileStatus {
    pub name: String,
    pub path: String,
    /// The name of its session script.
    pub script: String,
    /// Null before anybody has used it, and while its script has never run successfully.
    pub published: Option<ItemCounts>,
    /// Clients with a session there.
    pub sessions: usize,
    pub script_errors: Vec<String>,
    pub user_errors: Vec<UserError>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastReload {
    pub at: String,
    pub seconds_ago: u64,
    pub what: String,
}

/// The session script fails for one user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserError {
    pub user: String,
    pub error: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditStatus {
    pub file: String,
    pub seq: u64,
    /// The hash of the last line; null before the first.
    pub head: Option<String>,
    /// Why it cannot be written.
    pub error: Option<String>,
    /// How many lines could not be written.
    pub lost: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JailStatus {
    pub seccomp: bool,
    pub landlock: bool,
    /// What the system refuses; empty if nothing.
    pub missing: String,
}

/// An issuer whose tokens are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IssuerStatus {
    pub issuer: String,
    pub ready: bool,
    pub keys: usize,
    pub fetched_seconds_ago: Option<u64>,
    pub error: Option<String>,
    pub omitted_groups: u64,
    pub odd_claims: u64,
}

/// A thread that serves clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadStatus {
    pub connections: usize,
    /// Requests that are being answered.
    pub running: usize,
    /// All requests so far.
    pub requests: u64,
    /// How long it was not idle so far.
    pub busy_seconds: f64,
}

/// What clients of a row of limits get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RowStatus {
    pub row: String,
    /// How many tools they get in another form.
    pub lowered: usize,
    /// What the session script logged for them and not for everybody.
    pub notes: Vec<String>,
}

/// A client with a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientStatus {
    pub name: String,
    pub version: String,
    pub protocol_version: String,
    pub user: String,
    /// The profile where it has its session; empty at the top level.
    pub profile: String,
    /// Its row of limits; empty if it has none.
    pub row: String,
    pub connected_seconds: u64,
}

/// The answer to `POST /servers/NAME/restart`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RestartReport {
    pub server: String,
    /// `ready`, `starting`, `login` or `failed`.
    pub status: String,
    pub error: String,
    /// Only if it is ready.
    pub tools: Option<usize>,
    pub seconds: f64,
}

/// The answer to `GET /logs`: the lines, or why there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerLog {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<LoggedLine>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A line that a server wrote to stderr.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoggedLine {
    pub time: String,
    pub text: String,
}
