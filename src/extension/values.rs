//! What `Extension()`, `Tool()` and `ToolParameter()` make: data checked when it is given, and the handlers.
#![expect(unsafe_code, reason = "the derives for Starlark values write unsafe impls")]

use std::fmt;
use std::sync::Arc;

use allocative::Allocative;
use serde_json::{Map, Value as Json};
use starlark::coerce::Coerce;
use starlark::values::{
    Freeze, NoSerialize, ProvidesStaticType, StarlarkPagable, StarlarkPagablePanic, StarlarkValue, Trace,
    ValueLifetimeless, ValueLike, starlark_value,
};
use starlark::{starlark_complex_value, starlark_simple_value};

use crate::json::Schema;
use crate::model::Definition;

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

/// What a tool is, without its handler.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct ToolData {
    #[allocative(skip)]
    pub definition: Arc<Definition>,
    #[allocative(skip)]
    pub schema: Arc<Schema>,
    #[allocative(skip)]
    pub defaults: Arc<Map<String, Json>>,
}

starlark_simple_value!(ToolData);

#[starlark_value(type = "tool_data")]
impl<'v> StarlarkValue<'v> for ToolData {}

impl fmt::Display for ToolData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.definition.key())
    }
}

/// A tool: its data and its handler.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct ToolGen<V: ValueLifetimeless> {
    /// A [`ToolData`].
    pub data: V,
    pub handler: V,
}

starlark_complex_value!(pub Tool);

#[starlark_value(type = "Tool")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for ToolGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for ToolGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<tool {}>", self.data)
    }
}

/// What an extension says of itself.
#[derive(Clone, Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
pub struct ExtensionData {
    pub name: String,
    pub version: String,
    pub description: String,
}

starlark_simple_value!(ExtensionData);

#[starlark_value(type = "extension_data")]
impl<'v> StarlarkValue<'v> for ExtensionData {}

impl fmt::Display for ExtensionData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// An extension: its data and its tools.
#[derive(Debug, Trace, Coerce, Freeze, ProvidesStaticType, NoSerialize, StarlarkPagable, Allocative)]
#[repr(C)]
pub struct DescribedGen<V: ValueLifetimeless> {
    /// An [`ExtensionData`].
    pub data: V,
    /// A list of [`Tool`].
    pub tools: V,
}

starlark_complex_value!(pub Described);

#[starlark_value(type = "Extension")]
impl<'v, V: ValueLike<'v>> StarlarkValue<'v> for DescribedGen<V> where Self: ProvidesStaticType<'v> {}

impl<V: ValueLifetimeless> fmt::Display for DescribedGen<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<extension {}>", self.data)
    }
}
