//! Calls of published items: lookup in the surface, admission by `on_request`, the script's handler, and dispatch to a
//! backend.

mod access;
mod asking;
mod call;
mod call_outcome;
mod context;
mod dispatch;
mod host;
mod handler_run;
mod host_authorization;
mod logged_call;
mod other_request;
mod permit;
mod progress;
mod published_uri;
mod recorded_request;
mod request_state;
mod test_overrides;
mod handler_peer;

pub use asking::{ANSWER_TIMEOUT, WaitingMemory, as_request, take_answer};
pub use call::{Calls, Forward, POLICY_CHANGED, PromptRequest};
pub use context::{ItemCall, PolicyNow, RequestContext};
pub use dispatch::Dispatcher;
pub use handler_run::failed;
pub use other_request::OtherRequest;
pub use permit::Permit;
pub use recorded_request::{RecordedRequest, RequestOrigin};
pub use test_overrides::TestOverrides;
