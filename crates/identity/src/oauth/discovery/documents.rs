//! Metadata documents at well-known places.

use http::{Request, header::ACCEPT};
use serde_json::Value;
use url::Url;

use crate::oauth::LogInError;
use proxy_wire::http::{FetchError, Fetcher, Reach};

pub(super) enum Document {
    Found(Value),
    Absent,
    /// Nobody can say whether it is there.
    Failed(String),
}

impl Document {
    pub(super) async fn fetch(fetcher: &Fetcher, reach: Reach, url: &Url) -> Result<Self, LogInError> {
        let request = Request::get(url.as_str()).header(ACCEPT, "application/json").body(Vec::new());
        let request = request.map_err(|_| LogInError::Metadata("the metadata URL is invalid".to_owned()))?;
        let response = match fetcher.fetch(reach, request).await {
            Ok(response) => response,
            Err(FetchError::Refused(reason)) => {
                return Err(LogInError::Metadata(format!("the metadata is not fetched: {reason}")));
            }
            Err(FetchError::Failed(reason)) => return Ok(Document::Failed(reason)),
        };
        let status = response.status();
        if status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429) {
            return Ok(Document::Failed(format!("HTTP {}", status.as_u16())));
        }
        let document = serde_json::from_slice(response.body()).ok().filter(|_| status.as_u16() == 200);
        // Some servers answer everything with a page.
        Ok(document.filter(Value::is_object).map_or(Document::Absent, Document::Found))
    }
}

/// The URL of a document at this path of the same origin.
pub(super) fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.set_path(path);
    url
}
