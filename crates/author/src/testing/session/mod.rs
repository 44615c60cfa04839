//! Sessions under test: the real script, surface and calls, over servers that exist only in the test.

mod approved;
mod build;
mod client;
mod completion;
mod fake_backend;
mod following;
mod overrides;
mod recording;
mod test_session;

pub(super) use approved::Approved;
pub(super) use build::SessionSpec;
pub(super) use client::ClientSpec;
pub(super) use fake_backend::{FakeBackendSpec, FakeItem, FakeReply};
pub(super) use test_session::TestSession;
