//! The descriptions that are in use. Each is read once, whoever waits for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::task::JoinHandle;

use super::description::Description;
use super::read_api::ApiSettings;

/// The descriptions that are in use, by server and settings.
#[derive(Clone, Debug, Default)]
pub struct Descriptions(Arc<Slots>);

type Slots = Mutex<HashMap<String, Slot>>;

/// Locked while a connection waits for the description.
type Slot = Arc<tokio::sync::Mutex<Known>>;

#[derive(Debug, Default)]
struct Known {
    description: Weak<Description>,
    /// The first read, as long as nobody has its outcome. It goes on when those who waited for it have given up, so that they
    /// find it again and do not begin another one beside it.
    reading: Option<Reading>,
}

#[derive(Debug)]
struct Reading {
    task: JoinHandle<Result<Arc<Description>, String>>,
    /// Changed under the lock of the map.
    is_done: Arc<AtomicBool>,
}

impl Known {
    fn is_in_use(&self) -> bool {
        let is_read = self.reading.as_ref().is_some_and(|reading| !reading.is_done.load(Ordering::Relaxed));
        is_read || self.description.strong_count() > 0
    }

    /// The outcome of the read that goes on, or of one that begins now. Cancel-safe.
    async fn outcome(&mut self, begin: impl FnOnce() -> Reading) -> Result<Arc<Description>, String> {
        let outcome = (&mut self.reading.get_or_insert_with(begin).task).await;
        self.reading = None;
        outcome.unwrap_or_else(|_| Err("its description cannot be read".to_owned()))
    }
}

/// Somebody who waits for a description. What is left when nobody does is forgotten.
struct Waiter<'a> {
    slots: &'a Slots,
    key: String,
    slot: Slot,
}

impl<'a> Waiter<'a> {
    fn new(slots: &'a Slots, key: String) -> Self {
        let slot = Arc::clone(slots.lock().entry(key.clone()).or_default());
        Waiter { slots, key, slot }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut slots = self.slots.lock();
        // Given up under the lock, so that a read that ends now counts right.
        let slot = std::mem::take(&mut self.slot);
        // Beside this one there is the one in the map.
        let is_last = Arc::strong_count(&slot) <= 2;
        if is_last && slot.try_lock().is_ok_and(|known| !known.is_in_use()) {
            slots.remove(&self.key);
        }
        drop(slot);
    }
}

/// Reads a description in the background. If nobody waits for the outcome, nobody has a use for it.
fn begin(slots: &Arc<Slots>, key: &str, server: &str, settings: &ApiSettings) -> Reading {
    let slots = Arc::downgrade(slots);
    let key = key.to_owned();
    let server = server.to_owned();
    let settings = settings.clone();
    let is_done = Arc::new(AtomicBool::new(false));
    let is_done_now = Arc::clone(&is_done);
    let task = tokio::spawn(async move {
        let outcome = Description::read(&server, &settings).await;
        if let Some(slots) = slots.upgrade() {
            let mut slots = slots.lock();
            is_done_now.store(true, Ordering::Relaxed);
            if slots.get(&key).is_some_and(|slot| Arc::strong_count(slot) == 1) {
                slots.remove(&key);
            }
        }
        outcome
    });
    Reading { task, is_done }
}

impl Descriptions {
    /// The description of an API, read now if no connection has it yet. The error is for an operator.
    pub(crate) async fn of(&self, server: &str, settings: &ApiSettings) -> Result<Arc<Description>, String> {
        // The values of headers are no part of it: the debug form hides secrets.
        let key = format!("{server}\0{settings:?}");
        // Nobody waits for those that nobody else has.
        self.0.lock().retain(|known_key, slot| {
            let is_wanted = *known_key == key || Arc::strong_count(slot) > 1;
            is_wanted || slot.try_lock().is_ok_and(|known| known.is_in_use())
        });
        let waiter = Waiter::new(&self.0, key);
        let mut known = waiter.slot.lock().await;
        if let Some(description) = known.description.upgrade() {
            return Ok(description);
        }
        let description = known.outcome(|| begin(&self.0, &waiter.key, server, settings)).await?;
        known.description = Arc::downgrade(&description);
        Ok(description)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

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

    async fn answer(asked: &mut TcpStream) {
        assert!(asked.read(&mut [0; 4096]).await.unwrap() > 0);
        let text = r#"{"openapi": "3.1.0", "paths": {"/a": {"get": {}}}}"#;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", text.len());
        asked.write_all((head + text).as_bytes()).await.unwrap();
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
        let both = async { tokio::join!(of(), answer(&mut first)) };
        let (read, ()) = tokio::time::timeout(LONG, both).await.unwrap();
        assert_eq!(read.unwrap().api().definitions().len(), 1);
        let another = tokio::time::timeout(Duration::from_millis(1), listener.accept()).await;
        assert!(another.is_err(), "nobody began a second one");
    }

    async fn until_nothing_is_kept(descriptions: &Descriptions) {
        let is_over = async {
            while !descriptions.0.lock().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, is_over).await.expect("the read ends");
    }

    #[tokio::test]
    async fn what_was_read_and_nobody_took_is_not_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = settings(format!("http://{}/openapi.json", listener.local_addr().unwrap()));
        let descriptions = Descriptions::default();
        let mut asked = tokio::select! {
            _ = descriptions.of("a", &settings) => panic!("there was no answer"),
            accepted = listener.accept() => accepted.unwrap().0,
        };
        assert_eq!(descriptions.0.lock().len(), 1, "it is read on");
        answer(&mut asked).await;
        until_nothing_is_kept(&descriptions).await;
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
            until_nothing_is_kept(&descriptions).await;
        }
        assert_eq!(failed, 2);
    }
}
