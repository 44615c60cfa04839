//! Fetches a description from the URL that the config names.

use http::header::ACCEPT;
use http::{Method, Request};
use url::Url;

use super::files::MAX_BYTES;
use proxy_wire::http::{Fetcher, Reach};

/// What a description may be written in.
const TYPES: &str = "application/json, application/yaml, application/vnd.oai.openapi+json, */*;q=0.5";

/// The text of the description. No credentials are sent: the host of the description need not be that of the API. The error
/// is a clause without the path of the URL, which may be a secret.
pub(super) async fn fetch(url: &Url) -> Result<String, String> {
    let request = Request::builder().method(Method::GET).uri(url.as_str()).header(ACCEPT, TYPES);
    let request = request.body(Vec::new()).map_err(|error| error.to_string())?;
    let fetcher = Fetcher::of_documents(MAX_BYTES);
    let answer = fetcher.fetch(Reach::of(url).await, request).await.map_err(|error| error.to_string())?;
    let status = answer.status();
    if !status.is_success() {
        return Err(format!("`{}` responded with HTTP {status}", url.origin().ascii_serialization()));
    }
    String::from_utf8(answer.into_body()).map_err(|_| "it is not UTF-8".to_owned())
}
