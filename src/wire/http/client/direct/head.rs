//! The heads of a request and of its answer.

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode};

use super::framing::Framing;
use crate::wire::http::HttpError;

/// A longer head is nobody's who means well.
const LONGEST: usize = 64 << 10;
const MOST_HEADERS: usize = 128;

/// A request, head and body, as it is sent.
pub(in crate::wire::http::client) fn request(
    method: &Method,
    target: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Vec<u8> {
    let length: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    let mut out = Vec::with_capacity(length + target.len() + body.len() + 64);
    for part in [method.as_str(), " ", target, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    if method == Method::POST || !body.is_empty() {
        out.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

/// What an answer says before its body.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Framing,
    /// Whether the connection can be used again after it.
    pub(super) stays: bool,
}

impl Head {
    /// Takes the head off the beginning of what has come; none if it is not whole. What only announces an answer is
    /// passed over.
    pub(super) fn take(buffer: &mut BytesMut) -> Result<Option<Self>, HttpError> {
        loop {
            let mut space = [const { std::mem::MaybeUninit::uninit() }; MOST_HEADERS];
            let mut parsed = httparse::Response::new(&mut []);
            let looked =
                httparse::ParserConfig::default().parse_response_with_uninit_headers(&mut parsed, buffer, &mut space);
            let length = match looked {
                Ok(httparse::Status::Complete(length)) => length,
                Ok(httparse::Status::Partial) if buffer.len() > LONGEST => return Err(odd("its head has no end")),
                Ok(httparse::Status::Partial) => return Ok(None),
                Err(error) => return Err(odd(&error.to_string())),
            };
            let status = parsed.code.and_then(|code| StatusCode::from_u16(code).ok());
            let status = status.ok_or_else(|| odd("its status is none"))?;
            let old = parsed.version == Some(0);
            let base = buffer.as_ptr() as usize;
            let place = |part: &[u8]| part.as_ptr() as usize - base..part.as_ptr() as usize - base + part.len();
            // The names are known, most of them, and the values stay where they are.
            let found: Vec<_> = (parsed.headers.iter())
                .map(|header| (HeaderName::from_bytes(header.name.as_bytes()), place(header.value)))
                .collect();
            let head = buffer.split_to(length).freeze();
            if status == StatusCode::SWITCHING_PROTOCOLS {
                return Err(odd("it wants to speak something else"));
            }
            if status.is_informational() {
                continue;
            }
            let mut headers = HeaderMap::with_capacity(found.len());
            for (name, place) in found {
                let name = name.map_err(|_| odd("the name of a header is none"))?;
                headers.append(name, value(head.slice(place))?);
            }
            let body = framing(status, &headers)?;
            let stays = !old && !says(&headers, &CONNECTION, "close") && !matches!(body, Framing::ToTheEnd);
            return Ok(Some(Head { status, headers, body, stays }));
        }
    }
}

fn value(bytes: Bytes) -> Result<HeaderValue, HttpError> {
    HeaderValue::from_maybe_shared(bytes).map_err(|_| odd("the value of a header is none"))
}

pub(super) fn odd(what: &str) -> HttpError {
    HttpError::Broken(format!("the answer makes no sense: {what}"))
}

/// How long the body is: in the order in which the protocol says it.
fn framing(status: StatusCode, headers: &HeaderMap) -> Result<Framing, HttpError> {
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(Framing::whole(0));
    }
    if let Some(last) = headers.get_all(TRANSFER_ENCODING).iter().next_back() {
        let last = last.to_str().ok().and_then(|list| list.rsplit(',').next()).unwrap_or_default();
        let chunked = last.trim().eq_ignore_ascii_case("chunked");
        return Ok(if chunked { Framing::chunked() } else { Framing::ToTheEnd });
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return Ok(Framing::ToTheEnd) };
    // Two that differ would be read differently by different parties.
    if lengths.any(|other| other != first) {
        return Err(odd("it has two lengths"));
    }
    let text = first.to_str().unwrap_or_default();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let length = text.parse().ok().filter(|_| digits).ok_or_else(|| odd("its length is none"))?;
    Ok(Framing::whole(length))
}

fn says(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let lists = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| item.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<Head>, HttpError> {
        Head::take(&mut BytesMut::from(text))
    }

    #[test]
    fn a_request_is_its_head_and_its_body() {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("here"));
        headers.append("x", HeaderValue::from_static("1"));
        headers.append("x", HeaderValue::from_static("2"));
        let text = |method, body: &[u8]| String::from_utf8(request(&method, "/mcp?a=b", &headers, body)).unwrap();
        let lines = "host: here\r\nx: 1\r\nx: 2\r\n";
        assert_eq!(
            text(Method::POST, b"{}"),
            format!("POST /mcp?a=b HTTP/1.1\r\n{lines}content-length: 2\r\n\r\n{{}}")
        );
        assert_eq!(text(Method::POST, b""), format!("POST /mcp?a=b HTTP/1.1\r\n{lines}content-length: 0\r\n\r\n"));
        assert_eq!(text(Method::GET, b""), format!("GET /mcp?a=b HTTP/1.1\r\n{lines}\r\n"));
    }

    #[test]
    fn the_length_of_a_body_is_what_the_head_says_and_nothing_else() {
        let body = |text: &str| head(&format!("HTTP/1.1 {text}\r\n\r\n")).map(|head| head.unwrap().body);
        assert!(matches!(body("200 OK\r\nContent-Length: 12"), Ok(Framing::Whole(12))));
        assert!(matches!(body("200 OK\r\ncontent-length: 12\r\ncontent-length: 12"), Ok(Framing::Whole(12))));
        assert!(matches!(body("204 No Content\r\ncontent-length: 12"), Ok(Framing::Whole(0))));
        assert!(matches!(body("200 OK"), Ok(Framing::ToTheEnd)));
        assert!(matches!(body("200 OK\r\ntransfer-encoding: gzip"), Ok(Framing::ToTheEnd)));
        let chunked = body("200 OK\r\ncontent-length: 3\r\ntransfer-encoding: gzip, Chunked");
        assert!(matches!(chunked, Ok(Framing::Chunked(_))), "{chunked:?}");
        for wrong in ["+1", "-1", "1 1", "", "99999999999999999999", "1, 1"] {
            assert!(body(&format!("200 OK\r\ncontent-length: {wrong}")).is_err(), "{wrong}");
        }
        assert!(body("200 OK\r\ncontent-length: 1\r\ncontent-length: 2").is_err());
    }

    #[test]
    fn a_connection_stays_unless_somebody_says_otherwise() {
        let stays = |text: &str| head(text).unwrap().unwrap().stays;
        assert!(stays("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(!stays("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive, Close\r\n\r\n"));
        assert!(!stays("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(!stays("HTTP/1.1 200 OK\r\n\r\n"));
    }

    #[test]
    fn a_head_is_taken_when_it_is_whole_and_only_announcements_are_passed_over() {
        assert!(head("HTTP/1.1 200 OK\r\nx: y\r\n").unwrap().is_none());
        let mut buffer =
            BytesMut::from("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX: a b \r\ncontent-length: 2\r\n\r\nok");
        let head = Head::take(&mut buffer).unwrap().unwrap();
        assert_eq!(
            (head.status, head.headers["x"].to_str().unwrap(), &buffer[..]),
            (StatusCode::OK, "a b", &b"ok"[..])
        );
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(LONGEST));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(MOST_HEADERS + 1));
        for text in ["nonsense\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", &endless, &many] {
            assert!(head(text).is_err(), "{text:.40}");
        }
    }
}
