//! The global allocator, and what it knows: how much the current fiber has allocated, and the limit of a sandboxed
//! process.

mod allocator;
mod count;

pub use allocator::{Allocator, give_back, limit};
pub use count::{balance, exchange, take};

// Here, so that every program that links a crate of the proxy measures and limits its memory, also unit tests.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;
