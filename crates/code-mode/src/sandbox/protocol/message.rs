//! The messages between proxy and worker.
//!
//! A position names a request: the requests of a branch are numbered, and the branches of the n-th request of a branch are
//! numbered in turn. `2` is the third request of the script itself; `2.0.1` is the second request of the first branch of
//! the `parallel` at `2`. What all positions of a branch start with (`2.0.`, or nothing for the script itself) names the
//! branch.

use serde::{Deserialize, Serialize};

use proxy_json::Raw;

/// A script with everything that it needs to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScriptJob {
    pub source: String,
    /// The global `data` of the script.
    pub data: Raw,
    pub functions: Vec<ToolFunction>,
    pub step_limit: u64,
    /// Bytes of heap.
    pub memory_limit: u64,
    /// Bytes that the script may return and print.
    pub output_limit: u64,
    /// How many branches of one `parallel` run at once.
    pub max_concurrent_branches: usize,
    /// Whether the script must not run unless every layer of the jail holds.
    pub require_jail: bool,
}

/// A tool that the script can call as a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFunction {
    pub identifier: String,
    pub tool: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::sandbox) enum ToWorker {
    Run(Box<ScriptJob>),
    /// The answer to the request at that position.
    Answer {
        at: String,
        value: Raw,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::sandbox) enum ToParent {
    Request {
        at: String,
        request: WorkerRequest,
    },
    /// A branch of a `parallel` has ended.
    BranchEnded {
        branch: String,
    },
    /// More text that the script printed.
    Printed(String),
    Done(ScriptResult),
}

/// What a script asks of the proxy.
#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerRequest {
    Call {
        tool: String,
        arguments: Raw,
    },
    Search {
        query: String,
        limit: usize,
    },
    /// This branch waits for `count` branches of its own, of which at most `limit` run at once.
    Fork {
        count: usize,
        limit: usize,
    },
}

/// How a script ended by itself: what it returned, or its error.
pub type ScriptResult = Result<Raw, ScriptFailure>;

/// The error of a script.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScriptFailure {
    pub message: String,
    /// Counted from 1.
    pub line: Option<usize>,
    pub hint: Option<String>,
}
