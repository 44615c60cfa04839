//! The log-in of a person, in use: what transports show of it, its renewal, what other processes do about it, and its end.

mod credentials;
mod follower;
mod known;
mod log_out;
mod person_log_in;
mod renewal;

pub(super) use credentials::PersonCredentials;
pub(super) use follower::{Follower, PersonLogIns};
pub(super) use log_out::log_out;
pub(super) use person_log_in::PersonLogIn;
