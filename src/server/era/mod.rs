//! Pure translation between protocol revisions: what a result, an error or a question looks like to a client of each.

pub(crate) mod blocks;
pub(crate) mod caching;
pub(crate) mod detect;
pub(crate) mod missing_capability;
pub(crate) mod older_question;
pub(crate) mod encode_for;
