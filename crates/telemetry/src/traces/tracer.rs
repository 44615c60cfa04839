//! The tracer of a process: decides which requests are traced, names their spans, and hands their records over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::collector::Collector;
use super::exporter::{Exporter, ExporterCommand, FLUSH_TIMEOUT};
use super::propagation::{parent_of, with_parent, without_baggage};
use super::sampler::Sampler;
use super::settings::TraceSettings;
use proxy_json::Raw;
use proxy_model::{CallRecord, RequestTrace, SpanId, TraceContext, TraceId};
use proxy_wire::http::{HttpError, HttpPool};

/// How many records wait for the exporter, which turns each into spans at once.
const MAX_RECORDS: usize = 1024;

/// What a client sent about the trace that its request is a part of.
pub struct SentContext<'a> {
    pub params: Option<&'a Raw>,
    /// The context of the HTTP request.
    pub ambient: Option<TraceContext>,
    /// Whether the client is known. A stranger could otherwise have any number of spans stored.
    pub is_trusted: bool,
}

pub struct Tracer {
    sampler: Sampler,
    /// Whether `baggage` is forwarded to servers.
    baggage: bool,
    dropped: Arc<AtomicU64>,
    commands: mpsc::Sender<ExporterCommand>,
}

impl Tracer {
    /// Starts the task that sends spans.
    ///
    /// # Errors
    /// The URL or a header cannot be used.
    pub fn start(settings: &TraceSettings, pool: &HttpPool) -> Result<Arc<Self>, HttpError> {
        let (commands, received) = mpsc::channel(MAX_RECORDS);
        let dropped = Arc::new(AtomicU64::new(0));
        let exporter = Exporter::new(Collector::new(settings, pool)?, Arc::clone(&dropped));
        tokio::spawn(exporter.run(received));
        Ok(Arc::new(Tracer { sampler: settings.sampler, baggage: settings.baggage, dropped, commands }))
    }

    /// The trace of a request that begins; `None` if it is not sampled.
    pub fn begin(&self, sent: &SentContext) -> Option<Arc<RequestTrace>> {
        let own = sent.params.and_then(|params| parent_of(params));
        let (parent, state, link) = match own {
            Some((parent, state)) => (Some(parent), state, sent.ambient.filter(|ambient| *ambient != parent)),
            None => (sent.ambient, None, None),
        };
        // The id of a stranger's trace is chosen so that it is sampled, if the stranger wants that.
        let new_id = TraceId::random()?;
        let trusted = parent.filter(|_| sent.is_trusted);
        let decided_by = trusted.map_or(new_id, |parent| parent.trace);
        if !self.sampler.samples(decided_by, trusted.map(|parent| parent.sampled)) {
            return None;
        }
        let id = parent.map_or(new_id, |parent| parent.trace);
        Some(Arc::new(RequestTrace {
            id,
            span: SpanId::random()?,
            parent: parent.map(|parent| parent.span),
            state,
            link,
        }))
    }

    /// Prepares the params of a request to a server. Returns the span of the call if it is traced, which the params then
    /// name as the parent.
    pub fn propagate(&self, params: &mut Raw, trace: Option<&RequestTrace>) -> Option<SpanId> {
        let span = trace.and_then(|trace| Some((trace, SpanId::random()?)));
        let changed = match span {
            Some((trace, span)) => {
                let context = TraceContext { trace: trace.id, span, sampled: true };
                with_parent(params, context, trace.state.as_deref(), self.baggage)
            }
            None if self.baggage => None,
            None => without_baggage(params),
        };
        if let Some(changed) = changed {
            *params = changed;
        }
        span.map(|(_, span)| span)
    }

    /// Takes the record of a request that is over. Never blocks: what does not fit is dropped, and counted.
    pub fn read(&self, record: &Arc<CallRecord>) {
        if record.trace.is_some() && self.commands.try_send(ExporterCommand::Record(Arc::clone(record))).is_err() {
            self.dropped.fetch_add(1 + record.server_calls.len() as u64, Relaxed);
        }
    }

    /// How many spans did not reach the collector.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Sends what waits, within a bounded time.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        let close = async {
            if self.commands.send(ExporterCommand::Close(done)).await.is_ok() {
                let _ = closed.await;
            }
        };
        // The task keeps the time itself; it may not run at all on a machine under load.
        let _ = timeout(2 * FLUSH_TIMEOUT, close).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proxy_config::TraceSampler;
    use proxy_json::valid;

    const THEIRS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const AMBIENT: &str = "00-11111111111111111111111111111111-2222222222222222-01";

    fn tracer(kind: TraceSampler) -> Tracer {
        Tracer {
            sampler: Sampler { kind, ratio: 0.0 },
            baggage: false,
            dropped: Arc::default(),
            commands: mpsc::channel(1).0,
        }
    }

    fn begun(kind: TraceSampler, meta: &str, ambient: Option<&str>, is_trusted: bool) -> Option<Arc<RequestTrace>> {
        let params = valid(format!(r#"{{"_meta":{{{meta}}}}}"#)).unwrap();
        let ambient = ambient.and_then(TraceContext::parse);
        tracer(kind).begin(&SentContext { params: Some(&params), ambient, is_trusted })
    }

    fn theirs() -> String {
        format!(r#""traceparent":"{THEIRS}","tracestate":"a=1""#)
    }

    #[test]
    fn meta_has_the_parent_and_the_http_request_is_linked() {
        let on = TraceSampler::AlwaysOn;
        let (client, ambient) = (TraceContext::parse(THEIRS).unwrap(), TraceContext::parse(AMBIENT).unwrap());
        let both = begun(on, &theirs(), Some(AMBIENT), false).unwrap();
        assert_eq!((both.id, both.parent, both.link), (client.trace, Some(client.span), Some(ambient)));
        assert_eq!(both.state.as_deref(), Some("a=1"));
        let http = begun(on, r#""traceparent":"invalid","tracestate":"a=1""#, Some(AMBIENT), false).unwrap();
        assert_eq!((http.id, http.parent, http.link), (ambient.trace, Some(ambient.span), None));
        assert_eq!(http.state, None);
        let none = begun(on, "", None, false).unwrap();
        assert!(none.parent.is_none() && none.id != client.trace && none.span != both.span);
    }

    #[test]
    fn the_flag_of_a_stranger_does_not_count() {
        let ratio = TraceSampler::ParentBasedTraceIdRatio;
        assert!(begun(ratio, &theirs(), None, true).is_some());
        assert!(begun(ratio, &theirs(), None, false).is_none());
        assert!(begun(ratio, "", Some(AMBIENT), false).is_none());
        // Every ratio above zero would sample this id.
        let chosen = r#""traceparent":"00-00000000000000010000000000000000-b7ad6b7169203331-01""#;
        let params = valid(format!(r#"{{"_meta":{{{chosen}}}}}"#)).unwrap();
        let rare = Tracer { sampler: Sampler { kind: ratio, ratio: 1e-15 }, ..tracer(ratio) };
        let sent = |is_trusted| SentContext { params: Some(&params), ambient: None, is_trusted };
        assert!(rare.begin(&sent(false)).is_none());
        assert!(rare.begin(&sent(true)).is_some());
    }

    #[test]
    fn what_is_not_sampled_reaches_the_server_as_it_was() {
        let sent = valid(format!(r#"{{ "_meta":{{{}}} }}"#, theirs())).unwrap();
        let mut params = Raw::clone(&sent);
        assert_eq!(tracer(TraceSampler::AlwaysOff).propagate(&mut params, None), None);
        assert_eq!(params.get(), sent.get());
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (commands, _received) = mpsc::channel(1);
        let tracer = Tracer { commands, ..tracer(TraceSampler::AlwaysOn) };
        let record = super::super::spans::tests::record();
        (0..3).for_each(|_| tracer.read(&record));
        assert_eq!(tracer.dropped(), 2 * 2);
    }
}
