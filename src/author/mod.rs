//! For whoever writes scripts: what looks wrong in them before they run, what they would publish, what there is to write
//! with, their tests, and help while writing.

pub mod check;
pub mod lint;
pub mod lsp;
pub mod prompt;
pub mod published;
pub mod reference;
pub mod testing;
