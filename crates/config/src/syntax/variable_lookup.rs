//! Where variables come from.

/// Looks up a variable. A parameter, so that loading does not depend on the environment of the process.
pub type VariableLookup<'a> = dyn Fn(&str) -> Option<String> + 'a;
