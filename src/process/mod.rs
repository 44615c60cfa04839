//! Children: started in a process group of their own, ended with everything they started, also when the proxy itself
//! is killed.

mod above;
mod child;
mod environment;
mod tree;
mod turns;
pub mod watchdog;

pub use above::{below, is_served_above};
pub use child::{Child, Launch, MARK};
pub use environment::base_environment;
pub use turns::prefer_long_turns;
