//! The Starlark module `base64`.

use ::base64::Engine;
use ::base64::alphabet;
use ::base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;

use proxy_script::{ScriptError, script_error};

/// Decodes with and without padding, because both forms are in use.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT.with_encode_padding(false));

pub(crate) fn register_base64(builder: &mut GlobalsBuilder) {
    builder.namespace("base64", members);
}

/// Base64 encoding of text.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// Encodes text: `base64.encode("hi")` is `"aGk="`. With `url_safe`, uses the URL-safe alphabet without padding.
    fn encode(
        #[starlark(require = pos)] text: &str,
        #[starlark(default = false)] url_safe: bool,
    ) -> starlark::Result<String> {
        Ok(if url_safe { URL_SAFE.encode(text) } else { STANDARD.encode(text) })
    }

    /// Decodes base64 in either alphabet, with or without padding: `base64.decode("aGk=")` is `"hi"`. Bytes that are not
    /// UTF-8 text are an error.
    fn decode(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        let engine = if compact.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
        let bytes = engine.decode(compact).map_err(|error| script_error(format!("invalid base64: {error}")))?;
        String::from_utf8(bytes).map_err(|_| {
            ScriptError::new("the decoded bytes are not UTF-8 text")
                .hint("scripts hold text only; pass images and other binary content through unchanged")
                .into()
        })
    }
}
