//! What the values that scripts get from built-ins have, for the reference.

use starlark::docs::DocType;

use super::backend::Backend;
use super::metadata::Metadata;

/// The types with members of their own, by the name the documents use.
pub fn types() -> [(&'static str, DocType); 2] {
    [("Backend", DocType::from_starlark_value::<Backend>()), ("metadata", DocType::from_starlark_value::<Metadata>())]
}
