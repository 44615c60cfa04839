//! An OTLP collector in the test's own process: keeps the spans that it gets.

use std::sync::Arc;

use http::HeaderMap;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::sync::watch;

use super::listener;
use super::patience::within;
use super::stderr_log::StderrLog;

/// One request of an exporter.
#[derive(Clone, Debug)]
pub struct Export {
    pub path: String,
    pub headers: HeaderMap,
    pub resource: Vec<KeyValue>,
    pub spans: Vec<Span>,
}

pub struct OtlpReceiver {
    /// The base URL, for `telemetry.otlp.endpoint`.
    pub url: String,
    exports: watch::Receiver<Vec<Export>>,
}

/// How a collector answers.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    Status(u16),
    /// Never.
    Hang,
}

impl OtlpReceiver {
    pub async fn start() -> Self {
        Self::answering(Answer::Status(200)).await
    }

    pub async fn answering(answer: Answer) -> Self {
        let (listener, url) = listener::bind().await;
        let (sender, exports) = watch::channel(Vec::new());
        let sender = Arc::new(sender);
        listener::serve(listener, move |request| {
            let sender = Arc::clone(&sender);
            async move {
                let (head, body) = request.into_parts();
                let message = ExportTraceServiceRequest::decode(body).expect("it is OTLP");
                let (mut resource, mut spans) = (Vec::new(), Vec::new());
                for one in message.resource_spans {
                    resource.extend(one.resource.into_iter().flat_map(|resource| resource.attributes));
                    spans.extend(one.scope_spans.into_iter().flat_map(|scope| scope.spans));
                }
                let path = head.uri.path().to_owned();
                sender.send_modify(|exports| exports.push(Export { path, headers: head.headers, resource, spans }));
                match answer {
                    Answer::Status(status) => Some(listener::text(status, "")),
                    Answer::Hang => std::future::pending().await,
                }
            }
        });
        Self { url, exports }
    }

    /// What came so far.
    pub fn exports(&self) -> Vec<Export> {
        self.exports.borrow().clone()
    }

    /// All spans, as soon as there are so many.
    pub async fn spans(&self, count: usize, log: &StderrLog) -> Vec<Span> {
        let all = |exports: &Vec<Export>| exports.iter().flat_map(|export| export.spans.clone()).collect::<Vec<_>>();
        let mut exports = self.exports.clone();
        let there = exports.wait_for(|exports| all(exports).len() >= count);
        let found = within(&format!("{count} spans"), log, there).await.expect("the receiver runs");
        all(&found)
    }

    /// Waits for a request.
    pub async fn export(&self, log: &StderrLog) {
        let mut exports = self.exports.clone();
        let there = exports.wait_for(|exports| !exports.is_empty());
        within("an export", log, there).await.expect("the receiver runs");
    }
}

/// The text of an attribute.
pub fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|pair| pair.key == key)?.value.as_ref();
    match found {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => Some(text),
        other => panic!("{key} is {other:?}"),
    }
}
