//! What the rest of the proxy uses of a server: the implementation of [`Backend`](super::Backend), which carries a call
//! through questions, tasks and reconnects to its result.

pub(crate) mod server_handle;
pub(crate) mod stop_on_drop;
pub(crate) mod input_rounds;
pub(crate) mod tasks;
