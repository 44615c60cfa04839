//! Calls of stateless clients that wait for answers: tickets, waiting conversations, and journals in the store.

pub(crate) mod conversation;
pub(crate) mod journals;
pub(crate) mod ticket;
pub(crate) mod rounds;
