//! Child processes. Each runs in a process group of its own and is stopped with all its descendants, even if the proxy
//! itself is killed.

pub mod atomic_file;
mod ancestors;
mod child;
mod descriptor_three;
pub mod descriptors;
mod environment;
pub mod first_process;
mod memory;
mod program;
pub mod service_manager;
mod tree;
pub mod watchdog;
mod work;

pub use ancestors::{VARIABLE as ANCESTORS_VARIABLE, is_served_by_ancestor, with_ancestor};
pub use child::{Child, DESCENDANT_MARK, Launch};
pub use descriptor_three::DescriptorThree;
pub use environment::base_environment;
pub use memory::memory_of_group;
pub use program::{FoundProgram, ProgramNotFound, find_program, is_executable, program_in};
pub use work::WorkSample;
