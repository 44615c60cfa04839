//! Servers that want a log-in: from `proxy login` to tools that work, and what may go wrong on the way.

mod accounts;
mod callback;
mod client_credentials;
mod command;
mod discovery;
mod enterprise;
mod first_time;
mod interrupted;
mod log_out;
mod migration;
mod old_transport;
mod others;
mod records;
mod refresh;
mod registration;
mod resource;
mod secrets;
mod shared_store;
mod step_up;
mod unused;
mod waiting;
mod while_serving;
