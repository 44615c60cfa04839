//! Calls of published items: lookup in the surface, `on_request`, the script's handler, and dispatch to a backend. Start at
//! `call.rs`; checks are in `access.rs` and `permit.rs`.

mod access;
mod asking;
mod call;
mod call_outcome;
mod client_question;
mod completion;
mod context;
mod dispatch;
mod failed;
mod flow;
mod handler;
mod kept_read;
mod logged_call;
mod other_request;
mod permit;
mod published_uri;
mod recorded_request;
mod refresh;
mod test_overrides;

pub use asking::{WaitingMemory, prepared_answer, take_answer};
pub use call::{Calls, POLICY_CHANGED, PromptRequest};
pub use client_question::{ANSWER_TIMEOUT, as_request};
pub use completion::Completed;
pub use context::{ItemCall, PolicyNow, RequestContext};
pub use dispatch::Dispatcher;
pub use failed::failed;
pub use flow::{FlowItem, GuardedQuestions, Passage, RulesNow, ToldLabels};
pub use other_request::OtherRequest;
pub use permit::Permit;
pub use recorded_request::{RecordedRequest, RequestOrigin};
pub use refresh::{RefreshTarget, Refreshed};
pub use test_overrides::TestOverrides;

#[cfg(test)]
mod tests;
