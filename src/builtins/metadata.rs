//! Metadata: what a tool is called and what it takes. Immutable; a change is a copy.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};
use starlark::collections::SmallMap;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder};
use starlark::eval::Evaluator;
use starlark::values::none::NoneOr;
use starlark::values::{
    Heap, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value, ValueLike, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use super::metadata_fields::{field, member};
use crate::json::{Object, raw};
use crate::model::{Definition, ItemKind, ItemRef};
use crate::script::{complain, convert};

#[derive(Debug, ProvidesStaticType, StarlarkPagablePanic, Allocative)]
pub struct Metadata {
    #[allocative(skip)]
    pub definition: Arc<Definition>,
    /// As it was before any change: what `digest()` pins.
    #[allocative(skip)]
    pub original: Arc<Definition>,
    #[allocative(skip)]
    pub origin: Option<ItemRef>,
}

starlark_simple_value!(Metadata);

impl Metadata {
    pub fn of_backend(definition: Arc<Definition>, origin: ItemRef) -> Self {
        Metadata { original: definition.clone(), definition, origin: Some(origin) }
    }

    pub fn has_original_name(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.name.as_ref() == self.definition.key())
    }

    pub fn has_original_schema(&self) -> bool {
        let schema = |definition: &Definition| {
            let object = Object::parse(definition.raw().get()).ok()?;
            object.get("inputSchema").map(|schema| schema.get().to_owned())
        };
        self.origin.is_some() && schema(&self.definition) == schema(&self.original)
    }

    /// A copy with some members changed.
    pub fn with(&self, changes: &[(&str, Option<crate::json::Raw>)]) -> starlark::Result<Metadata> {
        let definition = self.definition.with(ItemKind::Tool, changes).map_err(|error| complain(error.to_string()))?;
        Ok(Metadata { definition: Arc::new(definition), original: self.original.clone(), origin: self.origin.clone() })
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<metadata {}>", self.definition.key())
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json: Json = serde_json::from_str(self.definition.raw().get()).map_err(serde::ser::Error::custom)?;
        json.serialize(serializer)
    }
}

starlark::methods_static!(METADATA_METHODS = metadata_members);

#[starlark_value(type = "metadata")]
impl<'v> StarlarkValue<'v> for Metadata {
    fn get_methods() -> Option<&'static Methods> {
        Some(METADATA_METHODS.methods())
    }

    fn equals(&self, other: Value<'v>) -> starlark::Result<bool> {
        Ok(other
            .downcast_ref::<Metadata>()
            .is_some_and(|other| self.origin == other.origin && self.definition == other.definition))
    }
}

fn read<'v>(metadata: &Metadata, name: &str, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
    let field = field(name)?;
    let value = metadata.definition.member(field.member).filter(|value| field.kind.accepts(value));
    Ok(convert::to_starlark(&value.unwrap_or_else(|| field.kind.absent()), heap)?)
}

/// What a tool is. Dicts and lists read from it are copies: changing them changes nothing, `.replace()` does.
#[starlark_module]
fn metadata_members(builder: &mut MethodsBuilder) {
    /// The name it is published under.
    #[starlark(attribute)]
    fn name<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.definition.key()))
    }

    /// A name for people; `""` if there is none.
    #[starlark(attribute)]
    fn title<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        read(this, "title", heap)
    }

    /// What it does; `""` if nothing is said.
    #[starlark(attribute)]
    fn description<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        read(this, "description", heap)
    }

    /// The JSON Schema of its arguments, a dict.
    #[starlark(attribute)]
    fn parameters<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        read(this, "parameters", heap)
    }

    /// Hints such as `readOnlyHint` and `destructiveHint`, a dict. Claims of the server, not facts.
    #[starlark(attribute)]
    fn annotations<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        read(this, "annotations", heap)
    }

    /// The JSON Schema of its structured result, or None.
    #[starlark(attribute)]
    fn output_schema<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        read(this, "output_schema", heap)
    }

    /// A list of dicts.
    #[starlark(attribute)]
    fn icons<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        read(this, "icons", heap)
    }

    /// The `_meta` dict.
    #[starlark(attribute)]
    fn meta<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        read(this, "meta", heap)
    }

    /// The name of the backend it came from, or None if the script made it.
    #[starlark(attribute)]
    fn backend_id<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(this.origin.as_ref().map_or(Value::new_none(), |origin| heap.alloc(origin.backend.as_ref())))
    }

    /// Its name before any `.replace()`.
    #[starlark(attribute)]
    fn original_name<'v>(this: &Metadata, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        Ok(heap.alloc(this.original.key()))
    }

    /// A copy in which the given fields are changed and everything else is the same, unknown members included.
    ///
    /// ```python
    /// meta.replace(name = "github_" + meta.name, description = "...")
    /// ```
    fn replace<'v>(
        this: &Metadata,
        #[starlark(kwargs)] fields: SmallMap<String, Value<'v>>,
        heap: Heap<'v>,
    ) -> starlark::Result<Metadata> {
        let mut changes = Vec::new();
        for (name, value) in &fields {
            let field = field(name)?;
            changes.push((field.member, member(field, *value, heap)?.map(|json| raw(&json))));
        }
        this.with(&changes)
    }
}

#[starlark_module]
pub fn register_metadata(builder: &mut GlobalsBuilder) {
    /// A new tool's metadata. `parameters` is the JSON Schema of its arguments (`{}`: it takes none),
    /// `annotations` a dict of hints such as `{"readOnlyHint": True}`.
    ///
    /// ```python
    /// publish(metadata("ping", "Says pong", {}, {"readOnlyHint": True}), lambda args: "pong")
    /// ```
    fn metadata<'v>(
        name: Value<'v>,
        description: Value<'v>,
        parameters: Value<'v>,
        annotations: Value<'v>,
        #[starlark(require = named, default = NoneOr::None)] title: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] output_schema: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] icons: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] meta: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Metadata> {
        let given = [
            ("name", Some(name)),
            ("title", title.into_option()),
            ("description", Some(description)),
            ("parameters", Some(parameters)),
            ("output_schema", output_schema.into_option()),
            ("annotations", Some(annotations)),
            ("icons", icons.into_option()),
            ("meta", meta.into_option()),
        ];
        let mut members = Map::new();
        for (name, value) in given {
            let (field, Some(value)) = (field(name)?, value) else { continue };
            if let Some(json) = member(field, value, eval.heap())? {
                members.insert(field.member.to_owned(), json);
            }
        }
        let definition = Definition::parse(ItemKind::Tool, raw(&members))
            .map_err(|error| complain(format!("no such tool can be: {error}")))?;
        let definition = Arc::new(definition);
        Ok(Metadata { original: definition.clone(), definition, origin: None })
    }
}
