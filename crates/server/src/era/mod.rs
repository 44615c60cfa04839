//! Pure translation between protocol revisions: encodes results, errors and questions for the revision of a client.

pub(crate) mod blocks;
pub(crate) mod caching;
pub(crate) mod detect;
pub(crate) mod missing_capability;
pub(crate) mod older_question;
pub(crate) mod encode_for;
