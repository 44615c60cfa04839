//! One HTTP request, and the next one after a redirect.

use http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::{Client, Response, Url};

use super::OutboundRequest;
use super::clients::NotPublic;

/// Headers that are kept on a redirect to another origin. None of them can contain credentials.
const SAFE_HEADERS: [HeaderName; 4] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];

#[derive(Debug)]
pub(super) struct Hop {
    method: Method,
    url: Url,
    headers: HeaderMap,
    auth: Option<(String, String)>,
    body: Option<String>,
}

impl Hop {
    pub(super) fn first(request: &OutboundRequest) -> Result<Self, String> {
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| error.to_string())?;
        let mut url = check_scheme(Url::parse(&request.url).map_err(|error| format!("invalid URL: {error}"))?)?;
        if !request.params.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.params);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let wrong = || format!("invalid HTTP header `{name}`");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|_| wrong())?);
        }
        let encoded = request.body.encoded();
        if let Some((_, Some(kind))) = encoded
            && !headers.contains_key(CONTENT_TYPE)
        {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        let auth = request.auth.clone().or_else(|| credentials_of(&url));
        // Remove the credentials from the URL, which scripts see and logs contain.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Ok(Hop { method, url, headers, auth, body: encoded.map(|(text, _)| text) })
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) async fn send(&self, client: &Client) -> Result<Response, String> {
        let mut builder = client.request(self.method.clone(), self.url.clone()).headers(self.headers.clone());
        if let Some((user, password)) = &self.auth {
            builder = builder.basic_auth(user, Some(password));
        }
        if let Some(body) = &self.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|error| reason(&error))
    }

    /// The next request, if this response is a redirect.
    pub(super) fn after(&self, response: &Response) -> Result<Option<Hop>, String> {
        let status = response.status().as_u16();
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
        let location = location.to_str().map_err(|_| "the target of a redirect is not a valid URL".to_owned())?;
        let mut url =
            self.url.join(location).map_err(|error| format!("the target of a redirect is not a valid URL: {error}"))?;
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let url = check_scheme(url)?;
        let keeps_body = matches!(status, 307 | 308);
        let other_origin = url.origin() != self.url.origin();
        if keeps_body && other_origin && self.body.is_some() {
            // Do not send the body to another origin; the script gets the redirect and can decide.
            return Ok(None);
        }
        Ok(Some(self.next(url, keeps_body, other_origin, status)))
    }

    fn next(&self, url: Url, keeps_body: bool, other_origin: bool, status: u16) -> Hop {
        let becomes_get = match status {
            303 => self.method != Method::HEAD,
            _ => !keeps_body && self.method == Method::POST,
        };
        let mut headers = self.headers.clone();
        if other_origin {
            headers = self.headers.iter().filter(|(name, _)| SAFE_HEADERS.contains(*name)).map(to_owned_pair).collect();
        }
        if becomes_get {
            headers.remove(CONTENT_TYPE);
        }
        Hop {
            method: if becomes_get { Method::GET } else { self.method.clone() },
            url,
            headers,
            auth: self.auth.clone().filter(|_| !other_origin),
            body: self.body.clone().filter(|_| !becomes_get),
        }
    }
}

fn to_owned_pair((name, value): (&HeaderName, &HeaderValue)) -> (HeaderName, HeaderValue) {
    (name.clone(), value.clone())
}

fn check_scheme(url: Url) -> Result<Url, String> {
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(format!("only http and https URLs can be requested, not `{other}`")),
    }
}

/// The credentials in `https://user:password@host/`.
fn credentials_of(url: &Url) -> Option<(String, String)> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let plain = |text: &str| percent_decoded(text);
    Some((plain(url.username()), plain(url.password().unwrap_or_default())))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten().and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The reason of a failed request, with the host, but without the rest of the URL, which may contain an API key.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    let mut last = None;
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<NotPublic>() {
            return refused.to_string();
        }
        last = Some(inner.to_string());
        cause = inner.source();
    }
    let kind = match error.url().and_then(Url::host_str) {
        Some(host) if error.is_connect() => format!("cannot connect to `{host}`"),
        _ if error.is_connect() => "cannot connect".to_owned(),
        _ => "the request failed".to_owned(),
    };
    last.map_or_else(|| kind.clone(), |last| format!("{kind}: {last}"))
}
