//! Server-sent events as text, and bodies made of them.

use axum::body::{Body, Bytes};
use futures::{StreamExt, stream};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::http::Watch;
use crate::outbox::Outgoing;
use crate::pretty;

/// One event; every line of the text gets its own `data:` line.
pub fn event(text: &str, pretty: bool) -> String {
    let text = if pretty { pretty::spread(text) } else { text.to_owned() };
    let data: String = text.split('\n').map(|line| format!("data: {line}\n")).collect();
    format!("event: message\n{data}\n")
}

/// A body that sends `first` and then everything that arrives. The watch tells whether the client read to the end.
pub fn body(first: String, rest: UnboundedReceiver<Outgoing>, pretty: bool, watch: Watch) -> Body {
    let head = stream::once(async move { Ok::<_, std::io::Error>(Bytes::from(first)) });
    let tail = stream::unfold((rest, watch), move |(mut rest, mut watch)| async move {
        match rest.recv().await {
            Some(next) => {
                watch.answered |= next.response;
                Some((Ok(Bytes::from(event(&next.text, pretty))), (rest, watch)))
            }
            None => {
                watch.finish();
                None
            }
        }
    });
    Body::from_stream(head.chain(tail))
}
