//! The descriptions that are in use. Each is read once, whoever waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::description::Description;
use super::read_api::ApiSettings;

/// The descriptions that are in use, by server and settings.
#[derive(Clone, Debug, Default)]
pub struct Descriptions(Arc<Mutex<HashMap<String, Slot>>>);

/// Locked while a connection waits for the description.
type Slot = Arc<tokio::sync::Mutex<Known>>;

#[derive(Debug, Default)]
struct Known {
    description: Weak<Description>,
    /// The first read, as long as nobody has its outcome. It goes on when those who waited for it have given up, so that they
    /// find it again and do not begin another one beside it.
    reading: Option<JoinHandle<Result<Arc<Description>, String>>>,
}

impl Known {
    fn is_in_use(&self) -> bool {
        self.description.strong_count() > 0 || self.reading.as_ref().is_some_and(|reading| !reading.is_finished())
    }

    /// The outcome of the read that goes on, or of one that begins now. Cancel-safe.
    async fn outcome(&mut self, server: &str, settings: &ApiSettings) -> Result<Arc<Description>, String> {
        let reading = self.reading.get_or_insert_with(|| {
            let server = server.to_owned();
            let settings = settings.clone();
            tokio::spawn(async move { Description::read(&server, &settings).await })
        });
        let outcome = reading.await;
        self.reading = None;
        outcome.unwrap_or_else(|_| Err("its description cannot be read".to_owned()))
    }
}

impl Descriptions {
    /// The description of an API, read now if no connection has it yet. The error is for an operator.
    pub(crate) async fn of(&self, server: &str, settings: &ApiSettings) -> Result<Arc<Description>, String> {
        // The values of headers are no part of it: the debug form hides secrets.
        let key = format!("{server}\0{settings:?}");
        let slot = {
            let mut slots = self.0.lock();
            // Nobody waits for those that nobody else has.
            slots.retain(|known_key, slot| {
                let is_wanted = *known_key == key || Arc::strong_count(slot) > 1;
                is_wanted || slot.try_lock().is_ok_and(|known| known.is_in_use())
            });
            Arc::clone(slots.entry(key).or_default())
        };
        let mut known = slot.lock().await;
        if let Some(description) = known.description.upgrade() {
            return Ok(description);
        }
        // What failed while nobody waited may have failed for a reason that is gone.
        let is_old = known.reading.as_ref().is_some_and(JoinHandle::is_finished);
        let mut outcome = known.outcome(server, settings).await;
        if is_old && outcome.is_err() {
            outcome = known.outcome(server, settings).await;
        }
        let description = outcome?;
        known.description = Arc::downgrade(&description);
        Ok(description)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use proxy_config::{DescriptionPlace, OpenApiConfig};

    const LONG: Duration = Duration::from_secs(60);

    fn settings(url: String) -> ApiSettings {
        let description = DescriptionPlace::Url(url);
        let url = Some("https://api.example".to_owned());
        ApiSettings {
            openapi: OpenApiConfig { description, url, headers: Default::default(), ttl: None },
            has_auth: false,
        }
    }

    #[tokio::test]
    async fn a_read_that_takes_longer_than_those_who_wait_goes_on_and_is_the_only_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(format!("http://{}/openapi.json", listener.local_addr().unwrap()));
        let descriptions = Descriptions::default();
        let of = || descriptions.of("a", &settings);
        // The first gives up when the request is there, and the others soon after.
        let mut first = tokio::select! {
            _ = of() => panic!("there was no answer"),
            accepted = listener.accept() => accepted.unwrap().0,
        };
        for _ in 0..3 {
            assert!(tokio::time::timeout(Duration::from_millis(20), of()).await.is_err());
        }
        let answer = async {
            assert!(first.read(&mut [0; 4096]).await.unwrap() > 0);
            let text = r#"{"openapi": "3.1.0", "paths": {"/a": {"get": {}}}}"#;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
            first.write_all((head + text).as_bytes()).await.unwrap();
        };
        let (read, ()) = tokio::time::timeout(LONG, async { tokio::join!(of(), answer) }).await.unwrap();
        assert_eq!(read.unwrap().api().definitions().len(), 1);
        let another = tokio::time::timeout(Duration::from_millis(1), listener.accept()).await;
        assert!(another.is_err(), "nobody began a second one");
    }

    #[tokio::test]
    async fn what_failed_while_nobody_waited_is_tried_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(format!("http://{}/openapi.json", listener.local_addr().unwrap()));
        let descriptions = Descriptions::default();
        let mut failed = 0;
        for _ in 0..2 {
            let of = descriptions.of("a", &settings);
            tokio::select! {
                _ = of => panic!("there was no answer"),
                accepted = listener.accept() => drop(accepted.unwrap()),
            }
            failed += 1;
            // The read that failed is over.
            let slot = descriptions.0.lock().values().next().map(Arc::clone).unwrap();
            let is_over = async {
                while !slot.lock().await.reading.as_ref().is_some_and(JoinHandle::is_finished) {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(LONG, is_over).await.unwrap();
        }
        assert_eq!(failed, 2);
    }
}
