//! Server-sent events as text, in every spelling the format allows, and bodies made of them.

use axum::body::{Body, Bytes};
use futures::StreamExt;
use futures::stream::{iter, unfold};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::http::Watch;
use crate::options::Options;
use crate::outbox::Outgoing;
use crate::pretty;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    #[default]
    Plain,
    /// Lines end in CR.
    CarriageReturn,
    /// Lines end in CR LF.
    Both,
    /// Every byte is a chunk of its own, so that characters are split.
    Bytes,
    /// Comments, other event types, empty data with ids and unknown fields come before every event, and a byte order
    /// mark before the first.
    Noisy,
    /// The empty line that would complete the last event never comes.
    Unterminated,
}

impl Spelling {
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(match text {
            "plain" => Self::Plain,
            "cr" => Self::CarriageReturn,
            "crlf" => Self::Both,
            "bytes" => Self::Bytes,
            "noisy" => Self::Noisy,
            "unterminated" => Self::Unterminated,
            other => return Err(format!("`--sse` knows no spelling `{other}`")),
        })
    }

    fn chunks(self, event: String, last: bool) -> Vec<Bytes> {
        let event = match self {
            Self::CarriageReturn => event.replace('\n', "\r"),
            Self::Both => event.replace('\n', "\r\n"),
            Self::Noisy => format!("{NOISE}{event}"),
            Self::Unterminated if last => event.trim_end().to_owned(),
            _ => event,
        };
        match self {
            Self::Bytes => event.into_bytes().into_iter().map(|byte| Bytes::from(vec![byte])).collect(),
            _ => vec![Bytes::from(event)],
        }
    }
}

const NOISE: &str =
    ": a comment\n\n:\n\nevent: ping\ndata: {\"not\":\"a message\"}\n\nid: seen-7\ndata:\n\nunknown: field\nalone\n\n";

/// One event; every line of the text gets its own `data:` line.
fn event(text: &str, pretty: bool) -> String {
    let text = if pretty { pretty::spread(text) } else { text.to_owned() };
    let data: String = text.split('\n').map(|line| format!("data: {line}\n")).collect();
    format!("event: message\n{data}\n")
}

/// A body that opens with `first`, or a comment, and then sends everything that arrives. The watch tells whether the
/// client read to the end.
pub fn body(first: Option<Outgoing>, rest: UnboundedReceiver<Outgoing>, options: &Options, watch: Watch) -> Body {
    let spelling = options.sse;
    let opening = match first {
        Some(first) => spelling.chunks(event(&first.text, options.pretty), first.response),
        None => vec![Bytes::from_static(b": open\n\n")],
    };
    stream(opening, rest, options, watch)
}

/// The same with an opening of its own.
pub fn body_after(opening: String, rest: UnboundedReceiver<Outgoing>, options: &Options, watch: Watch) -> Body {
    stream(options.sse.chunks(opening, false), rest, options, watch)
}

fn stream(opening: Vec<Bytes>, rest: UnboundedReceiver<Outgoing>, options: &Options, watch: Watch) -> Body {
    let (pretty, spelling) = (options.pretty, options.sse);
    let mark = (spelling == Spelling::Noisy).then(|| Bytes::from_static("\u{feff}".as_bytes()));
    let head = iter(mark.into_iter().chain(opening));
    let tail = unfold((rest, watch), move |(mut rest, mut watch)| async move {
        match rest.recv().await {
            Some(next) if !next.end => {
                watch.answered |= next.response;
                let chunks = spelling.chunks(event(&next.text, pretty), next.response);
                Some((iter(chunks), (rest, watch)))
            }
            _ => {
                watch.finish();
                None
            }
        }
    });
    Body::from_stream(head.chain(tail.flatten()).map(Ok::<_, std::io::Error>))
}
