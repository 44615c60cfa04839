//! `testing.tool`, `testing.resource`, `testing.prompt` and `testing.backend`: servers that exist only in a test.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]
#![expect(clippy::too_many_arguments, reason = "one parameter per argument of the built-in")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use serde_json::{Map, Value as Json, json};
use starlark::coerce::Coerce;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::list::{ListRef, UnpackList};
use starlark::values::none::NoneOr;
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkPagablePanic, StarlarkValue, Trace, Value,
    ValueLifetimeless, ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_module, starlark_simple_value};

use crate::testing::session::{Approved, FakeBackendSpec, FakeItem, FakeReply};
use crate::testing::world::TestWorld;
use proxy_json::raw;
use proxy_model::lock::LockMode;
use proxy_model::{Definition, ItemKind, Status};
use proxy_script::{convert, script_error};

/// A tool, resource or prompt without its reply.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct TestItemData {
    #[allocative(skip)]
    pub kind: ItemKind,
    #[allocative(skip)]
    pub definition: Arc<Definition>,
    /// Replies with this error instead of a value.
    pub fails: Option<String>,
}

starlark_simple_value!(TestItemData);

#[starlark_value(type = "test_item_data")]
impl<'v> StarlarkValue<'v> for TestItemData {}

impl fmt::Display for TestItemData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.noun(), self.definition.key())
    }
}

/// A tool, resource or prompt with its reply: a value, or a function of the test.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub(super) struct TestItemGen<V: ValueLifetimeless> {
    /// An [`TestItemData`].
    pub data: V,
    pub returns: V,
}

starlark_complex_value!(pub(super) TestItem);

#[starlark_value(type = "test_item")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for TestItemGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for TestItemGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<test {}>", self.data)
    }
}

/// A server without its items.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct TestBackendData {
    #[allocative(skip)]
    pub status: Status,
    pub error: String,
    pub instructions: String,
    #[allocative(skip)]
    pub approved: Option<Approved>,
}

starlark_simple_value!(TestBackendData);

#[starlark_value(type = "test_server_data")]
impl<'v> StarlarkValue<'v> for TestBackendData {}

impl fmt::Display for TestBackendData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.status.as_str())
    }
}

/// A server: a [`TestBackendData`] and a list of [`TestItem`].
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub(super) struct TestBackendGen<V: ValueLifetimeless> {
    pub data: V,
    pub items: V,
}

starlark_complex_value!(pub(super) TestBackend);

#[starlark_value(type = "test_backend")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for TestBackendGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for TestBackendGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<test backend {}>", self.data)
    }
}

/// Makes an item of the members that are not empty.
fn test_item<'v>(
    kind: ItemKind,
    members: Vec<(&str, Json)>,
    returns: Value<'v>,
    fails: NoneOr<String>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<TestItem<'v>> {
    let is_set = |value: &Json| !value.is_null() && *value != json!("") && *value != json!({}) && *value != json!([]);
    let members: Map<String, Json> =
        members.into_iter().filter(|(_, value)| is_set(value)).map(|(name, value)| (name.to_owned(), value)).collect();
    let definition = Definition::parse(kind, raw(&members)).map_err(|error| script_error(error.to_string()))?;
    let heap = eval.heap();
    let data = TestItemData { kind, definition: Arc::new(definition), fails: fails.into_option() };
    Ok(TestItemGen { data: heap.alloc(data), returns })
}

fn json_or_null<'v>(value: NoneOr<Value<'v>>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Json> {
    Ok(value.into_option().map(|value| convert::to_json(value, eval.heap())).transpose()?.unwrap_or_default())
}

/// The server that a `testing.backend(...)` describes; None for any other value.
pub(super) fn fake_backend_spec<'v>(
    name: &str,
    backend: Value<'v>,
    world: &TestWorld,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Option<FakeBackendSpec>> {
    let Some(backend) = TestBackend::from_value(backend) else { return Ok(None) };
    let Some(data) = backend.data.to_value().downcast_ref::<TestBackendData>() else { return Ok(None) };
    let Some(items) = ListRef::from_value(backend.items.to_value()) else { return Ok(None) };
    let items: Vec<Value<'v>> = items.iter().collect();
    let items = items.into_iter().map(|item| fake_item(item, world, eval)).collect::<starlark::Result<_>>()?;
    Ok(Some(FakeBackendSpec {
        name: name.to_owned(),
        status: data.status,
        error: data.error.clone(),
        instructions: data.instructions.clone(),
        items,
        approved: data.approved.clone(),
    }))
}

fn approved_items(mode: LockMode, items: &[Value<'_>]) -> starlark::Result<Approved> {
    let definition = |item: &Value<'_>| {
        let item = TestItem::from_value(*item)?;
        let data = item.data.downcast_ref::<TestItemData>()?;
        Some((data.kind, Arc::clone(&data.definition)))
    };
    let items = items.iter().map(definition).collect::<Option<_>>();
    let wrong = "`approved` must be a list of testing.tool(...), testing.resource(...) and testing.prompt(...)";
    Ok(Approved { mode, items: items.ok_or_else(|| script_error(wrong))? })
}

fn fake_item<'v>(item: Value<'v>, world: &TestWorld, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<FakeItem> {
    let invalid =
        || script_error("a server can have testing.tool(...), testing.resource(...) and testing.prompt(...) only");
    let item = TestItem::from_value(item).ok_or_else(invalid)?;
    let data = item.data.to_value().downcast_ref::<TestItemData>().ok_or_else(invalid)?.clone();
    let returns = item.returns.to_value();
    let reply = match data.fails {
        Some(text) => FakeReply::Error(text),
        None if returns.get_type() == "function" => FakeReply::Function(world.exchange.register(returns, eval)?),
        None => FakeReply::Value(convert::to_json(returns, eval.heap())?),
    };
    Ok(FakeItem { kind: data.kind, definition: data.definition, reply })
}

#[starlark_module]
pub(super) fn register_backends(builder: &mut GlobalsBuilder) {
    /// Creates a tool for a test server. `parameters` is its JSON Schema, `annotations` its hints. The tool replies
    /// with `returns`: a value (a dict with `isError`, `structuredContent` or content blocks is used as the complete
    /// result), or a function that takes the arguments. With `fails`, it returns an error with that text. Arguments
    /// that do not match the schema are rejected.
    ///
    /// ```python
    /// testing.tool("read", annotations = {"readOnlyHint": True}, returns = lambda args: "file " + args["path"])
    /// ```
    fn tool<'v>(
        name: &str,
        #[starlark(default = "")] description: &str,
        #[starlark(default = NoneOr::None)] parameters: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] annotations: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] returns: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] fails: NoneOr<String>,
        #[starlark(require = named, default = "")] title: &str,
        #[starlark(require = named, default = NoneOr::None)] output_schema: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TestItem<'v>> {
        let mut schema = json_or_null(parameters, eval)?;
        if schema.is_null() || schema == json!({}) {
            schema = json!({"type": "object"});
        }
        let members = vec![
            ("name", json!(name)),
            ("title", json!(title)),
            ("description", json!(description)),
            ("inputSchema", schema),
            ("outputSchema", json_or_null(output_schema, eval)?),
            ("annotations", json_or_null(annotations, eval)?),
            ("_meta", json_or_null(meta, eval)?),
        ];
        test_item(ItemKind::Tool, members, returns.into_option().unwrap_or_else(Value::new_none), fails, eval)
    }

    /// Creates a resource for a test server, or a resource template if the URI contains `{...}`. It replies with
    /// `returns`: a string, a dict with `contents`, or a function that takes `{"uri": ...}`. With `fails`, it returns
    /// an error with that text.
    fn resource<'v>(
        uri: &str,
        #[starlark(default = "")] name: &str,
        #[starlark(default = NoneOr::None)] returns: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] fails: NoneOr<String>,
        #[starlark(require = named, default = "")] description: &str,
        #[starlark(require = named, default = "")] mime_type: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TestItem<'v>> {
        let (kind, member) = match uri.contains('{') {
            true => (ItemKind::ResourceTemplate, "uriTemplate"),
            false => (ItemKind::Resource, "uri"),
        };
        let members = vec![
            (member, json!(uri)),
            ("name", json!(if name.is_empty() { uri } else { name })),
            ("description", json!(description)),
            ("mimeType", json!(mime_type)),
        ];
        test_item(kind, members, returns.into_option().unwrap_or_else(Value::new_none), fails, eval)
    }

    /// Creates a prompt for a test server. `arguments` is a list of dicts with `name`, `description` and `required`.
    /// The prompt replies with `returns`: a string, a dict with `messages`, or a function that takes the arguments.
    /// With `fails`, it returns an error with that text.
    fn prompt<'v>(
        name: &str,
        #[starlark(default = NoneOr::None)] arguments: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] returns: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] fails: NoneOr<String>,
        #[starlark(require = named, default = "")] description: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TestItem<'v>> {
        let members = vec![
            ("name", json!(name)),
            ("description", json!(description)),
            ("arguments", json_or_null(arguments, eval)?),
        ];
        test_item(ItemKind::Prompt, members, returns.into_option().unwrap_or_else(Value::new_none), fails, eval)
    }

    /// Creates a test server for the `backends` argument of `testing.session`. With `error`, the server is down: its
    /// `status` is `"failed"`, and calls fail with this error.
    ///
    /// With `approved`, a list of items, the server is locked: these were approved, and `tools`, `resources` and
    /// `prompts` are what it lists now. `lock` is the mode: `"warn"`, `"freeze"` or `"block"`.
    ///
    /// ```python
    /// testing.backend(tools = [testing.tool("read", "new text")], approved = [testing.tool("read", "old text")])
    /// ```
    fn backend<'v>(
        #[starlark(default = UnpackList::default())] tools: UnpackList<Value<'v>>,
        #[starlark(default = UnpackList::default())] resources: UnpackList<Value<'v>>,
        #[starlark(default = UnpackList::default())] prompts: UnpackList<Value<'v>>,
        #[starlark(require = named, default = "")] instructions: &str,
        #[starlark(require = named, default = "")] error: &str,
        #[starlark(require = named, default = NoneOr::None)] approved: NoneOr<UnpackList<Value<'v>>>,
        #[starlark(require = named, default = "freeze")] lock: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TestBackend<'v>> {
        let mode = LockMode::ALL.into_iter().find(|mode| mode.as_str() == lock);
        let mode = mode.ok_or_else(|| script_error("`lock` must be \"warn\", \"freeze\" or \"block\""))?;
        let approved = approved.into_option().map(|items| approved_items(mode, &items.items)).transpose()?;
        let mut items = Vec::new();
        let kinds: [(&str, UnpackList<Value<'v>>, &[ItemKind]); 3] = [
            ("tools", tools, &[ItemKind::Tool]),
            ("resources", resources, &[ItemKind::Resource, ItemKind::ResourceTemplate]),
            ("prompts", prompts, &[ItemKind::Prompt]),
        ];
        for (parameter, list, allowed) in kinds {
            for item in list.items {
                let kind = TestItem::from_value(item)
                    .and_then(|item| item.data.downcast_ref::<TestItemData>())
                    .map(|data| data.kind);
                if !kind.is_some_and(|kind| allowed.contains(&kind)) {
                    let function = parameter.trim_end_matches('s');
                    return Err(script_error(format!(
                        "`{parameter}` must be a list of testing.{function}(...), but has {}",
                        item.to_repr()
                    )));
                }
                items.push(item);
            }
        }
        let status = if error.is_empty() { Status::Ready } else { Status::Failed };
        let data = TestBackendData { status, error: error.to_owned(), instructions: instructions.to_owned(), approved };
        let heap = eval.heap();
        Ok(TestBackendGen { data: heap.alloc(data), items: heap.alloc(items) })
    }
}
