//! Content of results that is not text: `image()`, `audio()`, `blob()` and `link()`.

use std::borrow::Cow;

use ::base64::Engine;
use ::base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use proxy_script::{ScriptError, convert};

#[starlark_module]
pub(crate) fn register_content(builder: &mut GlobalsBuilder) {
    /// Creates image content from base64. A handler can return it alone, in a list with text and other content, or in
    /// `{"content": [...]}`.
    ///
    /// ```python
    /// picture = image("iVBORw0KGgo=", "image/png")
    /// result = {"content": [picture, {"type": "text", "text": "the beginning of a picture"}]}
    /// ```
    fn image<'v>(base64: &str, mime_type: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        media("image", base64, mime_type, heap)
    }

    /// Creates audio content from base64: `audio(data, "audio/wav")`. Return it from a handler like an `image()`.
    fn audio<'v>(base64: &str, mime_type: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        media("audio", base64, mime_type, heap)
    }

    /// Creates an embedded resource from base64. Return it from a handler like an `image()`; resource handlers can
    /// return it, too.
    fn blob<'v>(
        uri: &str,
        base64: &str,
        #[starlark(default = NoneOr::None)] mime_type: NoneOr<&str>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let mut resource = Map::new();
        resource.insert("uri".into(), checked_uri("blob", uri)?.into());
        if let Some(mime_type) = mime_type.into_option() {
            resource.insert("mimeType".into(), checked_mime_type("blob", mime_type)?.into());
        }
        resource.insert("blob".into(), checked_base64("blob", base64)?.into_owned().into());
        Ok(convert::to_starlark(&json!({"type": "resource", "resource": resource}), heap)?)
    }

    /// Creates a resource link: `link("notes://today", "today")`. The client can read the resource later. Return it
    /// from a handler like an `image()`.
    fn link<'v>(
        uri: &str,
        name: &str,
        #[starlark(default = NoneOr::None)] title: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] description: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] mime_type: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] size: NoneOr<u32>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let mut block = Map::new();
        block.insert("type".into(), "resource_link".into());
        block.insert("uri".into(), checked_uri("link", uri)?.into());
        block.insert("name".into(), name.into());
        for (member, text) in [("title", title), ("description", description)] {
            if let Some(text) = text.into_option() {
                block.insert(member.into(), text.into());
            }
        }
        if let Some(mime_type) = mime_type.into_option() {
            block.insert("mimeType".into(), checked_mime_type("link", mime_type)?.into());
        }
        if let Some(size) = size.into_option() {
            block.insert("size".into(), size.into());
        }
        Ok(convert::to_starlark(&Json::Object(block), heap)?)
    }
}

fn media<'v>(kind: &str, base64: &str, mime_type: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let data = checked_base64(kind, base64)?;
    let block = json!({"type": kind, "data": data, "mimeType": checked_mime_type(kind, mime_type)?});
    Ok(convert::to_starlark(&block, heap)?)
}

/// Base64 as MCP wants it: the standard alphabet with padding. Line breaks are removed, because programs write them.
fn checked_base64<'a>(function: &str, text: &'a str) -> Result<Cow<'a, str>, ScriptError> {
    let compact = if text.contains(|letter: char| letter.is_ascii_whitespace()) {
        Cow::Owned(text.chars().filter(|letter| !letter.is_ascii_whitespace()).collect())
    } else {
        Cow::Borrowed(text)
    };
    match STANDARD.decode(compact.as_bytes()) {
        Ok(_) => Ok(compact),
        Err(error) => {
            let hint = if text.starts_with("data:") {
                "pass only the part of the data URL after the comma"
            } else {
                "in extensions, `data.load_base64()`, `exec.run(..., binary = True)` and `body_base64` of a response are base64"
            };
            Err(ScriptError::new(format!("{function}() takes base64: {error}")).hint(hint))
        }
    }
}

fn checked_mime_type<'a>(function: &str, text: &'a str) -> Result<&'a str, ScriptError> {
    let has_parts = text.split_once('/').is_some_and(|(kind, name)| !kind.is_empty() && !name.is_empty());
    if has_parts && !text.contains(|letter: char| letter.is_control()) {
        return Ok(text);
    }
    Err(ScriptError::new(format!("`{text}` is not a MIME type for {function}()")).hint("as in `image/png`"))
}

fn checked_uri<'a>(function: &str, text: &'a str) -> Result<&'a str, ScriptError> {
    if text.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()) {
        return Ok(text);
    }
    Err(ScriptError::new(format!("`{text}` is not a URI for {function}()")).hint("as in `notes://today`"))
}
