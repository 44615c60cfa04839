//! What each MCP client accepts, and tools listed so that it accepts them: shorter names, simpler schemas, shorter
//! descriptions, and the way back from them. It knows clients by their names and tools by their definitions. It serves
//! nobody and decides nothing about access: whoever lists tools asks it for one client's form of them.

mod change;
mod dialect;
mod dialect_tool;
mod dialects;
mod lowered;
mod names;
mod schema;
mod table;
mod version;

pub use change::{Change, Step};
pub use dialect::{Dialect, Excess, Limits, NamePattern, ResultLimit};
pub use dialect_tool::DialectTool;
pub use dialects::Dialects;
pub use lowered::{Lowered, lower};
pub use names::RowNames;
pub use version::{VersionBounds, VersionError};

#[cfg(test)]
mod tests;
