//! Plain data that all layers share: definitions, servers, clients, users and request records. No I/O, no Starlark, no HTTP.

mod app;
mod catalog;
mod backend;
mod call_record;
mod caller;
mod completion;
mod content;
mod credentials;
mod definition;
pub mod flow;
mod form;
pub mod journal;
pub mod lock;
mod locked_view;
mod method;
pub mod operator_api;
mod per_kind;
mod result;
pub mod scan;
mod secret;
mod server_info;
mod template;
mod tool_checks;
mod tool_schema;
mod withheld;

pub use app::{interface_fault, interface_of, link_interface};
pub use backend::{
    BackendKind, BackendView, ItemRef, LastKnown, NEEDS_PERSON, NEEDS_SIGN_IN, StartFailure, Status, ViewVariant,
    error_line, problem,
};
pub use call_record::{
    AnsweredQuestion, CallOutcome, CallPeer, CallReader, CallRecord, CallRefusal, CallSource, HandledCall,
    HandlerRecord, NOT_PUBLISHED, REPL, RecordedEvent, RecordedEventKind, RecordedItem, RecordedResult, RefusalReason,
    ReplayFacts, RequestTrace, ServerAddress, ServerCallRecord, SpanId, TraceContext, TraceId,
};
pub use caller::{
    Abilities, ClientInfo, ClientProfile, Era, Home, NamedUser, Owner, PersonKey, Principal, PrincipalData, Realm,
    RequestInfo, ScopeRule, ScopeRules, SessionDigest, Sid, SurfaceCacheKey, SurfaceKey, Who,
};
pub use catalog::{Snapshot, SnapshotVariant};
pub use completion::{MAX_COMPLETIONS, no_completion, shaped_completion};
pub use credentials::{AuthorizationRefusal, CallerCredentials, Credentials, LoginNeeded, Remedy};
pub use definition::{Definition, DefinitionError, ItemKind};
pub use form::{checked_answer, checked_form};
pub use journal::{JournalSnapshot, Question, QuestionKind};
pub use method::{MethodPattern, capability_of, is_protocol_method};
pub use per_kind::PerKind;
pub use result::{
    error_result, error_result_with, error_text, invalid_params_result, is_error_result, is_invalid_params_result,
    payload, shaped, shaped_contents, shaped_messages,
};
pub use secret::Secret;
pub use server_info::{Lists, ServerInfo};
pub use template::UriTemplate;
pub use tool_checks::{ToolChecks, checked_output};
pub use tool_schema::ToolSchema;
