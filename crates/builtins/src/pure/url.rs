//! The Starlark module `url`.

use ::url::Url;
use ::url::form_urlencoded::{Serializer, parse as parse_query};
use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};

use proxy_script::{ScriptError, script_error};

pub(crate) fn register_url(builder: &mut GlobalsBuilder) {
    builder.namespace("url", members);
}

/// Parsing, joining and escaping of URLs. These functions never access the network.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// Percent-encodes text for a URL, except ASCII letters, digits, `-._~` and the characters in `safe`:
    /// `url.encode("a b/c")` is `"a%20b%2Fc"`.
    fn encode(#[starlark(require = pos)] text: &str, #[starlark(default = "")] safe: &str) -> starlark::Result<String> {
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            if letter.is_ascii_alphanumeric() || "-._~".contains(letter) || safe.contains(letter) {
                out.push(letter);
                continue;
            }
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
        Ok(out)
    }

    /// Decodes percent-encoded text: `url.decode("a%20b")` is `"a b"`. A `+` stays a `+`.
    fn decode(#[starlark(require = pos)] text: &str) -> starlark::Result<String> {
        let bytes = text.as_bytes();
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
            let code = code.filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()));
            match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
                Some(byte) => {
                    out.push(byte);
                    at += 3;
                }
                None => {
                    out.push(bytes[at]);
                    at += 1;
                }
            }
        }
        String::from_utf8(out).map_err(|_| script_error("the percent-decoded bytes are not UTF-8 text"))
    }

    /// Encodes a dict as a URL query. None values are omitted, and a list gives one pair per value:
    /// `url.encode_query({"q": "a b"})` is `"q=a+b"`.
    fn encode_query<'v>(
        #[starlark(require = pos)] values: SmallMap<String, Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<String> {
        let mut query = Serializer::new(String::new());
        for (name, value) in &values {
            match value.get_type() {
                "NoneType" => {}
                "list" | "tuple" => {
                    for item in value.iterate(heap)? {
                        query.append_pair(name, &item.to_str());
                    }
                }
                "bool" => drop(query.append_pair(name, if value.to_bool() { "true" } else { "false" })),
                _ => drop(query.append_pair(name, &value.to_str())),
            }
        }
        Ok(query.finish())
    }

    /// Splits a URL into a struct with `scheme`, `host`, `port`, `path`, `query` and `fragment`. `port` is None if the
    /// URL has none and the scheme has no default port; `query` is a dict from name to a list of values. An invalid URL
    /// is an error.
    fn parse<'v>(#[starlark(require = pos)] text: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let url = parsed(text)?;
        let mut query: SmallMap<String, Vec<String>> = SmallMap::new();
        for (name, value) in parse_query(url.query().unwrap_or_default().as_bytes()) {
            query.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        let port = url.port_or_known_default().map_or(Value::new_none(), |port| heap.alloc(i32::from(port)));
        Ok(heap.alloc(AllocStruct([
            ("scheme", heap.alloc(url.scheme())),
            ("host", heap.alloc(url.host_str().unwrap_or_default())),
            ("port", port),
            ("path", heap.alloc(url.path())),
            ("query", heap.alloc(AllocDict(query))),
            ("fragment", heap.alloc(url.fragment().unwrap_or_default())),
        ])))
    }

    /// Resolves a URL against a base URL: `url.join("https://a.example/x/y", "z")` is `"https://a.example/x/z"`.
    fn join(
        #[starlark(require = pos)] base: &str,
        #[starlark(require = pos)] address: &str,
    ) -> starlark::Result<String> {
        let joined = parsed(base)?.join(address);
        Ok(joined.map_err(|error| script_error(format!("invalid URL `{address}`: {error}")))?.into())
    }
}

fn parsed(text: &str) -> Result<Url, ScriptError> {
    Url::parse(text).map_err(|error| {
        ScriptError::new(format!("invalid URL `{text}`: {error}"))
            .hint("an absolute URL begins with a scheme, as in `https://example.com`")
    })
}
