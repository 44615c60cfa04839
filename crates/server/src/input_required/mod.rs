//! `input_required`: calls of stateless clients that wait for answers. A ticket in `requestState` refers to a call that
//! is suspended in this process, to a handler's journal in the store, or to the state of a stateless server.

mod open_questions;
pub(crate) mod conversation;
pub(crate) mod journals;
pub(crate) mod ticket;
pub(crate) mod rounds;
