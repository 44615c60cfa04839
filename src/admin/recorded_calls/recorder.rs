//! Records calls while somebody follows them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::broadcast;

use super::call_ring::{CallRing, FindError};
use super::call_summary::CallSummary;
use super::kept_call::KeptCall;
use proxy_model::{CallReader, CallRecord};
use proxy_telemetry::{CallReaderGuard, Telemetry};

/// How many calls are queued for a slow follower.
const MAX_WAITING: usize = 256;
/// How long calls are kept after the last follower has left, so that a call just seen can still be inspected.
const KEPT_FOR: Duration = Duration::from_secs(5 * 60);

/// Records calls for their followers.
pub(in crate::admin) struct CallRecorder {
    telemetry: Arc<Telemetry>,
    recorded: Arc<RecordedCalls>,
    followers: Mutex<Followers>,
}

struct RecordedCalls {
    ring: Mutex<CallRing>,
    sender: broadcast::Sender<Arc<KeptCall>>,
}

#[derive(Default)]
struct Followers {
    number: usize,
    /// How many followers there have been.
    begun: u64,
    /// Calls are recorded while this exists.
    reading: Option<CallReaderGuard>,
}

impl CallReader for RecordedCalls {
    fn read(&self, record: &Arc<CallRecord>) {
        let call = Arc::new(KeptCall::of(record));
        self.ring.lock().push(Arc::clone(&call));
        // Fails if there is no follower.
        let _ = self.sender.send(call);
    }
}

impl CallRecorder {
    pub(in crate::admin) fn new(telemetry: &Arc<Telemetry>) -> Arc<Self> {
        let recorded = Arc::new(RecordedCalls { ring: Mutex::default(), sender: broadcast::Sender::new(MAX_WAITING) });
        Arc::new(CallRecorder { telemetry: Arc::clone(telemetry), recorded, followers: Mutex::default() })
    }

    /// Records calls until the last follower is dropped.
    pub(in crate::admin) fn follow(self: &Arc<Self>) -> Following {
        let calls = self.recorded.sender.subscribe();
        let mut followers = self.followers.lock();
        followers.number += 1;
        followers.begun += 1;
        if followers.reading.is_none() {
            followers.reading = Some(self.telemetry.add_reader(Arc::clone(&self.recorded) as Arc<dyn CallReader>));
        }
        Following { calls, recorder: Arc::clone(self) }
    }

    /// Whether calls are being recorded.
    pub(in crate::admin) fn is_recording(&self) -> bool {
        self.followers.lock().reading.is_some()
    }

    /// The recorded calls, oldest first.
    pub(in crate::admin) fn all(&self) -> Vec<CallSummary> {
        self.recorded.ring.lock().all().map(|call| call.summary.clone()).collect()
    }

    pub(in crate::admin) fn find(&self, id: &str) -> Result<Arc<KeptCall>, FindError> {
        self.recorded.ring.lock().find(id)
    }

    fn left(self: &Arc<Self>) {
        let mut followers = self.followers.lock();
        followers.number -= 1;
        if followers.number > 0 {
            return;
        }
        followers.reading = None;
        let (recorder, begun) = (Arc::clone(self), followers.begun);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(KEPT_FOR).await;
                if recorder.followers.lock().begun == begun {
                    recorder.recorded.ring.lock().clear();
                }
            });
        }
    }
}

/// A follower of the calls.
pub(in crate::admin) struct Following {
    calls: broadcast::Receiver<Arc<KeptCall>>,
    recorder: Arc<CallRecorder>,
}

/// What a follower receives next.
#[derive(Debug)]
pub(in crate::admin) enum Followed {
    Call(Arc<KeptCall>),
    /// This many calls were dropped because the follower was too slow.
    Dropped(u64),
}

impl Following {
    pub(in crate::admin) async fn next(&mut self) -> Followed {
        match self.calls.recv().await {
            Ok(call) => Followed::Call(call),
            Err(broadcast::error::RecvError::Lagged(number)) => Followed::Dropped(number),
            // The recorder lives as long as its followers.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.recorder.left();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: usize) -> Arc<CallRecord> {
        let id = format!("id-{number:05}");
        Arc::new(CallRecord { id, method: "ping".into(), item: None, ..CallRecord::example() })
    }

    #[tokio::test]
    async fn a_slow_follower_is_told_what_it_missed() {
        let telemetry = Arc::new(Telemetry::default());
        let recorder = CallRecorder::new(&telemetry);
        let mut following = recorder.follow();
        for number in 0..MAX_WAITING + 7 {
            telemetry.read(&record(number));
        }
        assert!(matches!(following.next().await, Followed::Dropped(7)));
        let Followed::Call(first) = following.next().await else { panic!("a call follows") };
        assert_eq!(first.summary.id, "id-00007");
    }

    #[tokio::test]
    async fn calls_are_recorded_while_somebody_follows_and_seen_a_while_longer() {
        let telemetry = Arc::new(Telemetry::default());
        let recorder = CallRecorder::new(&telemetry);
        assert!(!telemetry.has_readers());
        let (one, two) = (recorder.follow(), recorder.follow());
        telemetry.read(&record(1));
        drop(one);
        assert!(recorder.is_recording());
        telemetry.read(&record(2));
        drop(two);
        assert!(!recorder.is_recording() && !telemetry.has_readers());
        telemetry.read(&record(3));
        let seen: Vec<String> = recorder.all().into_iter().map(|call| call.id).collect();
        assert_eq!(seen, ["id-00001", "id-00002"]);
        assert!(recorder.find("00002").is_ok());
    }
}
