use proptest::prelude::*;
use proxy_wire::headers::{decode, encode};

use super::fuzz;

/// Any text survives a header, and any header value is read or refused.
#[test]
fn header_values_carry_any_text() {
    fuzz(&(".{0,60}", proptest::collection::vec(any::<u8>(), 0..60)), |(text, bytes)| {
        let encoded = encode(&text);
        prop_assert!(http::HeaderValue::from_str(&encoded).is_ok(), "{}", encoded);
        let decoded = decode(encoded.as_bytes());
        prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
        let _ = decode(&bytes);
        Ok(())
    });
}
