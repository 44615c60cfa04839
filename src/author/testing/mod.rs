//! `*_test.star` files: found, run, told. Every test runs in a world of its own, in which the clock, the network, commands
//! and servers are the test's.

mod assertions;
mod find;
mod globals;
mod host;
mod jobs;
mod junit;
mod one;
mod report;
mod run;
mod show;
mod world;

pub use find::find;
pub use globals::globals;
pub use junit::junit;
pub use report::{Ran, Report};
pub use run::{Options, run};
