//! `command()`: executables as handlers of tools, resources and prompts.

mod argument_template;
mod bind;
mod construct;
mod handler;
mod returned;
mod spec;

pub(super) use bind::{bind, warnings};
pub(super) use construct::register_command;
pub(super) use handler::CommandHandler;
