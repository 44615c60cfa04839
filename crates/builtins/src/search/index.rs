//! `search_index()` and the Starlark value `search_index`.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use serde_json::{Value as Json, json};
use starlark::coerce::Coerce;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;
use starlark::values::tuple::TupleRef;
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkValue, Trace, Value, ValueLifetimeless,
    ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_module};

use super::call::{call_tool, note_hidden, note_unknown, unknown_tool};
use super::explanation::Explanation;
use super::handle::SearchHandle;
use crate::kinds::noun;
use crate::metadata::Metadata;
use crate::metadata::validity::{check_handler, check_validity};
use crate::session::World;
use proxy_json::RawRef;
use proxy_model::{ItemKind, Status};
use proxy_script::{Context, ScriptError, convert, script_error};
use proxy_search::{IndexCache, SharedIndex, Tool};

/// Upper bound of `limit`.
const MAX_RESULTS: i32 = 1_000;
/// The length at which unknown names are cut in errors.
pub(super) const MAX_SHOWN_NAME: usize = 128;

#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct SearchIndexGen<V: ValueLifetimeless> {
    /// A tuple of `(metadata, handler)` tuples, in the order of the index.
    tools: V,
    /// A [`SearchHandle`].
    handle: V,
}

starlark_complex_value!(pub SearchIndex);

impl<V: ValueLifetimeless> fmt::Display for SearchIndexGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<search_index {}>", self.handle)
    }
}

impl<'v, V: ValueLike<'v>> SearchIndexGen<V> {
    fn handle(&self) -> starlark::Result<&'v SearchHandle> {
        self.handle.to_value().downcast_ref().ok_or_else(|| script_error("invalid search index"))
    }

    fn tool(&self, position: usize) -> Option<Value<'v>> {
        TupleRef::from_value(self.tools.to_value())?.content().get(position).copied()
    }
}

starlark::methods_static!(SEARCH_INDEX_METHODS = search_index_members);

#[starlark_value(type = "search_index")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for SearchIndexGen<V>
where
    Self: ProvidesStaticType<'v>,
{
    fn get_methods() -> Option<&'static Methods> {
        Some(SEARCH_INDEX_METHODS.methods())
    }

    fn length(&self) -> starlark::Result<i32> {
        Ok(i32::try_from(self.handle()?.shared.len()).unwrap_or(i32::MAX))
    }
}

/// A searchable set of tools. `len(index)` is the number of tools.
#[starlark_module]
fn search_index_members(builder: &mut MethodsBuilder) {
    /// Searches the tools that the caller may use and returns the best matches, best first: a list of dicts with
    /// `name`, `title`, `description`, `inputSchema`, `backend` (None if the script created the tool) and `score`. The
    /// query is plain text; `keywords` are appended to it.
    ///
    /// With `compact = True`, the dicts have `name`, `signature`, `description` (its first sentence), `backend` and
    /// `score`, and `lossy` (True) if the signature does not show every parameter, member and literal. If they would
    /// cost more than `max_tokens`, parts are left out: optional parameters, output types, descriptions in the lower half, and
    /// at last the signatures of the tools at the end of the list.
    ///
    /// ```python
    /// for found in index.search("open a ticket", keywords = ["bug"], limit = 3):
    ///     print(found["name"], found["score"])
    ///
    /// for found in index.search("open a ticket", compact = True):
    ///     print(found["name"] + found["signature"])    # create_issue(title: str, labels?: list[str])
    /// ```
    fn search<'v>(
        this: Value<'v>,
        query: &str,
        #[starlark(default = UnpackList::default())] keywords: UnpackList<String>,
        #[starlark(default = 8)] limit: i32,
        #[starlark(require = named, default = false)] compact: bool,
        #[starlark(require = named, default = NoneOr::None)] max_tokens: NoneOr<i32>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let (index, context) = (of(this)?, Context::of(eval)?);
        let max_tokens = token_limit(max_tokens)?;
        if max_tokens.is_some() && !compact {
            return Err(ScriptError::new("`max_tokens` limits compact results only")
                .hint("`index.search(query, compact = True, max_tokens = 1500)`")
                .into());
        }
        let limit = usize::try_from(limit.min(MAX_RESULTS))
            .map_err(|_| script_error(format!("`limit` must be 0 or more, not {limit}")))?;
        let mut text = query.to_owned();
        for keyword in keywords.items {
            text.push(' ');
            text.push_str(&keyword);
        }
        let handle = index.handle()?;
        let form = if compact { format!("compact {max_tokens:?}") } else { String::new() };
        let request = [text.as_str(), &limit.to_string(), &form];
        let listed = handle.listed(context);
        let search = |handle: &SearchHandle| {
            if compact {
                handle.search_compact(&text, limit, listed.as_deref(), max_tokens)
            } else {
                handle.search(&text, limit, listed.as_deref())
            }
        };
        let found = handle.query("index.search", &request, context, search)?;
        Ok(convert::text_to_starlark(found.get(), eval.heap())?)
    }

    /// Returns the `(metadata, handler)` tuple for a tool name, or None if the tool does not exist or the caller may
    /// not use it.
    fn get<'v>(
        this: Value<'v>,
        #[starlark(require = pos)] name: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let index = of(this)?;
        let position = index.handle()?.listed_position(name, Context::of(eval)?);
        Ok(position.and_then(|position| index.tool(position)).unwrap_or_else(Value::new_none))
    }

    /// Returns the definitions of tools that the caller may use, as a dict with `tools`, a list of dicts with `name`,
    /// `title`, `description`, `inputSchema`, `outputSchema` and `annotations`, as far as the tool has them. `errors` has
    /// a dict with `name`, `error` and `nearest` (names of similar tools) for each name that does not exist or that the
    /// caller may not use.
    ///
    /// ```python
    /// described = index.describe(["create_issue"])
    /// schemas = {tool["name"]: tool["inputSchema"] for tool in described["tools"]}
    /// ```
    fn describe<'v>(
        this: Value<'v>,
        #[starlark(require = pos)] names: UnpackList<String>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let index = of(this)?;
        let handle = index.handle()?;
        let context = Context::of(eval)?;
        let listed = handle.listed(context);
        let mut tools = Vec::new();
        let mut errors = Vec::new();
        for name in names.items {
            if let Some(position) = handle.listed_position(&name, context) {
                tools.extend(handle.definition(position));
                continue;
            }
            let hidden = handle.position(&name).and_then(|position| index.tool(position));
            if let (Some(host), Some(tool)) = (&context.host, hidden) {
                note_hidden(host, tool);
            }
            let near = |handle: &SearchHandle| handle.nearest(&name, listed.as_deref()).into();
            let nearest = handle.query("index.describe", &[&name], context, near)?;
            let shown: String = name.chars().take(MAX_SHOWN_NAME).collect();
            errors
                .push(json!({"name": shown, "error": "there is no tool with this name", "nearest": parsed(&nearest)}));
        }
        Ok(convert::to_starlark(&json!({"tools": tools, "errors": errors}), eval.heap())?)
    }

    /// Returns the servers of this index's tools that are not ready, as a list of dicts with `name` and `state`:
    /// `"starting"`, `"failed"` or `"log-in"` (somebody has to log in first). In a handler, it has only servers with
    /// tools that the caller may use. A server whose tools are not known yet is not in any index.
    fn unready_servers<'v>(this: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let servers = of(this)?.handle()?.servers(Context::of(eval)?);
        let snapshot = &World::of(eval)?.snapshot;
        let unready = servers.iter().filter_map(|server| {
            let backend = snapshot.backend(server)?;
            let state = match backend.status {
                Status::Cached | Status::Resting if !backend.error.is_empty() => "failed",
                // A call wakes a server that rests.
                Status::Ready | Status::Resting => return None,
                Status::Starting | Status::Cached => "starting",
                Status::Failed => "failed",
                Status::Login | Status::PerPerson => "log-in",
            };
            Some(json!({"name": server.as_ref(), "state": state}))
        });
        Ok(convert::to_starlark(&Json::from_iter(unready), eval.heap())?)
    }

    /// Estimates how many tokens all tool definitions cost a model, as `count_tokens()` does. In a handler, only tools
    /// that the caller may use are counted.
    ///
    /// ```python
    /// baseline = search_index(aggregate(backends())).tokens()
    /// ```
    fn tokens<'v>(this: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<i32> {
        let tokens = of(this)?.handle()?.tokens(Context::of(eval)?);
        Ok(i32::try_from(tokens).unwrap_or(i32::MAX))
    }

    /// Calls a tool as a client would, including `on_request`, and returns its result. An unknown name returns an error
    /// result that suggests similar names. Only while a call is handled.
    ///
    /// With `explain = True`, wrong arguments get an answer from which a model can correct them. A call without an argument
    /// that the tool's schema requires is refused. If the tool fails and says that the arguments are invalid, or if they
    /// do not match its schema, the tool's signature is added to its error. The structured content is then
    /// `{"error": "invalid_arguments", "tool": NAME, "inputSchema": {...}}`; the schema is left out if the answer would
    /// cost more than `max_tokens`.
    ///
    /// ```python
    /// index.call("create_issue", {"title": "Crash"}, explain = True, max_tokens = 1500)
    /// ```
    fn call<'v>(
        this: Value<'v>,
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] args: Value<'v>,
        #[starlark(require = named, default = false)] explain: bool,
        #[starlark(require = named, default = NoneOr::None)] max_tokens: NoneOr<i32>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let index = of(this)?;
        let max_tokens = token_limit(max_tokens)?;
        if max_tokens.is_some() && !explain {
            return Err(ScriptError::new("`max_tokens` limits explanations only")
                .hint("`index.call(name, args, explain = True, max_tokens = 1500)`")
                .into());
        }
        let host = Context::of(eval)?.host_for("calling a tool of a search index")?;
        let handle = index.handle()?;
        let Some(tool) = handle.position(name).and_then(|position| index.tool(position)) else {
            note_unknown(host);
            return unknown_tool(name, handle, eval);
        };
        if handle.listed_position(name, Context::of(eval)?).is_none() {
            note_hidden(host, tool);
            return unknown_tool(name, handle, eval);
        }
        let explanation = explain.then_some(Explanation { max_tokens });
        call_tool(tool, args, explanation, eval, |eval| unknown_tool(name, handle, eval))
    }
}

/// The parameter `max_tokens`.
fn token_limit(max_tokens: NoneOr<i32>) -> starlark::Result<Option<usize>> {
    let Some(number) = max_tokens.into_option() else { return Ok(None) };
    let limit = usize::try_from(number).ok().filter(|limit| *limit > 0);
    limit.map(Some).ok_or_else(|| script_error(format!("`max_tokens` must be 1 or more, not {number}")))
}

fn parsed(result: &RawRef) -> Json {
    serde_json::from_str(result.get()).unwrap_or_default()
}

/// The index in a value, whether frozen or not.
fn of<'v>(value: Value<'v>) -> starlark::Result<SearchIndexGen<Value<'v>>> {
    let index = SearchIndex::from_value(value).ok_or_else(|| script_error("this value is not a search index"))?;
    Ok(SearchIndexGen { tools: index.tools, handle: index.handle })
}

/// The tuples of a search index and its shared index; None if the value is something else.
pub(crate) fn parts_of<'v>(value: Value<'v>) -> starlark::Result<Option<(Vec<Value<'v>>, Arc<SharedIndex>)>> {
    let Some(index) = SearchIndex::from_value(value) else { return Ok(None) };
    let handle: &SearchHandle = index.handle.downcast_ref().ok_or_else(|| script_error("invalid search index"))?;
    let tools = TupleRef::from_value(index.tools).map(|tools| tools.content().to_vec()).unwrap_or_default();
    Ok(Some((tools, Arc::clone(&handle.shared))))
}

#[starlark_module]
pub fn register_search_index(builder: &mut GlobalsBuilder) {
    /// Creates a search index over tools, a list of `(metadata, handler)` tuples. The proxy builds it in the
    /// background, once for each distinct set of tools; `.search()` waits until it is ready.
    ///
    /// The index searches by words and, according to `optimizer.embedding` in the config, by meaning. With `meaning =
    /// False` it searches by words alone.
    ///
    /// ```python
    /// index = search_index(aggregate(backends()))
    /// ```
    fn search_index<'v>(
        #[starlark(require = pos)] tools: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] meaning: NoneOr<bool>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let items: Vec<Value<'v>> = tools.iterate(heap)?.collect();
        let world = World::of(eval)?;
        let mut indexed = Vec::with_capacity(items.len());
        for item in &items {
            indexed.push(tool_of("search_index", *item, world)?);
        }
        let by_meaning = is_by_meaning(meaning.into_option(), world)?;
        let embedder = world.settings.embedder.clone().filter(|_| by_meaning);
        let shared = IndexCache::shared().index(indexed, embedder);
        if Context::of(eval)?.host.is_none() {
            let mut notes = world.notes();
            notes.indexes.push(shared.clone());
            if world.settings.sets_embedding {
                notes.sections_read.insert("optimizer".to_owned());
            }
        }
        let metadata = items.iter().filter_map(|item| metadata_of(*item));
        let handle = heap.alloc(SearchHandle::new(shared, metadata));
        let tools = heap.alloc(starlark::values::tuple::AllocTuple(items));
        Ok(heap.alloc(SearchIndex { tools, handle }))
    }
}

/// Whether an index finds tools by their meaning too.
fn is_by_meaning(asked: Option<bool>, world: &World) -> starlark::Result<bool> {
    let section = world.settings.sections.get("optimizer");
    let provider = section.and_then(|section| section.pointer("/embedding/provider"));
    let is_off = provider.is_some_and(|provider| provider == "none");
    if asked == Some(true) && is_off {
        let message = "`meaning = True` needs a model, and `optimizer.embedding.provider` is `none`";
        return Err(ScriptError::new(message).hint("remove one of the two").into());
    }
    Ok(asked.unwrap_or(!is_off))
}

fn metadata_of<'v>(item: Value<'v>) -> Option<&'v Metadata> {
    TupleRef::from_value(item)?.content().first()?.downcast_ref()
}

/// Converts a `(metadata, handler)` tuple to a tool for the index. `caller` is the built-in's name, for error messages.
pub(crate) fn tool_of(caller: &str, item: Value<'_>, world: &World) -> starlark::Result<Tool> {
    let wrong = || {
        ScriptError::new(format!(
            "{caller}() takes a list of (metadata, handler) tuples; one is a `{}`",
            item.get_type()
        ))
        .hint("`search_index(aggregate(backends()))`, or a list such as `backend.tools()` gives")
    };
    let pair = TupleRef::from_value(item).map(TupleRef::content).filter(|pair| pair.len() == 2).ok_or_else(wrong)?;
    let metadata = pair[0].downcast_ref::<Metadata>().ok_or_else(wrong)?;
    if metadata.kind != ItemKind::Tool {
        let (key, noun) = (metadata.definition.key(), noun(metadata.kind));
        return Err(script_error(format!("{caller}() takes tools; `{key}` is a {noun}")));
    }
    check_handler(metadata, pair[1])?;
    check_validity(metadata, &metadata.tool_checks(pair[1], &world.snapshot))?;
    let origin = metadata.origin.as_ref();
    Ok(Tool {
        server: origin.map_or_else(|| "".into(), |origin| origin.backend.clone()),
        original_name: origin.map_or_else(|| "".into(), |origin| origin.name.clone()),
        definition: metadata.definition.clone(),
    })
}

/// The documentation of the type, for the reference.
pub(crate) fn documented() -> starlark::docs::DocType {
    starlark::docs::DocType::from_starlark_value::<SearchIndexGen<Value<'_>>>()
}
