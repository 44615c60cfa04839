//! The module `base64`.

use ::base64::Engine;
use ::base64::alphabet;
use ::base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;

use crate::script::{ScriptError, script_error};

/// Takes text with and without padding: both are written.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT.with_encode_padding(false));

pub(crate) fn register_base64(builder: &mut GlobalsBuilder) {
    builder.namespace("base64", members);
}

/// Text in letters that survive everywhere.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// Text as base64: `base64.encode("hi")` is `"aGk="`. With `url_safe` in the alphabet for addresses, without padding.
    fn encode(
        #[starlark(require = pos)] text: &str,
        #[starlark(default = false)] url_safe: bool,
    ) -> starlark::Result<String> {
        Ok(if url_safe { URL_SAFE.encode(text) } else { STANDARD.encode(text) })
    }

    /// The text that base64 stands for, in either alphabet, with or without padding: `base64.decode("aGk=")` is `"hi"`.
    /// Bytes that are no text are an error.
    fn decode(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        let engine = if compact.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
        let bytes = engine.decode(compact).map_err(|error| script_error(format!("this is no base64: {error}")))?;
        String::from_utf8(bytes).map_err(|_| {
            ScriptError::new("what this base64 stands for is no text")
                .hint("scripts hold text only: pass images and other bytes on as they are")
                .into()
        })
    }
}
