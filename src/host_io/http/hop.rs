//! One request on the wire, and what a redirect makes of it.

use http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::{Client, Response, Url};

use super::Request;
use super::clients::NotPublic;

/// What may go to another host than the one the script named: nothing that could be a credential.
const HARMLESS: [HeaderName; 4] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];

#[derive(Debug)]
pub(super) struct Hop {
    method: Method,
    url: Url,
    headers: HeaderMap,
    auth: Option<(String, String)>,
    body: Option<String>,
}

impl Hop {
    pub(super) fn first(request: &Request) -> Result<Self, String> {
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| error.to_string())?;
        let mut url = checked(Url::parse(&request.url).map_err(|error| format!("this is no URL: {error}"))?)?;
        if !request.params.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.params);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let wrong = || format!("the header `{name}` cannot be sent");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            headers.insert(name, HeaderValue::from_str(value).map_err(|_| wrong())?);
        }
        let encoded = request.body.encoded();
        if let Some((_, Some(kind))) = encoded
            && !headers.contains_key(CONTENT_TYPE)
        {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        let auth = request.auth.clone().or_else(|| user_of(&url));
        // Credentials have a place of their own; a URL is shown and logged.
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

    /// The next request, if this answer sends the client on.
    pub(super) fn after(&self, response: &Response) -> Result<Option<Hop>, String> {
        let status = response.status().as_u16();
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
        let location = location.to_str().map_err(|_| "a redirect leads to what is no URL".to_owned())?;
        let mut url = self.url.join(location).map_err(|error| format!("a redirect leads to no URL: {error}"))?;
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let url = checked(url)?;
        let keeps_body = matches!(status, 307 | 308);
        let elsewhere = url.origin() != self.url.origin();
        if keeps_body && elsewhere && self.body.is_some() {
            // What was meant for one host is not sent to another; the script sees the redirect and can decide.
            return Ok(None);
        }
        Ok(Some(self.next(url, keeps_body, elsewhere, status)))
    }

    fn next(&self, url: Url, keeps_body: bool, elsewhere: bool, status: u16) -> Hop {
        let becomes_get = match status {
            303 => self.method != Method::HEAD,
            _ => !keeps_body && self.method == Method::POST,
        };
        let mut headers = self.headers.clone();
        if elsewhere {
            headers = self.headers.iter().filter(|(name, _)| HARMLESS.contains(*name)).map(owned).collect();
        }
        if becomes_get {
            headers.remove(CONTENT_TYPE);
        }
        Hop {
            method: if becomes_get { Method::GET } else { self.method.clone() },
            url,
            headers,
            auth: self.auth.clone().filter(|_| !elsewhere),
            body: self.body.clone().filter(|_| !becomes_get),
        }
    }
}

fn owned((name, value): (&HeaderName, &HeaderValue)) -> (HeaderName, HeaderValue) {
    (name.clone(), value.clone())
}

fn checked(url: Url) -> Result<Url, String> {
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(format!("only http and https URLs can be requested, not `{other}`")),
    }
}

/// The credentials in `https://user:password@host/`.
fn user_of(url: &Url) -> Option<(String, String)> {
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

/// Why a request failed, without its URL: that may hold a key.
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
    let kind = if error.is_connect() { "cannot connect" } else { "the request failed" };
    last.map_or_else(|| kind.to_owned(), |last| format!("{kind}: {last}"))
}
