//! Plain data that all layers share: definitions, backends, clients and users. No I/O, no Starlark.

mod catalog;
mod abilities;
mod backend;
mod call_record;
mod credentials;
mod definition;
mod form;
mod method;
mod owner;
mod principal;
mod profile;
mod request;
mod result;
mod scope_rules;
mod secret;
mod surface_key;
mod template;
mod tool_checks;
mod tool_schema;
mod withheld;

pub use abilities::Abilities;
pub use backend::{
    BackendKind, BackendView, ItemRef, LastKnown, Lists, ServerInfo, StartFailure, Status, ViewVariant, error_line,
    problem,
};
pub use call_record::{
    AnsweredQuestion, CallEvent, CallEventKind, CallOutcome, CallPeer, CallReader, CallRecord, CallRefusal, CallSource,
    HandledCall, HandlerRecord, REPL, RecordedItem, RefusalReason, ReplayFacts, RequestTrace, ServerCallRecord, SpanId,
    TraceContext, TraceId,
};
pub use catalog::{Snapshot, SnapshotVariant};
pub use credentials::{AuthorizationRefusal, Credentials, LoginNeeded, Remedy};
pub use definition::{Definition, DefinitionError, ItemKind};
pub use form::{checked_answer, checked_form};
pub use method::{MethodPattern, capability_of, is_protocol_method};
pub use owner::Owner;
pub use principal::{Principal, Realm, Who};
pub use profile::{ClientProfile, Era};
pub use request::{ClientInfo, RequestInfo};
pub use result::{error_result, error_text, payload, shaped, shaped_contents, shaped_messages};
pub use scope_rules::{ScopeRule, ScopeRules};
pub use secret::Secret;
pub use surface_key::{SurfaceCacheKey, SurfaceKey};
pub use template::UriTemplate;
pub use tool_checks::{ToolChecks, check_output};
pub use tool_schema::ToolSchema;
