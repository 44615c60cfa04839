//! The interface between the proxy and its backends: a call, its answer or error, and the peer it is made for.
//! Uses none of the other modules of `backend`.

pub(crate) mod backend_call;
pub(crate) mod peer;
