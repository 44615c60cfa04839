//! The Starlark module `fuzzy`: finds items that contain the letters of a query in order.

mod score;

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;
use starlark::values::{Heap, Value};

use self::score::score;
use proxy_script::{ScriptError, script_error};

pub(crate) fn register_fuzzy(builder: &mut GlobalsBuilder) {
    builder.namespace("fuzzy", members);
}

/// Fuzzy search in lists, ignoring case.
#[starlark_module]
fn members(builder: &mut GlobalsBuilder) {
    /// Returns the items that contain the query's letters in order, best match first. Items are strings, or dicts to
    /// search by one `key`, several `keys` or all their string values: `fuzzy.search("helo", ["hello", "world"])` is
    /// `["hello"]`.
    fn search<'v>(
        query: &str,
        items: Value<'v>,
        #[starlark(default = NoneOr::None)] key: NoneOr<String>,
        #[starlark(default = NoneOr::None)] keys: NoneOr<UnpackList<String>>,
        #[starlark(default = NoneOr::None)] limit: NoneOr<i32>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let found = ranked(query, items, &Keys::new(key, keys)?, limit, heap)?;
        Ok(heap.alloc(found.into_iter().map(|(_, item)| item).collect::<Vec<_>>()))
    }

    /// Like `fuzzy.search()`, but returns a list of dicts with `item` and `score`. A score is an integer, comparable
    /// only within one search.
    fn search_with_scores<'v>(
        query: &str,
        items: Value<'v>,
        #[starlark(default = NoneOr::None)] key: NoneOr<String>,
        #[starlark(default = NoneOr::None)] keys: NoneOr<UnpackList<String>>,
        #[starlark(default = NoneOr::None)] limit: NoneOr<i32>,
        heap: Heap<'v>,
    ) -> starlark::Result<Value<'v>> {
        let found = ranked(query, items, &Keys::new(key, keys)?, limit, heap)?;
        let entry =
            |(score, item): (i32, Value<'v>)| heap.alloc(AllocDict([("item", item), ("score", heap.alloc(score))]));
        Ok(heap.alloc(found.into_iter().map(entry).collect::<Vec<_>>()))
    }
}

/// The keys of a dict that are searched; if empty, all of them.
struct Keys(Vec<String>);

impl Keys {
    fn new(key: NoneOr<String>, keys: NoneOr<UnpackList<String>>) -> Result<Self, ScriptError> {
        match (key.into_option(), keys.into_option()) {
            (Some(_), Some(_)) => Err(ScriptError::new("fuzzy: `key` and `keys` cannot be combined")
                .hint("`key = \"name\"` for one, `keys = [\"name\", \"description\"]` for several")),
            (Some(key), None) => Ok(Keys(vec![key])),
            (None, keys) => Ok(Keys(keys.map(|keys| keys.items).unwrap_or_default())),
        }
    }

    /// The searched text of an item, or None if it has no text.
    fn text(&self, item: Value<'_>) -> Option<String> {
        if let Some(text) = item.unpack_str() {
            return Some(text.to_owned());
        }
        let dict = DictRef::from_value(item)?;
        let texts: Vec<&str> = match self.0.as_slice() {
            [] => dict.iter().filter_map(|(_, value)| value.unpack_str()).collect(),
            keys => keys.iter().filter_map(|key| dict.get_str(key)?.unpack_str()).collect(),
        };
        (!texts.is_empty()).then(|| texts.join(" "))
    }
}

fn ranked<'v>(
    query: &str,
    items: Value<'v>,
    keys: &Keys,
    limit: NoneOr<i32>,
    heap: Heap<'v>,
) -> starlark::Result<Vec<(i32, Value<'v>)>> {
    let items = items.iterate(heap).map_err(|_| script_error("fuzzy: `items` must be a list"))?;
    let scored = items.filter_map(|item| Some((score(query, &keys.text(item)?)?, item)));
    let mut found: Vec<(i32, Value<'v>)> = scored.collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    if let Some(limit) = limit.into_option().and_then(|limit| usize::try_from(limit).ok()).filter(|limit| *limit > 0) {
        found.truncate(limit);
    }
    Ok(found)
}
