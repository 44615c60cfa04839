//! The standalone stream on which a session-based server speaks unasked.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::exchange::{Inner, RESUME_AFTER, put, sensible};
use crate::wire::headers;
use crate::wire::http::{EventStream, HttpError};

const LONGEST_PAUSE: Duration = Duration::from_secs(30);

enum Opened {
    Stream(Box<EventStream>),
    /// Not now.
    Later,
    Refused(u16),
    Never,
}

/// Listens for as long as the session lives. A server without such a stream says 405, and that is fine.
pub(crate) async fn listen(link: &Arc<Inner>, opened: oneshot::Sender<()>) {
    let (mut last_id, mut pauses) = (None::<String>, Pauses::new());
    let (mut was_open, mut opened) = (false, Some(opened));
    loop {
        let attempt = open(link, last_id.as_deref()).await;
        drop(opened.take());
        match attempt {
            Opened::Stream(mut stream) => {
                if last_id.is_none() {
                    // Nothing will be replayed, so a change may have been missed; the first time too, between the
                    // listing and now.
                    link.pending.signals.mark_all();
                    link.pending.signals.updates_missed();
                }
                was_open = true;
                while let Ok(Some(event)) = stream.next().await {
                    pauses.reset();
                    take(link, &event.kind, &event.data);
                }
                last_id = stream.last_id().map(str::to_owned).or(last_id);
                if let Some(retry) = stream.retry() {
                    pauses = Pauses::asked_for(retry);
                }
            }
            Opened::Later => {}
            // It was there: another server answers here now, and what was agreed with the old one no longer holds.
            Opened::Refused(status) if was_open => {
                return link.close(&format!("it refuses its own stream now (HTTP {status})"));
            }
            Opened::Refused(_) | Opened::Never => return,
        }
        tokio::time::sleep(pauses.next()).await;
    }
}

async fn open(link: &Inner, last_id: Option<&str>) -> Opened {
    let agreed = link.agreed();
    let mut sent = agreed.headers.clone();
    if let Some(id) = last_id
        && put(&mut sent, &headers::LAST_EVENT_ID, id).is_err()
    {
        return Opened::Never;
    }
    match link.client.get(sent).await {
        Ok(answer) if answer.status().is_success() && answer.is_events() => Opened::Stream(Box::new(answer.events())),
        Ok(answer) if answer.status().as_u16() == 404 && agreed.session.is_some() => {
            link.close("the server ended its session");
            Opened::Never
        }
        Ok(answer) if answer.status().is_client_error() && !matches!(answer.status().as_u16(), 408 | 409 | 429) => {
            Opened::Refused(answer.status().as_u16())
        }
        // Too many at once, a stream whose end the server has not noticed yet (409), a gateway in between: the stream may be there again soon.
        Ok(answer) => {
            tracing::debug!(server = %link.name, status = answer.status().as_u16(), "no stream to listen on");
            Opened::Later
        }
        Err(HttpError::Connect(reason)) => {
            link.close(&format!("cannot connect: {reason}"));
            Opened::Never
        }
        Err(_) => Opened::Later,
    }
}

fn take(link: &Arc<Inner>, kind: &str, data: &str) {
    if kind == "message" {
        for task in link.pending.take(data.as_bytes()) {
            link.carry_out(Some(task));
        }
    }
}

/// How long to wait before the stream is opened again: longer each time, until something arrives.
struct Pauses {
    shortest: Duration,
    next: Duration,
}

impl Pauses {
    fn new() -> Self {
        Pauses { shortest: RESUME_AFTER, next: RESUME_AFTER }
    }

    fn asked_for(retry: Duration) -> Self {
        let retry = sensible(retry);
        Pauses { shortest: retry, next: retry }
    }

    fn reset(&mut self) {
        self.next = self.shortest;
    }

    fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE.max(self.shortest));
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_a_server_cannot_make_them_absurd() {
        let mut pauses = Pauses::new();
        let waited: Vec<u64> = (0..7).map(|_| pauses.next().as_secs()).collect();
        assert_eq!(waited, [1, 2, 4, 8, 16, 30, 30]);
        pauses.reset();
        assert_eq!(pauses.next(), RESUME_AFTER);
        assert_eq!(Pauses::asked_for(Duration::ZERO).next(), Duration::from_millis(100));
        let mut slow = Pauses::asked_for(Duration::from_secs(1 << 40));
        assert_eq!((slow.next(), slow.next()), (Duration::from_secs(60), Duration::from_secs(60)));
    }
}
