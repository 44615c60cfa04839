//! The public handle of a server: implements [`Backend`](super::Backend) and carries a call through reconnects, server
//! requests and tasks to its result. Uses all other modules of this crate.

mod complete;
mod connection_choice;
mod dispatch;
mod input_rounds;
mod questions;
mod server_handle;
mod stop_on_drop;
mod subscribe;
mod task_answers;
mod tasks;
mod waking;

pub use questions::{forbidden_input_request, wants_more};
pub use server_handle::{Handle, ServerLoad, start};
pub use stop_on_drop::StopOnDrop;
