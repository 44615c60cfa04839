//! Built-ins that only compute. Scripts of code mode get these and nothing else; the clock in [`time`] needs a handler.

pub(super) mod attempt;
pub(super) mod base64;
pub(super) mod digest;
pub(super) mod fuzzy;
pub(super) mod json;
pub(super) mod math;
pub(super) mod redact;
pub(super) mod regex;
pub(super) mod results;
pub(super) mod time;
pub(super) mod tokens;
pub(super) mod url;
