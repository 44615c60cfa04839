//! Whole calls for `proxy calls --record`: what the file will hold, as events.

mod queue;
mod stream;

pub(super) use stream::{catalog_now, send_recording};
