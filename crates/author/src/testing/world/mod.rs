//! The isolated environment of one test: its clock, store, mocks of the network and of commands, and scripted user.

mod clock;
mod exchange;
mod host;
mod mock_results;
mod mocks;
mod scripted_user;
mod test_case;
mod test_world;

pub(super) use host::{TestHost, current_world, format_log_line};
pub(super) use mocks::{MockReply, MockedEffect, ReplySequence};
pub(crate) use scripted_user::ScriptedUser;
pub(super) use test_case::TestCase;
pub(super) use test_world::TestWorld;
