//! Why the proxy or its script refused a request.

use serde::{Deserialize, Serialize};

/// Why the proxy or its script refused a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRefusal {
    pub reason: RefusalReason,
    /// The line of the script that refused, such as `policy.star:41`, or the policies of `cedar` that did.
    pub at: Option<String>,
    pub why: String,
}

/// Why a request for an unknown item is refused, as its record says it.
pub const NOT_PUBLISHED: &str = "no such item is published";

/// Who refused, with the files that note it (each path begins with a crate and leaves out its `src`). Two reasons are
/// inferred in `telemetry/recording.rs`: [`RateLimit`](Self::RateLimit) and [`Declined`](Self::Declined).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// `fail()` in `on_request` or `on_other_request`: `engine/calls/handler/run.rs` and `engine/calls/other_request.rs`.
    /// For a call by the script: `builtins/search/call.rs`.
    OnRequest,
    /// `fail()` in a handler: `engine/calls/handler/run.rs`.
    Handler,
    /// `fail()` or a result with `isError`, after a rate limit was exceeded. Inferred: `builtins/effects/rate_limits.rs` only
    /// notes that the limit was exceeded.
    RateLimit,
    /// A result with `isError`, after the user did not accept what the script asked. Inferred: `builtins/effects/elicit.rs`
    /// only notes the answer.
    Declined,
    /// The arguments do not match the published schema: `engine/calls/handler/run.rs`. For a call by the script:
    /// `builtins/search/call.rs`.
    Schema,
    /// Nothing of that name is published: `engine/calls/access.rs`. For a call by the script: `builtins/search/call.rs`.
    Unknown,
    /// The audit log is required and cannot be written: `engine/calls/call.rs`.
    Audit,
    /// A policy of `cedar` forbids it, or none permits it: `engine/calls/permit.rs`, also for items that policies hide.
    Policy,
    /// The token lacks a scope that the item needs: `server/front/http/scope_check.rs` (403) before the call begins, then
    /// `engine/calls/permit.rs`.
    Scope,
    /// The item differs from what the lock approves, or the lock does not approve it: `engine/calls/call.rs`, and
    /// `engine/calls/dispatch.rs` for what is sent to a server.
    Lock,
    /// A rule of `flow` stops it, because of what the conversation has read, or the marks cannot be stored:
    /// `engine/calls/flow`.
    Flow,
}

impl RefusalReason {
    pub const ALL: [Self; 11] = [
        Self::OnRequest,
        Self::Handler,
        Self::RateLimit,
        Self::Declined,
        Self::Schema,
        Self::Unknown,
        Self::Audit,
        Self::Policy,
        Self::Scope,
        Self::Lock,
        Self::Flow,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            RefusalReason::OnRequest => "on_request",
            RefusalReason::Handler => "handler",
            RefusalReason::RateLimit => "rate_limit",
            RefusalReason::Declined => "declined",
            RefusalReason::Schema => "schema",
            RefusalReason::Unknown => "unknown",
            RefusalReason::Audit => "audit",
            RefusalReason::Policy => "policy",
            RefusalReason::Scope => "scope",
            RefusalReason::Lock => "lock",
            RefusalReason::Flow => "flow",
        }
    }
}
