//! Constants that both sides know.

/// The first argument that makes this binary the zygote.
pub const ARGUMENT: &str = "__sandbox";

/// The size of the longest script, in bytes. No model means to write a longer one, and the parser's stack grows with the
/// script.
pub const MAX_SOURCE: usize = 64 << 10;

/// The address space of a worker, in bytes.
pub(in crate::sandbox) const ADDRESS_SPACE: u64 = 512 << 20;

/// How many branches of `parallel` a script may start in total.
pub(in crate::sandbox) const MAX_BRANCHES: usize = 10_000;
