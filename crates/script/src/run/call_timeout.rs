//! The time limit for one tool call.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::deadline::{after, call_until, wait_until};
use crate::host::{CallOptions, Effects, Host, LogLevel, Output, Stop};
use crate::journal::JournalCursor;
use crate::run::failure::{Failure, FailureKind};
use proxy_json::{Raw, RawRef};
use proxy_model::ItemRef;

/// The timeout of one call. Progress restarts it, so that only a stuck call is ended.
#[derive(Debug)]
pub(super) struct CallTimeout {
    limit: Duration,
    deadline: Mutex<Instant>,
}

impl CallTimeout {
    /// The timeout of a call that begins now.
    pub(super) fn starting(limit: Duration) -> Arc<Self> {
        Arc::new(CallTimeout { limit, deadline: Mutex::new(after(limit)) })
    }

    /// The host for the call: its waits end with the timeout, and its progress restarts the timeout.
    pub(super) fn bound(self: &Arc<Self>, host: &Host) -> Arc<Host> {
        let effects = Arc::new(TimedEffects { effects: Arc::clone(&host.effects), timeout: Arc::clone(self) });
        let output = Arc::new(TimedOutput { output: Arc::clone(&host.output), timeout: Arc::clone(self) });
        Arc::new(Host { effects, output, ..host.clone() })
    }

    /// A failure of the call, with the reason if it is that the timeout is over.
    pub(super) fn explain(&self, mut failure: Failure) -> Failure {
        if failure.kind == FailureKind::Stopped(Stop::Deadline) && self.is_over() {
            let seconds = self.seconds();
            failure.message =
                format!("the call was stopped: it took longer than {seconds} s without progress (`timeout`)");
            failure.diagnostic.message.clone_from(&failure.message);
            failure.kind = FailureKind::TimedOut {
                data: json!({
                    "reason": "timeout",
                    "timeoutSeconds": seconds,
                    "hint": "ask for less at once; what the call did before it was stopped remains done",
                }),
            };
        }
        failure
    }

    fn restart(&self) {
        *self.deadline.lock() = after(self.limit);
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.deadline()
    }

    fn deadline(&self) -> Instant {
        *self.deadline.lock()
    }

    /// Completes when the timeout is over. Progress meanwhile defers it.
    async fn over(&self) {
        while !self.is_over() {
            tokio::time::sleep_until(self.deadline().into()).await;
        }
    }

    /// Whole numbers are written as such.
    fn seconds(&self) -> Value {
        match self.limit.subsec_nanos() {
            0 => json!(self.limit.as_secs()),
            _ => json!(self.limit.as_secs_f64()),
        }
    }
}

struct TimedEffects {
    effects: Arc<dyn Effects>,
    timeout: Arc<CallTimeout>,
}

impl Effects for TimedEffects {
    fn call(
        &self,
        target: &ItemRef,
        arguments: &RawRef,
        options: CallOptions,
        cursor: Option<JournalCursor>,
    ) -> Result<Raw, Stop> {
        let result = self.effects.call(target, arguments, call_until(self.timeout.deadline(), options), cursor)?;
        if self.timeout.is_over() { Err(Stop::Deadline) } else { Ok(result) }
    }

    fn wait(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) -> Result<(), Stop> {
        wait_until(self.timeout.over(), &*self.effects, future)
    }

    fn stopped(&self) -> Option<Stop> {
        self.effects.stopped().or_else(|| self.timeout.is_over().then_some(Stop::Deadline))
    }
}

struct TimedOutput {
    output: Arc<dyn Output>,
    timeout: Arc<CallTimeout>,
}

impl Output for TimedOutput {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        self.output.log(level, message, fields);
    }

    fn print(&self, text: &str) {
        self.output.print(text);
    }

    fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        self.timeout.restart();
        self.output.progress(done, total, message);
    }

    fn notify(&self, params: &RawRef) {
        self.output.notify(params);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_told_as_they_were_declared() {
        for (limit, told) in [(Duration::from_secs(30), json!(30)), (Duration::from_millis(1500), json!(1.5))] {
            assert_eq!(CallTimeout::starting(limit).seconds(), told);
        }
    }

    #[tokio::test]
    async fn progress_starts_the_time_anew() {
        let timeout = CallTimeout::starting(Duration::ZERO);
        assert!(timeout.is_over());
        timeout.over().await;
        let timeout = CallTimeout { limit: Duration::from_secs(3600), deadline: Mutex::new(Instant::now()) };
        assert!(timeout.is_over());
        timeout.restart();
        assert!(!timeout.is_over());
        assert!(!CallTimeout::starting(Duration::MAX).is_over());
    }
}
