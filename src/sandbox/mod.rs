//! Scripts that a model wrote, each in a process of its own: our own binary in a mode that may compute and talk to the
//! proxy over one pipe, and nothing else. Here are both sides; the parent believes nothing that a worker says.

mod ending;
mod heap;
mod job;
#[cfg(target_os = "linux")]
mod kernel;
mod message;
mod nursery;
mod places;
mod pool;
mod process;
mod reader;
mod run;
mod tools;
mod worker;

pub use ending::ExitReason;
pub use heap::Allocator;
pub use message::{Job, ScriptResult, WorkerRequest};
pub use nursery::run as run_nursery;
pub use pool::Workers;
pub use run::{Event, Run};
pub use tools::{found_tool, no_such_tool};

/// The first argument that makes the binary the one that workers come from.
pub const ARGUMENT: &str = "__sandbox";

/// Longer scripts are refused: no model means to write them, and the parser's stack grows with them.
pub const MAX_SOURCE: usize = 64 << 10;

/// What a worker may map, all in all.
const ADDRESS_SPACE: u64 = 512 << 20;
