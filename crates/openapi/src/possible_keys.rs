//! What may be a key in the URL of the config, as in `https://api.example.com/bot123:abc/`. Many frameworks repeat the path of
//! a request in an error.

use percent_encoding::percent_decode_str;
use url::Url;

/// Shorter segments of a path are versions and names.
const MIN_SEGMENT: usize = 16;
/// Shorter values of a query are numbers and formats.
const MIN_VALUE: usize = 8;

/// The text with an ellipsis for everything that may be a key of this URL.
pub(crate) fn without_keys(text: String, url: &Url) -> String {
    let segments = url.path_segments().into_iter().flatten().filter(|segment| segment.len() >= MIN_SEGMENT);
    let values = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let values = values.map(|(_, value)| value).filter(|value| value.len() >= MIN_VALUE);
    let mut text = text;
    for key in segments.chain(values) {
        let decoded = percent_decode_str(key).decode_utf8_lossy();
        for form in [key, &decoded] {
            if text.contains(form) {
                text = text.replace(form, "…");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_segments_and_values_are_left_out_as_they_are_written_and_decoded() {
        let url = Url::parse("https://x.example/rest/v2/bot123456%3AAbCdEf0123/?format=json&key=k%2Bk0123456").unwrap();
        let without = |text: &str| without_keys(text.to_owned(), &url);
        assert_eq!(without("Cannot GET /rest/v2/bot123456%3AAbCdEf0123/me"), "Cannot GET /rest/v2/…/me");
        assert_eq!(without("no bot123456:AbCdEf0123, key k+k0123456"), "no …, key …");
        assert_eq!(without("/rest/v2 as json"), "/rest/v2 as json");
        assert_eq!(without_keys("a".to_owned(), &Url::parse("data:x").unwrap()), "a");
    }
}
