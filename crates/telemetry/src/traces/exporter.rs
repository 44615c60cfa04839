//! The task that turns finished records into spans and sends them in batches.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::collector::{Collector, ExportError};
use super::spans::spans_of;
use proxy_model::CallRecord;

/// How many spans are sent at once, and how long the first of them waits at most.
const BATCH: usize = 2048;
const INTERVAL: Duration = Duration::from_secs(5);
/// How many spans wait for the collector. Those of more recent requests are dropped.
const MAX_WAITING: usize = 4 * BATCH;
/// How long the end of the proxy waits for the collector.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) enum ExporterCommand {
    Record(Arc<CallRecord>),
    /// Sends what waits, and ends.
    Close(oneshot::Sender<()>),
}

type Sending = BoxFuture<'static, (Vec<Span>, Result<u64, ExportError>)>;

pub(super) struct Exporter {
    collector: Collector,
    dropped: Arc<AtomicU64>,
    waiting: Vec<Span>,
    /// The batch that is on its way.
    sending: Option<Sending>,
    /// Whether the last batch was not taken, and what was dropped before that.
    failing_since: Option<u64>,
}

impl Exporter {
    pub(super) fn new(collector: Collector, dropped: Arc<AtomicU64>) -> Self {
        Exporter { collector, dropped, waiting: Vec::new(), sending: None, failing_since: None }
    }

    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<ExporterCommand>) {
        let mut ticks = interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(ExporterCommand::Record(record)) => {
                        self.add(spans_of(&record));
                        // A collector that fails is tried again at the next tick.
                        if self.waiting.len() >= BATCH && self.failing_since.is_none() {
                            self.begin();
                        }
                    }
                    Some(ExporterCommand::Close(done)) => {
                        self.close().await;
                        let _ = done.send(());
                        return;
                    }
                    None => return,
                },
                (batch, outcome) = sent(&mut self.sending) => self.end(batch, outcome),
                _ = ticks.tick() => self.begin(),
            }
        }
    }

    fn add(&mut self, spans: Vec<Span>) {
        let room = MAX_WAITING.saturating_sub(self.waiting.len());
        self.drop_spans(spans.len().saturating_sub(room));
        self.waiting.extend(spans.into_iter().take(room));
    }

    /// Sends a batch, unless one is on its way.
    fn begin(&mut self) {
        if self.sending.is_none() && !self.waiting.is_empty() {
            let rest = self.waiting.split_off(self.waiting.len().min(BATCH));
            let batch = std::mem::replace(&mut self.waiting, rest);
            self.sending = Some(self.collector.clone().send(batch).boxed());
        }
    }

    fn end(&mut self, batch: Vec<Span>, outcome: Result<u64, ExportError>) {
        self.sending = None;
        let error = match outcome {
            Ok(rejected) => {
                self.drop_spans(usize::try_from(rejected).unwrap_or(usize::MAX));
                if let Some(before) = self.failing_since.take() {
                    let lost = self.dropped.load(Relaxed).saturating_sub(before);
                    tracing::info!(
                        lost,
                        "traces are sent to `{}` again; {lost} spans were lost",
                        self.collector.origin
                    );
                }
                return;
            }
            Err(error) => error,
        };
        let before = self.dropped.load(Relaxed);
        if error.is_temporary() {
            // Older spans first.
            let newer = std::mem::replace(&mut self.waiting, batch);
            self.add(newer);
        } else {
            self.drop_spans(batch.len());
        }
        if self.failing_since.is_none() {
            self.failing_since = Some(before);
            tracing::warn!(
                %error,
                "cannot send traces to `{}`: {error}. Calls are not affected. The proxy sends OTLP over HTTP, not gRPC; \
                 collectors usually accept it on port 4318 (`telemetry.otlp`)",
                self.collector.origin
            );
        }
    }

    /// Sends what waits, as far as the collector takes it in time.
    async fn close(&mut self) {
        let flush = async {
            loop {
                self.begin();
                if self.sending.is_none() {
                    return;
                }
                let (batch, outcome) = sent(&mut self.sending).await;
                let is_over = outcome.is_err();
                self.end(batch, outcome);
                if is_over {
                    return;
                }
            }
        };
        let _ = timeout(FLUSH_TIMEOUT, flush).await;
        if !self.waiting.is_empty() || self.sending.is_some() {
            tracing::warn!("the last traces were not sent: `{}` did not accept them in time", self.collector.origin);
        }
    }

    fn drop_spans(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Relaxed);
    }
}

/// The outcome of the batch that is on its way; never completes if there is none.
async fn sent(sending: &mut Option<Sending>) -> (Vec<Span>, Result<u64, ExportError>) {
    match sending {
        Some(sending) => sending.await,
        None => pending().await,
    }
}
