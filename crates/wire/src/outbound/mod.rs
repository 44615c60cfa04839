//! What waits for clients to read it, counted in bytes: per connection, per person and in all. Whoever sends a message
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
