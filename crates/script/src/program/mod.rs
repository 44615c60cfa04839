//! Whole files: a script with everything that it loads becomes a module, whose functions can then be called.

pub(super) mod evaluate;
pub(super) mod loader;
pub(super) mod prompt;
pub(super) mod single_function;
