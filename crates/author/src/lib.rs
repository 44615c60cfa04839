//! Tools for script authors: `proxy check` and its lints, the test runner, backtests of recorded calls, the built-in reference,
//! the language server and the interactive prompt. It runs scripts as the proxy does, against doubles or a running proxy. It
//! serves no client.

pub mod backtest;
pub mod check;
pub mod lint;
pub mod lsp;
pub mod prompt;
pub mod published;
pub mod reference;
pub mod testing;
