//! A person's log-in in use: the credentials for transports, renewal, changes made by other processes, and log-out.

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
