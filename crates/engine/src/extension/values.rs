//! The values that the constructors return: checked data, and handlers.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use allocative::Allocative;
use serde_json::{Map, Value as Json};
use starlark::coerce::Coerce;
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkPagablePanic, StarlarkValue, Trace,
    ValueLifetimeless, ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_simple_value};

use crate::extension::Permissions;
use proxy_json::Schema;
use proxy_model::{Definition, ItemKind, UriTemplate};
use proxy_script::CallSite;

/// One parameter of a tool.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct Parameter {
    pub name: String,
    #[allocative(skip)]
    pub schema: Json,
    pub required: bool,
    #[allocative(skip)]
    pub default: Option<Json>,
}

starlark_simple_value!(Parameter);

#[starlark_value(type = "ToolParameter")]
impl<'v> StarlarkValue<'v> for Parameter {}

impl fmt::Display for Parameter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<parameter {}>", self.name)
    }
}

/// One argument of a prompt.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct Argument {
    #[allocative(skip)]
    pub definition: Json,
}

starlark_simple_value!(Argument);

#[starlark_value(type = "PromptArgument")]
impl<'v> StarlarkValue<'v> for Argument {}

impl fmt::Display for Argument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<argument {}>", self.definition["name"])
    }
}

/// A tool, resource, template or prompt without its handler.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct ItemData {
    #[allocative(skip)]
    pub kind: ItemKind,
    #[allocative(skip)]
    pub definition: Arc<Definition>,
    /// The schema of the arguments; None for resources, which have none.
    #[allocative(skip)]
    pub input: Option<Arc<Schema>>,
    #[allocative(skip)]
    pub output: Option<Arc<Schema>>,
    #[allocative(skip)]
    pub defaults: Arc<Map<String, Json>>,
    #[allocative(skip)]
    pub template: Option<Arc<UriTemplate>>,
    /// How long one call may take without progress; None if there is no limit.
    #[allocative(skip)]
    pub timeout: Option<Duration>,
    /// Where an item with completion is described.
    #[allocative(skip)]
    pub site: Option<CallSite>,
    /// How often a resource is refreshed while clients follow it; None if it cannot be followed.
    #[allocative(skip)]
    pub refresh: Option<Duration>,
}

starlark_simple_value!(ItemData);

#[starlark_value(type = "item_data")]
impl<'v> StarlarkValue<'v> for ItemData {}

impl fmt::Display for ItemData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.noun(), self.definition.key())
    }
}

/// An item of an extension: its data and its handler.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct ItemGen<V: ValueLifetimeless> {
    /// An [`ItemData`].
    pub data: V,
    pub handler: V,
    /// A dict of functions that complete arguments, or None.
    pub complete: V,
}

starlark_complex_value!(pub Item);

#[starlark_value(type = "item")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for ItemGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for ItemGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<{}>", self.data)
    }
}

/// An extension without its items.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct ExtensionData {
    pub name: String,
    pub version: String,
    pub description: String,
    #[allocative(skip)]
    pub permissions: Permissions,
}

starlark_simple_value!(ExtensionData);

#[starlark_value(type = "extension_data")]
impl<'v> StarlarkValue<'v> for ExtensionData {}

impl fmt::Display for ExtensionData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// An extension: its data and its items.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct DescribedGen<V: ValueLifetimeless> {
    /// An [`ExtensionData`].
    pub data: V,
    /// A list of [`Item`].
    pub items: V,
}

starlark_complex_value!(pub Described);

#[starlark_value(type = "Extension")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for DescribedGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for DescribedGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<extension {}>", self.data)
    }
}
