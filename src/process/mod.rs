//! Children: started in a process group of their own, ended with everything they started, also when the proxy itself
//! is killed.

pub mod atomic_file;
mod ancestors;
mod child;
mod environment;
mod tree;
pub mod watchdog;

pub use ancestors::{below, is_served_by_ancestor};
pub use child::{Child, Launch, MARK};
pub use environment::base_environment;
