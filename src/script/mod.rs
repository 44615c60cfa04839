//! The Starlark engine as the proxy uses it: loading, evaluating, limiting, converting, calling. Knows no MCP. The effects
//! of a script go through its [`Host`].

pub mod convert;
mod errors;
mod guards;
mod host;
mod journal;
mod loading;
mod run;

pub use errors::failure::{Failed, Failure, FailureKind, InvalidArguments};
pub use errors::report::{diagnose, message as error_message, place};
pub use errors::script_error::{ScriptError, script_error};
pub use guards::lost_write::possibly_lost_writes;
pub use host::{
    Authorization, CallOptions, Clock, Effects, Evaluator, Host, LogLevel, Mocks, NotedFact, Output, Questions, Relay,
    RequestScope, Stop, ToolFacts, ToolRefusal,
};
pub use journal::{Journal, JournalCursor};
pub use loading::files::Files;
pub use loading::parse::parse;
pub use loading::resolve::{Embedded, Paths, resolve};
pub use loading::source::{MAX_SOURCE, Source};
pub use run::branches::BranchOptions;
pub use run::call_site::{CallSite, CallSites, SourceLine};
pub use run::context::{Context, LogLine};
pub use run::evaluate::{BIG_STACK, Program, evaluate, evaluate_and_call, on_big_stack};
pub use run::evaluator::prepare;
pub use run::function::{Before, Function};
pub use run::limits::Limits;
pub use run::meter::StopReason;
pub use run::operators::{is_operator, register_operators};
pub use run::prompt::{Prompt, converse};
pub use run::single_function::{Found, look, try_function};
pub use run::time_limit::SectionLimits;
