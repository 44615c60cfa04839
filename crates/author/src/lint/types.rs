//! The lint `type`: errors of Starlark's type checker, as warnings, because it knows the types of few values.

use std::collections::HashMap;

use starlark::syntax::AstModule;
use starlark::typing::{AstModuleTypecheck, Interface};

use super::Role;
use proxy_base::diagnostic::{Diagnostic, Severity, nearest};
use proxy_script::diagnose;

const RULE: &str = "type";

pub(super) fn check(
    module: &AstModule,
    role: Role,
    loads: &HashMap<String, Interface>,
) -> (Vec<Diagnostic>, Interface) {
    let (errors, _, interface, _) = module.clone().typecheck(role.globals(), loads);
    let is_suppressed =
        |error: &starlark::Error| error.span().is_some_and(|place| module.is_suppressed(RULE, place.span));
    let warnings = errors.iter().filter(|error| !is_suppressed(error)).map(|error| {
        let mut warning = diagnose(error).rule(RULE);
        warning.severity = Severity::Warning;
        shorten(warning)
    });
    (warnings.collect(), interface)
}

/// The message about an unknown member lists all members of the module with their types. Suggests the nearest one
/// instead.
fn shorten(mut warning: Diagnostic) -> Diagnostic {
    const MODULE: &str = "` is not available on the type `namespace(";
    let Some((before, members)) = warning.message.split_once(MODULE) else { return warning };
    let name = before.rsplit('`').next().unwrap_or_default().to_owned();
    let known = members.split(" = def(").filter_map(|part| part.rsplit([' ', '(']).next());
    warning.hint = nearest(&name, known).map(|near| format!("did you mean `{near}`?"));
    warning.message = format!("this module has no member `{name}`");
    warning
}
