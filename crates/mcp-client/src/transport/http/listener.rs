//! The standalone stream of a session, on which the server sends messages that belong to no response.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::exchange::{DEFAULT_RETRY, HttpExchange, added_header, clamp_retry};
use crate::transport::error::TransportError;
use crate::transport::server_client::SendError;
use proxy_base::backoff::Backoff;
use proxy_wire::headers;
use proxy_wire::http::{EventStream, HttpError, SentHeaders};

const MAX_DELAY: Duration = Duration::from_secs(30);

/// The outcome of an attempt to open the stream.
enum StreamAttempt {
    Open(Box<EventStream>),
    /// A temporary failure.
    Retry,
    Refused(u16),
    /// The transport has closed, or the stream cannot be resumed.
    GiveUp,
}

/// Reads the stream for as long as the session lives. Drops `opened` after the first attempt to open it. A server without
/// such a stream responds with 405.
pub(crate) async fn listen(exchange: &Arc<HttpExchange>, opened: oneshot::Sender<()>) {
    let (mut last_id, mut backoff) = (None::<String>, reopen_backoff(DEFAULT_RETRY));
    let (mut was_open, mut opened) = (false, Some(opened));
    loop {
        let attempt = open(exchange, last_id.as_deref()).await;
        drop(opened.take());
        match attempt {
            StreamAttempt::Open(mut stream) => {
                if last_id.is_none() {
                    // Nothing is replayed, so notifications may have been missed: on the first attempt those between the
                    // listing and now.
                    exchange.pending.signals.mark_all();
                    exchange.pending.signals.updates_missed();
                }
                was_open = true;
                while let Ok(Some(event)) = stream.next().await {
                    backoff.reset();
                    receive(exchange, &event.kind, &event.data);
                }
                last_id = stream.last_id().map(str::to_owned).or(last_id);
                if let Some(retry) = stream.retry() {
                    backoff = reopen_backoff(clamp_retry(retry));
                }
            }
            StreamAttempt::Retry => {}
            // The stream existed before: another server is answering now, and what was negotiated no longer holds.
            StreamAttempt::Refused(status) if was_open => {
                return exchange.close(&format!("it now refuses the standalone stream (HTTP {status})"));
            }
            StreamAttempt::Refused(_) | StreamAttempt::GiveUp => return,
        }
        tokio::time::sleep(backoff.next_delay()).await;
    }
}

async fn open(exchange: &HttpExchange, last_id: Option<&str>) -> StreamAttempt {
    let negotiated = exchange.negotiated();
    let last_id = last_id.map(|id| added_header(&headers::LAST_EVENT_ID, id)).transpose();
    // An id that cannot be sent: the stream cannot be resumed.
    let Ok(last_id) = last_id else { return StreamAttempt::GiveUp };
    let sent = SentHeaders { common: &negotiated.headers, added: last_id.as_slice() };
    match exchange.client.get(sent).await {
        Ok(answer) if answer.status().is_success() && answer.is_events() => {
            StreamAttempt::Open(Box::new(answer.events()))
        }
        Ok(answer) if answer.status().as_u16() == 404 && negotiated.session.is_some() => {
            exchange.close("the server ended the session");
            StreamAttempt::GiveUp
        }
        Ok(answer) if answer.status().is_client_error() && !matches!(answer.status().as_u16(), 408 | 409 | 429) => {
            StreamAttempt::Refused(answer.status().as_u16())
        }
        // Temporary: rate limits, a server that has not noticed the end of the previous stream (409), or a gateway error.
        Ok(answer) => {
            let status = answer.status().as_u16();
            tracing::debug!(server = %exchange.server, status, "cannot open the standalone stream");
            StreamAttempt::Retry
        }
        Err(SendError::Http(HttpError::Connect(reason))) => {
            exchange.close(&format!("cannot connect: {reason}"));
            StreamAttempt::GiveUp
        }
        Err(SendError::Refused(TransportError::Unexpected(answer))) => StreamAttempt::Refused(answer.status),
        // Whoever supervises the server learns by itself that a log-in is needed.
        Err(SendError::Refused(TransportError::LoginNeeded(_) | TransportError::Forbidden(_))) => StreamAttempt::GiveUp,
        Err(SendError::Refused(_) | SendError::Http(_)) => StreamAttempt::Retry,
    }
}

fn receive(exchange: &Arc<HttpExchange>, kind: &str, data: &str) {
    if kind == "message" {
        for reply in exchange.pending.receive(data.as_bytes()) {
            exchange.reply(reply);
        }
    }
}

/// The delays before the stream is opened again, starting with the server's `retry`.
fn reopen_backoff(first: Duration) -> Backoff {
    Backoff::new(first, MAX_DELAY.max(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_make_the_delays_absurd() {
        let mut hasty = reopen_backoff(clamp_retry(Duration::ZERO));
        assert_eq!(hasty.next_delay(), Duration::from_millis(100));
        let mut slow = reopen_backoff(clamp_retry(Duration::from_secs(1 << 40)));
        assert_eq!((slow.next_delay(), slow.next_delay()), (Duration::from_secs(60), Duration::from_secs(60)));
    }
}
