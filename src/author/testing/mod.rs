//! `*_test.star` files: found, run, told. Every test runs in a world of its own, in which the clock, the network, commands
//! and servers are the test's.

mod assertions;
mod clock;
mod exchange;
mod fake;
mod find;
mod globals;
mod host;
mod jobs;
mod junit;
mod offered;
mod one;
mod person;
mod report;
mod run;
mod session;
mod session_make;
mod session_value;
mod show;
mod mocks;
mod visitor;
mod world;
mod world_builtins;

pub use find::find;
pub use globals::{globals, types};
pub use junit::junit;
pub use report::{Ran, Report};
pub use run::{Options, run};
