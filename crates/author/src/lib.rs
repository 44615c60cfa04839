//! Tools for script authors: `proxy check` and its lints, the test runner, backtests, the built-in reference, the
//! language server and the interactive prompt. Scripts run as in the proxy, against test doubles or a running proxy.
//! Nothing here serves clients.

pub mod backtest;
pub mod check;
pub mod lint;
pub mod lsp;
pub mod prompt;
pub mod published;
pub mod reference;
pub mod testing;
