//! For whoever writes scripts: their tests.

pub mod testing;
