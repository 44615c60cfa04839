//! Runs Starlark scripts: loading, evaluation, limits, conversion to and from JSON, and calls. A script's effects go
//! through its [`Host`]. Nothing here knows about MCP, the store or servers.

pub mod convert;
mod errors;
mod files;
mod guards;
mod host;
mod journal;
mod limits;
mod loading;
mod program;
mod run;
mod source;

pub use errors::report::{current_place, diagnose, message as error_message, place};
pub use errors::script_error::{ScriptError, script_error};
pub use files::Files;
pub use guards::held_names::{Holds, Names, literal};
pub use guards::lost_write::possibly_lost_writes;
pub use host::{
    Authorization, CallOptions, Clock, Effects, Evaluator, FlowControl, Host, LogLevel, Mocks, NotedFact, Output,
    Questions, Relay, RequestScope, Stop, ToolFacts, ToolRefusal,
};
pub use journal::{Journal, JournalCursor, KnownAnswer};
pub use limits::Limits;
pub use loading::parse::{parse, parse_unguarded};
pub use loading::resolve::{Embedded, Paths, resolve};
pub use program::evaluate::{BIG_STACK, Program, evaluate, evaluate_and_call, on_big_stack};
pub use program::prompt::{Prompt, converse};
pub use program::single_function::{Found, look, try_function};
pub use run::branches::BranchOptions;
pub use run::call_site::{CallSite, CallSites, SourceLine};
pub use run::context::{Context, LogLine};
pub use run::evaluator::prepare;
pub use run::failure::{Failed, Failure, FailureKind, InvalidArguments};
pub use run::function::{Before, Function};
pub use run::meter::StopReason;
pub use run::operators::{is_operator, register_operators};
pub use run::time_limit::SectionLimits;
pub use source::{MAX_SOURCE, Source};
