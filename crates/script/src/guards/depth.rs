//! Refuses module values that are nested too deeply. Freezing recurses, and a stack overflow ends the process; this walk
//! does not recurse.

use std::collections::HashSet;

use starlark::environment::Module;
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;

/// Far more than JSON allows. The stacks that scripts run on hold several times as many levels.
const MAX_DEPTH: usize = 5000;

/// The name of a variable whose value is nested too deeply.
pub(crate) fn too_deep(module: &Module<'_>) -> Option<String> {
    // Each value is frozen once, so each is visited once.
    let mut seen = HashSet::new();
    let mut names = module.names();
    names
        .find(|name| {
            let mut open: Vec<(Value<'_>, usize)> =
                module.get(name.as_str()).map(|value| (value, 0)).into_iter().collect();
            while let Some((value, depth)) = open.pop() {
                if depth > MAX_DEPTH {
                    return true;
                }
                let before = open.len();
                children(value, |child| open.push((child, depth + 1)));
                if open.len() > before && !seen.insert(value.identity()) {
                    open.truncate(before);
                }
            }
            false
        })
        .map(|name| name.as_str().to_owned())
}

pub(crate) fn message(name: &str) -> String {
    format!("the value of `{name}` is nested deeper than {MAX_DEPTH} levels, and cannot be kept")
}

fn children<'v>(value: Value<'v>, mut child: impl FnMut(Value<'v>)) {
    if let Some(list) = ListRef::from_value(value) {
        list.iter().for_each(child);
    } else if let Some(dict) = DictRef::from_value(value) {
        dict.iter().for_each(|(key, value)| {
            child(key);
            child(value);
        });
    } else if let Some(tuple) = TupleRef::from_value(value) {
        tuple.iter().for_each(child);
    } else if let Some(fields) = StructRef::from_value(value) {
        fields.iter().for_each(|(_, field)| child(field));
    }
}
