//! The trace context of W3C: which span of which trace a request belongs to.

use std::fmt;

use proxy_json::hex;

/// The id of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(pub [u8; 16]);

/// The id of a span within a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// A new id; `None` if the system has no randomness.
    pub fn random() -> Option<Self> {
        random().map(TraceId)
    }
}

impl SpanId {
    /// A new id; `None` if the system has no randomness.
    pub fn random() -> Option<Self> {
        random().map(SpanId)
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    // An id of zeros is no id.
    (bytes != [0; N]).then_some(bytes)
}

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex(&self.0))
    }
}

/// A `traceparent`. Its display is the text that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: TraceId,
    pub span: SpanId,
    pub sampled: bool,
}

impl TraceContext {
    /// Reads a `traceparent`; `None` if it is not valid, or of the version that there will never be.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let [version] = bytes(parts.next()?)?;
        let (trace, span) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = bytes(parts.next()?)?;
        // Later versions may append something.
        let fits = version != 0xff && (version != 0 || parts.next().is_none());
        let valid = fits && trace != [0; 16] && span != [0; 8];
        valid.then_some(TraceContext { trace: TraceId(trace), span: SpanId(span), sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{:02x}", self.trace, hex(&self.span.0), u8::from(self.sampled))
    }
}

/// The bytes of lower-case hexadecimal digits, exactly as many as fit.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// A request that is traced: its span is sent to a collector when the request is over.
#[derive(Clone, Debug)]
pub struct RequestTrace {
    pub id: TraceId,
    /// The span of the request itself.
    pub span: SpanId,
    /// The span of the client that the request is a part of.
    pub parent: Option<SpanId>,
    /// The `tracestate` that came with the parent.
    pub state: Option<String>,
    /// The context of the HTTP request, if the parent is another.
    pub link: Option<TraceContext>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_traceparent_is_read_and_written() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = TraceContext::parse(text).unwrap();
        assert_eq!((context.to_string().as_str(), context.sampled), (text, true));
        let other = TraceContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02").unwrap();
        assert!(!other.sampled);
        assert!(TraceContext::parse(&text.replacen("00", "01", 1)).is_some());
        assert!(TraceContext::parse(&format!("{}-more", text.replacen("00", "cc", 1))).is_some());
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        for text in [
            "",
            "00",
            &format!("00-{trace}-{span}"),
            &format!("00-{trace}-{span}-01-more"),
            &format!("00-{trace}-{span}-1"),
            &format!("ff-{trace}-{span}-01"),
            &format!("00-{}-{span}-01", trace.to_uppercase()),
            &format!("00-{}-{span}-01", "0".repeat(32)),
            &format!("00-{trace}-{}-01", "0".repeat(16)),
            &format!("00-{trace}0-{span}-01"),
            &format!("00-{}-{span}-01", "é".repeat(16)),
        ] {
            assert_eq!(TraceContext::parse(text), None, "{text}");
        }
    }
}
