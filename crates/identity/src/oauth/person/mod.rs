//! A person's log-in in use: the credentials for transports, renewal, changes made by other processes, and log-out.

mod caller_accounts;
mod credentials;
mod follower;
mod forgotten_client;
mod known;
mod log_in_table;
mod log_out;
mod person_log_in;
mod renewal;

pub(super) use caller_accounts::CallerAccounts;
pub(super) use credentials::PersonCredentials;
pub(super) use forgotten_client::{drop_client, is_forgotten};
pub(super) use log_in_table::LogInTable;
pub(super) use log_out::log_out;
pub(super) use person_log_in::PersonLogIn;
