//! Checks that refuse a script before it can harm the process or surprise its author.
//!
//! The parser, the compiler and the freezer of the engine recurse without a limit and compute constants without a limit,
//! and a stack overflow ends the process; [`nesting`], [`oversize`] and [`depth`] guard against these. [`capture`] and
//! [`lost_write`] guard against mistakes that are easy to make.

pub(super) mod capture;
pub(super) mod depth;
pub(super) mod held_names;
pub(super) mod lost_write;
pub(super) mod nesting;
pub(super) mod oversize;
