//! Bytes in arguments: Base64, or a `data:` URL that also tells their type.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    /// The media type, if the argument tells it.
    pub(super) content_type: Option<String>,
}

pub(super) fn file(argument: &str, value: &Value) -> Result<File, String> {
    let Value::String(text) = value else {
        return Err(format!("the argument `{argument}` must be a string with the bytes as Base64"));
    };
    let (content_type, encoded) = match text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((content_type, encoded)) => (Some(content_type), encoded),
        None => (None, text.as_str()),
    };
    // Some encoders break lines. Spaces would let ordinary text pass for Base64.
    let encoded = encoded.trim().replace(['\r', '\n'], "");
    let decoded = GeneralPurpose::new(&STANDARD, LENIENT).decode(&encoded);
    let bytes = decoded
        .or_else(|_| GeneralPurpose::new(&URL_SAFE, LENIENT).decode(&encoded))
        .map_err(|_| format!("the argument `{argument}` is not Base64"))?;
    let is_type = |name: &&str| name.contains('/') && http::HeaderValue::from_str(name).is_ok();
    Ok(File { bytes, content_type: content_type.filter(is_type).map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_are_base64_or_a_data_url() {
        for text in ["aGk/Pg==", "aGk/Pg", "aGk_Pg", " aGk/\nPg== "] {
            assert_eq!(file("f", &json!(text)).unwrap().bytes, b"hi?>", "{text}");
        }
        let read = file("f", &json!("data:image/png;base64,aGk=")).unwrap();
        assert_eq!((read.bytes.as_slice(), read.content_type.as_deref()), (&b"hi"[..], Some("image/png")));
        assert_eq!(file("f", &json!("data:a/b\r\nX: y;base64,aGk=")).unwrap().content_type, None);
        assert!(file("f", &json!("no base64")).is_err());
        assert!(file("f", &json!(1)).is_err());
    }
}
