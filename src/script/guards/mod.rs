//! Checks that refuse a script before it can harm the process or surprise its author.
//!
//! The parser, the compiler and the freezer of the engine recurse without a limit and compute constants without a limit,
//! and a stack overflow ends the process; [`nesting`], [`oversize`] and [`depth`] guard against these. [`capture`] guards
//! against a mistake that Starlark makes easy.

pub(super) mod capture;
pub(super) mod depth;
pub(super) mod nesting;
pub(super) mod oversize;
