//! One use of a published item: its options on the command line, the request, and the errors.

use clap::Args;
use serde_json::Value;

use crate::admin::SurfaceReport;
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, Answers, Query, QueryArgs};
use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_model::{Definition, ItemKind, problem};

#[derive(Debug, Args)]
pub(crate) struct ItemOptions {
    /// Timeout, such as 10s
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    #[command(flatten)]
    query: QueryArgs,
    /// Print the full result as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl ItemOptions {
    /// Uses a published item with the params that `params` builds from its definition. Returns the result.
    pub(super) fn use_item(
        &self,
        kind: ItemKind,
        key: &str,
        params: impl FnOnce(&Definition) -> Result<Value, CommandFailure>,
    ) -> Result<Value, CommandFailure> {
        let timeout = match &self.timeout {
            Some(text) => Some(proxy_config::duration(text).ok_or_else(|| {
                CommandFailure::usage(format!("invalid duration `{text}`: write it as 10s, 500ms or 2m"))
            })?),
            None => None,
        };
        let loaded = self.query.load()?;
        let query = Query { wanted: Some((kind, key)), ..self.query.query(&loaded, self.json)? };
        query::answer(&query, async |answers| {
            let report = answers.report_on(kind, key).await?;
            let Some(item) = report.find(kind, key) else {
                return Err(unknown(kind, key, &report, answers, &query.user.option()).await);
            };
            let params = params(&item.definition)?;
            let result = answers.use_item((kind, key), &params, timeout).await?;
            serde_json::from_str(result.get()).map_err(|error| CommandFailure::usage(error.to_string()))
        })
    }
}

/// `user` is the option that makes suggested commands act as the same user.
async fn unknown(kind: ItemKind, key: &str, report: &SurfaceReport, answers: &Answers, user: &str) -> CommandFailure {
    // A broken extension may be the reason why the item is missing.
    answers.report_extensions(report);
    let mut diagnostic = Diagnostic::error(format!("unknown {} `{key}`", kind.noun()));
    for server in &report.servers {
        if let Some(problem) = problem(&server.name, &server.error) {
            diagnostic = diagnostic.note(problem);
        }
    }
    if let Some(source) = answers.lists_from() {
        diagnostic = diagnostic.note(source);
    }
    if kind == ItemKind::Tool && answers.is_searchable(key, report).await {
        let hint =
            format!("call it through `call_tool`: `proxy call call_tool tool_name={key} parameters='{{...}}'{user}`");
        return CommandFailure::failed(diagnostic.hint(hint));
    }
    let kinds = if kind == ItemKind::Resource { &[kind, ItemKind::ResourceTemplate][..] } else { &[kind] };
    let names: Vec<&str> =
        kinds.iter().flat_map(|kind| report.of_kind(*kind)).map(|item| item.definition.key()).collect();
    CommandFailure::failed(match nearest(key, names) {
        Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
        None => diagnostic.hint(format!(
            "`proxy list-{0}s{user}` lists the published {0}s; `proxy explain {key}{user}` says why one is not published",
            kind.noun()
        )),
    })
}
