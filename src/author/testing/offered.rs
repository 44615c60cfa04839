//! `testing.tool`, `testing.resource`, `testing.prompt` and `testing.backend`: servers that exist only in a test.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use serde_json::{Map, Value as Json, json};
use starlark::coerce::Coerce;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkPagablePanic, StarlarkValue, Trace, Value,
    ValueLifetimeless, ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_module, starlark_simple_value};

use crate::json::raw;
use crate::model::{Definition, ItemKind, Status};
use crate::script::{convert, script_error};

/// What an item is, without what it answers.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct ItemData {
    #[allocative(skip)]
    pub kind: ItemKind,
    #[allocative(skip)]
    pub definition: Arc<Definition>,
    /// Fails with this text instead of answering.
    pub fails: Option<String>,
}

starlark_simple_value!(ItemData);

#[starlark_value(type = "test_item_data")]
impl<'v> StarlarkValue<'v> for ItemData {}

impl fmt::Display for ItemData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.noun(), self.definition.key())
    }
}

/// A tool, resource or prompt, and what it answers: a value, or a function.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub(super) struct ItemGen<V: ValueLifetimeless> {
    /// An [`ItemData`].
    pub data: V,
    pub returns: V,
}

starlark_complex_value!(pub(super) Item);

#[starlark_value(type = "test_item")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for ItemGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for ItemGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<test {}>", self.data)
    }
}

/// What a server is, without its items.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub(super) struct ServerData {
    #[allocative(skip)]
    pub status: Status,
    pub error: String,
    pub instructions: String,
}

starlark_simple_value!(ServerData);

#[starlark_value(type = "test_server_data")]
impl<'v> StarlarkValue<'v> for ServerData {}

impl fmt::Display for ServerData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.status.as_str())
    }
}

/// A server: its data and a list of [`Item`].
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub(super) struct ServerGen<V: ValueLifetimeless> {
    pub data: V,
    pub items: V,
}

starlark_complex_value!(pub(super) Server);

#[starlark_value(type = "test_backend")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for ServerGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for ServerGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<test backend {}>", self.data)
    }
}

/// Takes the members that are not empty.
fn defined<'v>(
    kind: ItemKind,
    members: Vec<(&str, Json)>,
    returns: Value<'v>,
    fails: NoneOr<String>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Item<'v>> {
    let is_given = |value: &Json| !value.is_null() && *value != json!("") && *value != json!({}) && *value != json!([]);
    let members: Map<String, Json> = members
        .into_iter()
        .filter(|(_, value)| is_given(value))
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let definition = Definition::parse(kind, raw(&members)).map_err(|error| script_error(error.to_string()))?;
    let heap = eval.heap();
    let data = ItemData { kind, definition: Arc::new(definition), fails: fails.into_option() };
    Ok(ItemGen { data: heap.alloc(data), returns })
}

fn given<'v>(value: NoneOr<Value<'v>>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Json> {
    Ok(value.into_option().map(|value| convert::to_json(value, eval.heap())).transpose()?.unwrap_or_default())
}

#[starlark_module]
pub(super) fn register_offered(builder: &mut GlobalsBuilder) {
    /// A tool of a server in a test. `parameters` is its JSON Schema, `annotations` its hints. It answers with `returns`: a
    /// value (a dict with `isError`, `structuredContent` or content blocks is a result as it stands), or a function of the
    /// arguments; with `fails` it fails with that text. Arguments that do not fit the schema are refused.
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
    ) -> starlark::Result<Item<'v>> {
        let mut schema = given(parameters, eval)?;
        if schema.is_null() || schema == json!({}) {
            schema = json!({"type": "object"});
        }
        let members = vec![
            ("name", json!(name)),
            ("title", json!(title)),
            ("description", json!(description)),
            ("inputSchema", schema),
            ("outputSchema", given(output_schema, eval)?),
            ("annotations", given(annotations, eval)?),
            ("_meta", given(meta, eval)?),
        ];
        defined(ItemKind::Tool, members, returns.into_option().unwrap_or_else(Value::new_none), fails, eval)
    }

    /// A resource of a server in a test, or with `{...}` in the URI a template. It answers with `returns`: text, a dict with
    /// `contents`, or a function of `{"uri": ...}`.
    fn resource<'v>(
        uri: &str,
        #[starlark(default = "")] name: &str,
        #[starlark(default = NoneOr::None)] returns: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] fails: NoneOr<String>,
        #[starlark(require = named, default = "")] description: &str,
        #[starlark(require = named, default = "")] mime_type: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
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
        defined(kind, members, returns.into_option().unwrap_or_else(Value::new_none), fails, eval)
    }

    /// A prompt of a server in a test. `arguments` is a list of dicts with `name`, `description` and `required`. It answers
    /// with `returns`: text, a dict with `messages`, or a function of the arguments.
    fn prompt<'v>(
        name: &str,
        #[starlark(default = NoneOr::None)] arguments: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] returns: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] fails: NoneOr<String>,
        #[starlark(require = named, default = "")] description: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Item<'v>> {
        let members =
            vec![("name", json!(name)), ("description", json!(description)), ("arguments", given(arguments, eval)?)];
        defined(ItemKind::Prompt, members, returns.into_option().unwrap_or_else(Value::new_none), fails, eval)
    }

    /// A server in a test, for `backends` of `testing.session`. With an `error` it is down: `status` is `"failed"`, and calls
    /// fail as they do then.
    fn backend<'v>(
        #[starlark(default = UnpackList::default())] tools: UnpackList<Value<'v>>,
        #[starlark(default = UnpackList::default())] resources: UnpackList<Value<'v>>,
        #[starlark(default = UnpackList::default())] prompts: UnpackList<Value<'v>>,
        #[starlark(require = named, default = "")] instructions: &str,
        #[starlark(require = named, default = "")] error: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Server<'v>> {
        let mut items = Vec::new();
        let kinds: [(&str, UnpackList<Value<'v>>, &[ItemKind]); 3] = [
            ("tools", tools, &[ItemKind::Tool]),
            ("resources", resources, &[ItemKind::Resource, ItemKind::ResourceTemplate]),
            ("prompts", prompts, &[ItemKind::Prompt]),
        ];
        for (parameter, given, allowed) in kinds {
            for item in given.items {
                let kind =
                    Item::from_value(item).and_then(|item| item.data.downcast_ref::<ItemData>()).map(|data| data.kind);
                if !kind.is_some_and(|kind| allowed.contains(&kind)) {
                    let maker = parameter.trim_end_matches('s');
                    return Err(script_error(format!(
                        "`{parameter}` holds {}; it must hold testing.{maker}(...) only",
                        item.to_repr()
                    )));
                }
                items.push(item);
            }
        }
        let status = if error.is_empty() { Status::Ready } else { Status::Failed };
        let data = ServerData { status, error: error.to_owned(), instructions: instructions.to_owned() };
        let heap = eval.heap();
        Ok(ServerGen { data: heap.alloc(data), items: heap.alloc(items) })
    }
}
