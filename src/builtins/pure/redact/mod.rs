//! `redact()`: what could identify a person or open a door, taken out of texts.

mod finds;
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

use crate::diagnostic::nearest;
use crate::json::MAX_DEPTH;
use crate::script::{ScriptError, script_error};
use finds::{Find, KINDS, NAMES};

#[starlark_module]
pub fn register_redact(builder: &mut GlobalsBuilder) {
    /// The same value with emails, phone numbers, social security numbers, credit cards, IP addresses and secrets in
    /// every text of it replaced by `[email]`, `[phone]`, `[ssn]`, `[credit_card]`, `[ip]` and `[secret]`; `kinds` names
    /// those that are wanted. Keys, numbers, images, sounds and other encoded bytes stay as they are. Shapes are
    /// recognised, nothing else: it guards against carelessness, and is no proof that nothing is left.
    ///
    /// ```python
    /// def handler(args):
    ///     return redact(call(args), kinds = ["email", "secret"])
    /// ```
    fn redact<'v>(
        #[starlark(require = pos)] value: Value<'v>,
        #[starlark(default = NoneOr::None)] kinds: NoneOr<UnpackList<String>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let finds = match kinds.into_option() {
            None => KINDS.iter().collect(),
            Some(kinds) => kinds.items.iter().map(|kind| known(kind)).collect::<Result<Vec<_>, _>>()?,
        };
        redacted(value, &finds, eval.heap(), 0)
    }
}

fn known(name: &str) -> Result<&'static Find, ScriptError> {
    KINDS.iter().find(|find| find.name == name).ok_or_else(|| {
        let complaint = ScriptError::new(format!("redact() knows nothing of the kind `{name}`"));
        match nearest(name, NAMES) {
            Some(near) => complaint.hint(format!("did you mean `{near}`?")),
            None => complaint.hint(format!("the kinds are {}", NAMES.join(", "))),
        }
    })
}

fn redacted<'v>(value: Value<'v>, finds: &[&Find], heap: Heap<'v>, depth: usize) -> starlark::Result<Value<'v>> {
    if depth > MAX_DEPTH {
        return Err(script_error(format!("redact(): nested deeper than {MAX_DEPTH} levels, or inside itself")));
    }
    let inner = |value: Value<'v>| redacted(value, finds, heap, depth + 1);
    if let Some(text) = value.unpack_str() {
        return Ok(finds::replaced(text, finds).map_or(value, |text| heap.alloc(text)));
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
            let kept = encoded.is_some() && key.key().unpack_str() == encoded;
            members.insert_hashed(key, if kept { value } else { inner(value)? });
        }
        return Ok(heap.alloc(Dict::new(members)));
    }
    if let Some(fields) = StructRef::from_value(value) {
        let fields = fields.iter().map(|(name, field)| Ok((name.to_value().to_str(), inner(field)?)));
        return Ok(heap.alloc(AllocStruct(fields.collect::<starlark::Result<Vec<_>>>()?)));
    }
    Ok(value)
}

/// The member of a content block, or of a resource's contents, that holds bytes.
fn encoded_member(dict: &DictRef<'_>) -> Option<&'static str> {
    let kind = dict.get_str("type").and_then(|kind| kind.unpack_str());
    match kind {
        Some("image" | "audio") => Some("data"),
        _ if dict.get_str("blob").is_some() && dict.get_str("uri").is_some() => Some("blob"),
        _ => None,
    }
}
