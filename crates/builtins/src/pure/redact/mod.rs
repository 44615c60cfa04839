//! `redact()`: removes personal data and secrets from texts.

mod detectors;
mod json_text;
mod matching;
mod numbers;
mod secrets;

use starlark::collections::SmallMap;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::{Dict, DictRef};
use starlark::values::list::{ListRef, UnpackList};
use starlark::values::none::NoneOr;
use starlark::values::structs::{AllocStruct, StructRef};
use starlark::values::tuple::{AllocTuple, TupleRef};
use starlark::values::{Heap, Value};

use detectors::{DETECTORS, Detector};
use proxy_base::diagnostic::nearest;
use proxy_json::MAX_DEPTH;
use proxy_script::{ScriptError, script_error};

pub use json_text::{redacted_json, redacted_text};

#[starlark_module]
pub fn register_redact(builder: &mut GlobalsBuilder) {
    /// Returns a copy with email addresses, phone numbers, social security numbers, credit card numbers, IP addresses
    /// and secrets in all strings replaced by `[email]`, `[phone]`, `[ssn]`, `[credit_card]`, `[ip]` and `[secret]`.
    /// `kinds` selects what to replace: a list of `"email"`, `"phone"`, `"ssn"`, `"credit_card"`, `"ip"` and `"secret"`;
    /// by default all of them. Keys, numbers, images, audio and other encoded bytes stay unchanged. Detection is by
    /// pattern: it prevents accidental leaks but cannot guarantee that nothing sensitive is left.
    ///
    /// ```python
    /// def handler(args):
    ///     return redact(call(args, relay = False), kinds = ["email", "secret"])
    /// ```
    fn redact<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(default = NoneOr::None)] kinds: NoneOr<UnpackList<String>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let detectors = match kinds.into_option() {
            None => DETECTORS.iter().collect(),
            Some(kinds) => kinds.items.iter().map(|kind| detector_named(kind)).collect::<Result<Vec<_>, _>>()?,
        };
        redacted(value, &detectors, eval.heap(), 0)
    }
}

fn detector_named(name: &str) -> Result<&'static Detector, ScriptError> {
    DETECTORS.iter().find(|detector| detector.name == name).ok_or_else(|| {
        let error = ScriptError::new(format!("unknown kind `{name}` for redact()"));
        let names = DETECTORS.iter().map(|detector| detector.name);
        match nearest(name, names.clone()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("the kinds are {}", names.collect::<Vec<_>>().join(", "))),
        }
    })
}

fn redacted<'v>(
    value: Value<'v>,
    detectors: &[&Detector],
    heap: Heap<'v>,
    depth: usize,
) -> starlark::Result<Value<'v>> {
    if depth > MAX_DEPTH {
        return Err(script_error(format!(
            "redact(): the value is nested deeper than {MAX_DEPTH} levels or contains itself"
        )));
    }
    let inner = |value: Value<'v>| redacted(value, detectors, heap, depth + 1);
    if let Some(text) = value.unpack_str() {
        return Ok(detectors::replaced(text, detectors).map_or(value, |text| heap.alloc(text)));
    }
    if let Some(list) = ListRef::from_value(value) {
        return Ok(heap.alloc(list.iter().map(inner).collect::<starlark::Result<Vec<_>>>()?));
    }
    if let Some(tuple) = TupleRef::from_value(value) {
        return Ok(heap.alloc(AllocTuple(tuple.iter().map(inner).collect::<starlark::Result<Vec<_>>>()?)));
    }
    if let Some(dict) = DictRef::from_value(value) {
        let encoded = encoded_member(&dict);
        let mut members = SmallMap::with_capacity(dict.len());
        for (key, value) in dict.iter_hashed() {
            let is_encoded = encoded.is_some() && key.key().unpack_str() == encoded;
            members.insert_hashed(key, if is_encoded { value } else { inner(value)? });
        }
        return Ok(heap.alloc(Dict::new(members)));
    }
    if let Some(fields) = StructRef::from_value(value) {
        let fields = fields.iter().map(|(name, field)| Ok((name.to_value().to_str(), inner(field)?)));
        return Ok(heap.alloc(AllocStruct(fields.collect::<starlark::Result<Vec<_>>>()?)));
    }
    Ok(value)
}

/// The member of a content block, or of a resource's contents, that holds base64.
fn encoded_member(dict: &DictRef<'_>) -> Option<&'static str> {
    let kind = dict.get_str("type").and_then(|kind| kind.unpack_str());
    match kind {
        Some("image" | "audio") => Some("data"),
        _ if dict.get_str("blob").is_some() && dict.get_str("uri").is_some() => Some("blob"),
        _ => None,
    }
}
