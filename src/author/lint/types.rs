//! What the engine can tell of types: advice, for it sees little at the top level and nothing through most values.

use std::collections::HashMap;

use starlark::syntax::AstModule;
use starlark::typing::{AstModuleTypecheck, Interface};

use super::Role;
use crate::diagnostic::{Diagnostic, Severity, nearest};
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
        shortened(advice)
    });
    (advice.collect(), interface)
}

/// A module is told with all of its members and their types: pages of them. What matters is the one that is meant.
fn shortened(mut advice: Diagnostic) -> Diagnostic {
    const MODULE: &str = "` is not available on the type `namespace(";
    let Some((before, members)) = advice.message.split_once(MODULE) else { return advice };
    let name = before.rsplit('`').next().unwrap_or_default().to_owned();
    let known = members.split(" = def(").filter_map(|part| part.rsplit([' ', '(']).next());
    advice.hint = nearest(&name, known).map(|near| format!("did you mean `{near}`?"));
    advice.message = format!("this module has no `{name}`");
    advice
}
