//! Limits the bytes that wait for clients to read them: per connection, per person and in total. The sender of a message
//! reserves its bytes first; the reservation ends when the message is written or dropped.

mod connection;
mod level;
mod message;
mod outlet;
#[cfg(test)]
mod tests;

pub use connection::{OutboundBudget, OutboundConnection, OutboundLimits};
pub use message::OutboundMessage;
pub use outlet::{NoRoom, Outlet, Reservation};
