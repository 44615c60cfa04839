//! The Starlark host: evaluate, load, limit, convert, call. Knows no MCP; what a script may do to the world goes through
//! the trait [`Host`].

mod branches;
mod capture;
mod script_error;
mod context;
pub mod convert;
mod depth;
mod effect;
mod evaluate;
mod failure;
mod files;
mod function;
mod hints;
mod host;
mod journal;
mod limits;
mod loader;
mod meter;
mod nesting;
mod oversize;
mod parse;
mod part;
mod prompt;
mod report;
mod resolve;
mod source;
mod trial;

pub use branches::BranchOptions;
pub use context::{Context, LogLine};
pub use evaluate::{BIG_STACK, Program, evaluate, evaluate_and_call, on_big_stack, prepare};
pub use failure::{Failed, Failure, FailureKind};
pub use files::Files;
pub use function::{Before, Function};
pub use host::{Host, LogLevel, Stop};
pub use journal::{Journal, JournalCursor, JournalSnapshot, Question};
pub use limits::Limits;
pub use meter::StopReason;
pub use parse::parse;
pub use script_error::{ScriptError, script_error};

pub use prompt::{Prompt, converse};
pub use report::{diagnose, message as error_message, place};
pub use resolve::{Embedded, Paths, resolve};
pub use source::{MAX_SOURCE, Source};
pub use trial::{Found, look, try_function};
