//! The loopback listener to which the authorization server redirects the browser. It accepts one answer, with the `state` of
//! this login. Any web page can make a browser send other requests here, so these are refused and do not end the wait.

mod endpoint;
mod page;
mod port;
mod request_head;

pub(super) use page::{ResultPage, Verdict};
pub(super) use port::{Callback, CallbackEvent, CallbackPort, Callbacks};
