//! Built-ins that only compute. Code-mode scripts get these besides the functions of the sandbox. There are two exceptions:
//! reading the clock in [`time`] is an effect, possible only in handlers, and only session scripts and extensions have
//! [`content`].

pub(super) mod attempt;
pub(super) mod base64;
pub(super) mod content;
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
