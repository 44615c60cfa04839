//! Tools for authors of scripts: `proxy check` and its lints, the test runner, the reference of the built-ins, the
//! language server, and the interactive prompt.

pub mod check;
pub mod lint;
pub mod lsp;
pub mod prompt;
pub mod published;
pub mod reference;
pub mod testing;
