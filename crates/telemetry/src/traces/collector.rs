//! The OTLP collector: takes spans by HTTP, as protobuf.

use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

use super::settings::TraceSettings;
use super::spans::text;
use proxy_wire::http::{HttpClient, HttpError, HttpPool};

/// For one request, from the connection to the end of the response.
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RESPONSE_BYTES: usize = 1 << 20;
const PROTOBUF: &str = "application/x-protobuf";

/// Why spans were not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error("{0}")]
    Http(#[from] HttpError),
    #[error("no response within {} s", TIMEOUT.as_secs())]
    Timeout,
    #[error("HTTP {0}")]
    Status(StatusCode),
}

impl ExportError {
    /// Whether the same spans may be taken later.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            ExportError::Http(_) | ExportError::Timeout => true,
            ExportError::Status(status) => matches!(status.as_u16(), 408 | 429 | 502 | 503 | 504),
        }
    }
}

/// A collector, and what every request to it says of this process.
#[derive(Clone)]
pub(super) struct Collector {
    client: HttpClient,
    headers: HeaderMap,
    resource: Resource,
    /// For messages: the URL without path and query, which may contain a key.
    pub(super) origin: String,
}

impl Collector {
    pub(super) fn new(settings: &TraceSettings, pool: &HttpPool) -> Result<Self, HttpError> {
        let client = HttpClient::new(pool, settings.url.as_str(), &settings.headers, MAX_RESPONSE_BYTES)?;
        let mut headers = client.headers().clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROTOBUF));
        headers.insert(ACCEPT, HeaderValue::from_static(PROTOBUF));
        let attributes = settings.resource.iter().map(|(key, value)| text(key, value)).collect();
        let resource = Resource { attributes, ..Resource::default() };
        Ok(Collector { client, headers, resource, origin: settings.url.origin().ascii_serialization() })
    }

    /// Sends spans. Returns them, and how many of them the collector did not want.
    pub(super) async fn send(self, spans: Vec<Span>) -> (Vec<Span>, Result<u64, ExportError>) {
        let scope = InstrumentationScope {
            name: proxy_base::NAME.to_owned(),
            version: proxy_base::VERSION.to_owned(),
            ..InstrumentationScope::default()
        };
        let scope_spans = ScopeSpans { scope: Some(scope), spans, schema_url: String::new() };
        let resource = Some(self.resource.clone());
        let resource_spans = ResourceSpans { resource, scope_spans: vec![scope_spans], schema_url: String::new() };
        let request = ExportTraceServiceRequest { resource_spans: vec![resource_spans] };
        let body = request.encode_to_vec();
        let outcome = tokio::time::timeout(TIMEOUT, self.post(body)).await.unwrap_or(Err(ExportError::Timeout));
        let spans = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        (spans.flat_map(|scope| scope.spans).collect(), outcome)
    }

    async fn post(&self, body: Vec<u8>) -> Result<u64, ExportError> {
        let mut response = self.client.post((&self.headers).into(), body).await?;
        let status = response.status();
        let body = response.body().await?;
        if !status.is_success() {
            return Err(ExportError::Status(status));
        }
        // A response that is no protobuf says nothing about single spans.
        let partial = ExportTraceServiceResponse::decode(body).ok().and_then(|response| response.partial_success);
        Ok(partial.map_or(0, |partial| u64::try_from(partial.rejected_spans).unwrap_or(0)))
    }
}
