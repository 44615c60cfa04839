//! Answers the requests that an MCP server would be sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, Method};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::description::Description;
use super::read_api::ReadApi;
use crate::transport::error::TransportError;
use crate::transport::outgoing::Outgoing;
use crate::transport::pending::PendingRequests;
use crate::transport::server_client::ServerClient;
use crate::transport::signals::Signals;
use proxy_json::{Object, Raw, RawRef};
use proxy_model::{ItemKind, error_result};
use proxy_openapi::{ApiRequest, ApiResponse};
use proxy_wire::RpcError;
use proxy_wire::http::{HttpAnswer, SentHeaders};

const MAX_REDIRECTS: usize = 5;

#[derive(Debug)]
pub(crate) struct ApiTransport {
    server: Arc<str>,
    description: Arc<Description>,
    client: ServerClient,
    /// The headers that the config sets.
    headers: HeaderMap,
    next_id: AtomicU64,
    /// An API asks nothing and has no sessions: this stays empty.
    pending: Arc<PendingRequests>,
    /// Taken before the tools are listed for the first time, so that no change is missed.
    changes: watch::Receiver<u64>,
    stopped: CancellationToken,
}

impl ApiTransport {
    pub(crate) fn new(
        server: &Arc<str>,
        description: Arc<Description>,
        client: ServerClient,
        signals: Arc<Signals>,
    ) -> Self {
        let mut headers = client.headers().clone();
        // Each request has its own.
        headers.remove(CONTENT_TYPE);
        headers.remove(ACCEPT);
        ApiTransport {
            server: Arc::clone(server),
            changes: description.changes(),
            description,
            client,
            headers,
            next_id: AtomicU64::new(1),
            pending: PendingRequests::new(server, signals),
            stopped: CancellationToken::new(),
        }
    }

    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    pub(crate) fn pending(&self) -> &PendingRequests {
        &self.pending
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stopped.is_cancelled()
    }

    pub(crate) async fn closed(&self) -> String {
        self.stopped.cancelled().await;
        "it was stopped by the proxy".to_owned()
    }

    pub(crate) fn stop(&self) {
        self.stopped.cancel();
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Raw, TransportError> {
        match outgoing.method {
            "tools/call" => self.call(&outgoing).await,
            "subscriptions/listen" => Err(TransportError::Closed(self.announce_changes().await)),
            "ping" => Ok(RawRef::EMPTY_OBJECT.to_owned()),
            method => Err(TransportError::Rpc(RpcError::method_not_found(method))),
        }
    }

    /// Has the tools listed again whenever the description has changed, until the transport is closed.
    async fn announce_changes(&self) -> String {
        let mut changes = self.changes.clone();
        loop {
            tokio::select! {
                Ok(()) = changes.changed() => self.pending.signals.mark_stale(ItemKind::Tool),
                reason = self.closed() => return reason,
            }
        }
    }

    async fn call(&self, outgoing: &Outgoing<'_>) -> Result<Raw, TransportError> {
        let invalid = |problem: &str| TransportError::Rpc(RpcError::invalid_params(problem));
        let params = proxy_json::valid(outgoing.params.clone()).map_err(|error| invalid(&error.to_string()))?;
        let params = Object::of(&params).map_err(|error| invalid(&error.to_string()))?;
        let name = params.string("name").unwrap_or_default();
        // One version of the description for the whole call.
        let api = self.description.api();
        let Some(tool) = api.tool(&name) else { return Err(invalid(&format!("unknown tool `{name}`"))) };
        let request = match tool.request(params.get("arguments").unwrap_or(RawRef::EMPTY_OBJECT)) {
            Ok(request) => request,
            Err(problem) => return Ok(error_result(&problem)),
        };
        let Some(mut answer) = self.send(&api, request).await? else {
            return Ok(error_result(&format!("the API redirects more than {MAX_REDIRECTS} times")));
        };
        let body = answer.body().await?;
        // Redirects stay on one host, so that a relative one leads there, too.
        let location = answer.header(LOCATION).and_then(|location| api.base.join(location).ok());
        let response = ApiResponse {
            status: answer.status().as_u16(),
            content_type: answer.content_type(),
            retry_after: answer.header(RETRY_AFTER),
            location: location.as_ref(),
            base: Some(&api.base),
            body: &body,
        };
        let result = response.result(&name);
        if let Some(mismatch) = tool.output_mismatch(&result)
            && api.note_broken_promise(&name)
        {
            self.report_mismatch(&name, &mismatch);
        }
        if response.is_fault() {
            return Err(TransportError::ApiFault { status: response.status, result: result.result });
        }
        Ok(result.result)
    }

    /// What the mismatch is may show a part of the response, which does not belong in the log of every proxy.
    fn report_mismatch(&self, tool: &str, mismatch: &str) {
        tracing::warn!(
            server = %self.server,
            tool,
            "a response is not as the description says: the tool is listed without `outputSchema` from now on"
        );
        tracing::debug!(server = %self.server, tool, mismatch, "how the response differs");
        self.description.note_change();
    }

    /// Sends a request, and follows redirects that stay on the host. `None` if there are too many.
    async fn send(&self, api: &ReadApi, request: ApiRequest) -> Result<Option<HttpAnswer>, TransportError> {
        let mut url = request.url(&api.base);
        let mut method = request.method;
        let mut headers = request.headers;
        let mut body = Bytes::from(request.body.unwrap_or_default());
        for _ in 0..=MAX_REDIRECTS {
            tracing::debug!(server = %self.server, %method, path = path_below(&api.base, &url), "sends a request");
            let sent = SentHeaders { common: &self.headers, added: &headers };
            let answer = self.client.request(method.clone(), url.as_str(), sent, body.clone()).await?;
            let Some(next) = redirect(&answer, &method, &url) else { return Ok(Some(answer)) };
            url = next;
            if method != Method::GET {
                method = Method::GET;
                body = Bytes::new();
                headers.retain(|(name, _)| name != CONTENT_TYPE);
            }
        }
        Ok(None)
    }
}

/// The path of a request without that of the config's URL, which may have a token in it.
fn path_below<'a>(base: &Url, url: &'a Url) -> &'a str {
    url.path().strip_prefix(base.path().trim_end_matches('/')).unwrap_or("(not below `url`)")
}

/// Where to look next. Redirects that keep the method have been followed already. A request that changes something is not
/// sent again, unless the response to it is elsewhere (303).
fn redirect(answer: &HttpAnswer, method: &Method, url: &Url) -> Option<Url> {
    let is_followed = match answer.status().as_u16() {
        301 | 302 => *method == Method::GET,
        303 => true,
        _ => false,
    };
    if !is_followed {
        return None;
    }
    let next = url.join(answer.header(LOCATION)?).ok()?;
    if next.origin() == url.origin() { Some(next) } else { None }
}
