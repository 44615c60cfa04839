//! One integration binary: given these backends and this config, when the client does this, it sees exactly that.

mod command_line;
mod docs;
mod harness;
mod layers;
mod scripts;
mod support;
