//! Complete calls for `proxy calls --record`: the lines of the file, as events.

mod queue;
mod stream;

pub(super) use stream::{catalog_now, send_recording};
