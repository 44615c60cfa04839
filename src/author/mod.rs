//! Tools for authors of scripts: `proxy check` and its lints, the test runner, backtests of recorded calls, the reference of
//! the built-ins, the language server, and the interactive prompt.

pub mod backtest;
pub mod check;
pub mod lint;
pub mod lsp;
pub mod prompt;
pub mod published;
pub mod reference;
pub mod testing;
