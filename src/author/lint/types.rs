//! What the engine can tell of types: advice, for it sees little at the top level and nothing through most values.

use std::collections::HashMap;

use starlark::syntax::AstModule;
use starlark::typing::{AstModuleTypecheck, Interface};

use super::Role;
use crate::diagnostic::{Diagnostic, Severity};
use crate::script::diagnose;

const RULE: &str = "type";

pub(super) fn check(
    module: &AstModule,
    role: Role,
    loads: &HashMap<String, Interface>,
) -> (Vec<Diagnostic>, Interface) {
    let (errors, _, interface, _) = module.clone().typecheck(role.globals(), loads);
    let silenced = |error: &starlark::Error| error.span().is_some_and(|place| module.is_suppressed(RULE, place.span));
    let advice = errors.iter().filter(|error| !silenced(error)).map(|error| {
        let mut advice = diagnose(error).rule(RULE);
        advice.severity = Severity::Warning;
        advice
    });
    (advice.collect(), interface)
}
