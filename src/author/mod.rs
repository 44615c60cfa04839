//! For whoever writes scripts: what looks wrong in them before they run, and what they would publish.

pub mod check;
pub mod lint;
pub mod published;
