//! Workers are born of a process that has read everything a worker needs, and then waits: a copy of it is there in a
//! fraction of the time in which a new program is. Here are both sides, and what they say to each other.

mod life;
mod line;
mod parent;

pub use life::run;
pub(super) use parent::{Started, Zygote};
