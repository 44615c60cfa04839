//! The listener on loopback to which the authorization server sends the browser back. It takes one answer: that of this
//! log-in, which its `state` tells. Any web page can make a browser send other requests here, so these are refused and do
//! not end the wait.

mod endpoint;
mod page;
mod port;
mod request_head;

pub(super) use page::{ResultPage, Verdict};
pub(super) use port::{Callback, CallbackEvent, CallbackPort, Callbacks};
