//! Warnings about server schemas that are invalid or too large. Such a schema is forwarded unchanged, but the proxy cannot
//! validate arguments or results with it.

use proxy_base::diagnostic::Diagnostic;
use proxy_builtins::{Handler, Plan};
use proxy_model::ToolSchema;

/// A warning for each invalid schema of a server. Scripts cannot publish invalid schemas of their own.
pub(crate) fn warnings(plan: &Plan) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    for tool in &plan.items.tools {
        let (Some(checks), Some(origin)) = (&tool.checks, &tool.origin) else { continue };
        for schema in [ToolSchema::Input, ToolSchema::Output] {
            let Some(fault) = checks.fault(schema) else { continue };
            let consequence = match (&tool.handler, schema) {
                (Handler::Backend(_), _) => "it is forwarded unchanged",
                (Handler::Script(_), ToolSchema::Input) => "arguments unchecked",
                (Handler::Script(_), ToolSchema::Output) => "results unchecked",
            };
            let (member, name, server) = (schema.member(), tool.definition.key(), &origin.backend);
            let problem = fault.problem();
            let warning = Diagnostic::warning(format!(
                "the `{member}` of the tool `{name}` of server `{server}` {problem}; {consequence}"
            ));
            warnings.push(match tool.handler {
                Handler::Backend(_) => warning,
                Handler::Script(_) => warning.hint("check them in the handler, or publish a schema of your own"),
            });
        }
    }
    warnings
}
