//! The headers of one request.

use http::{HeaderMap, HeaderName, HeaderValue};

/// The headers common to all requests to a server, and the ones that this request adds or replaces. Each attempt needs a
/// new map, because the HTTP client consumes it.
#[derive(Clone, Copy, Debug)]
pub struct SentHeaders<'a> {
    pub common: &'a HeaderMap,
    pub added: &'a [(HeaderName, HeaderValue)],
}

impl<'a> From<&'a HeaderMap> for SentHeaders<'a> {
    fn from(common: &'a HeaderMap) -> Self {
        SentHeaders { common, added: &[] }
    }
}

impl SentHeaders<'_> {
    pub(super) fn to_map(self) -> HeaderMap {
        let mut headers = self.common.clone();
        headers.extend(self.added.iter().cloned().map(|(name, value)| (Some(name), value)));
        headers
    }
}

#[cfg(test)]
mod tests {
    use http::header::{ACCEPT, AUTHORIZATION};

    use super::*;

    #[test]
    fn what_a_request_adds_replaces_every_value_of_that_name() {
        let mut common = HeaderMap::new();
        for (name, value) in [(AUTHORIZATION, "configured"), (AUTHORIZATION, "twice"), (ACCEPT, "x/y")] {
            common.append(name, HeaderValue::from_static(value));
        }
        let added = [(AUTHORIZATION, HeaderValue::from_static("shown"))];
        let sent = SentHeaders { common: &common, added: &added }.to_map();
        assert_eq!(sent.get_all(AUTHORIZATION).iter().collect::<Vec<_>>(), ["shown"]);
        assert_eq!(sent[ACCEPT], "x/y");
        assert_eq!(SentHeaders::from(&common).to_map(), common);
    }
}
