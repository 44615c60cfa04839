//! Runs `*_test.star` files. Every test runs in its own world: the clock, the network, commands and servers are the
//! test's.

mod language;
mod runner;
mod session;
mod world;

pub use language::{globals, types};
pub use runner::{TestOptions, TestReport, TestResult, find, junit, run};
pub(crate) use world::ScriptedUser;
