//! The queries and calls of a command, answered by this process or by a running proxy.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::failed;
use super::running::RunningProxy;
use super::said_before::SaidBefore;
use crate::admin::{FindRequest, FoundTool, Operator, SurfaceReport, UseError, find, searchable};
use crate::cli::failure::CommandFailure;
use crate::cli::{output, terminal};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::CodeMode;
use proxy_json::{Raw, raw};
use proxy_model::{ItemKind, problem};

/// Who answers.
pub(in crate::cli) enum Answers {
    /// This process.
    Local(Operator),
    /// A running `proxy serve`.
    Running(RunningProxy),
}

impl Answers {
    /// What is published, and the state of each server.
    pub(in crate::cli) async fn report(&self) -> Result<SurfaceReport, CommandFailure> {
        match self {
            Answers::Local(operator) => Ok(SurfaceReport::of(&operator.gateway, &operator.surface)),
            Answers::Running(running) => running.report().await,
        }
    }

    /// Like [`Answers::report`], with the history of each item.
    pub(in crate::cli) async fn report_with_histories(&self) -> Result<SurfaceReport, CommandFailure> {
        match self {
            Answers::Local(operator) => {
                let report = SurfaceReport::of(&operator.gateway, &operator.surface);
                let gateway = Arc::clone(&operator.gateway);
                let surface = Arc::clone(&operator.surface);
                let made = tokio::task::spawn_blocking(move || report.with_histories(&gateway, &surface));
                made.await.map_err(|error| failed(error.to_string()))
            }
            Answers::Running(running) => running.report_with_histories().await,
        }
    }

    /// Like [`Answers::report`], for a command that uses this item.
    pub(in crate::cli) async fn report_on(&self, kind: ItemKind, key: &str) -> Result<SurfaceReport, CommandFailure> {
        let report = self.report().await?;
        match self {
            // Listing the items for clients with elicitation may start a server a second time, so it is done only if needed.
            Answers::Running(running) if report.find(kind, key).is_none() && terminal::askable().any() => {
                running.report_for_terminal().await
            }
            _ => Ok(report),
        }
    }

    /// The tools that match a query, and how many there are in all.
    pub(in crate::cli) async fn find(&self, asked: &FindRequest) -> Result<(Vec<FoundTool>, usize), CommandFailure> {
        match self {
            Answers::Local(operator) => {
                let found = find(&operator.surface, asked.clone(), terminal::embedding_progress()).await;
                terminal::clear_progress();
                found.map_err(failed)
            }
            Answers::Running(running) => running.find(asked).await,
        }
    }

    /// The names of the tools that [`Answers::find`] searches.
    pub(in crate::cli) async fn searchable(&self) -> Result<BTreeSet<String>, CommandFailure> {
        match self {
            Answers::Local(operator) => Ok(searchable(&operator.surface)),
            Answers::Running(running) => running.searchable().await,
        }
    }

    /// Calls a tool, reads a resource or gets a prompt.
    pub(in crate::cli) async fn use_item(
        &self,
        (kind, key): (ItemKind, &str),
        params: &Value,
        timeout: Option<Duration>,
    ) -> Result<Raw, CommandFailure> {
        let call = async {
            match self {
                Answers::Local(operator) => operator.use_item(kind, key, raw(params)).await,
                Answers::Running(running) => running.use_item(kind, key, raw(params)).await,
            }
        };
        let outcome = match timeout {
            None => call.await,
            Some(limit) => tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
                Err(UseError::Failed(format!("`{key}` did not answer within {} s", limit.as_secs_f32())))
            }),
        };
        terminal::clear_progress();
        outcome.map_err(|error| match error {
            UseError::Unknown => failed(format!("unknown {} `{key}`", kind.noun())),
            UseError::Failed(message) => failed(message),
        })
    }

    /// Runs a script over the published tools.
    pub(in crate::cli) async fn exec(
        &self,
        script: &str,
        data: &Value,
        limits: &CodeMode,
    ) -> Result<Raw, CommandFailure> {
        let outcome = match self {
            Answers::Local(operator) => operator.exec(script, data, limits).await,
            Answers::Running(running) => running.exec(script, data).await,
        };
        terminal::clear_progress();
        outcome.map_err(|error| match error {
            UseError::Unknown => failed("the script was not run"),
            UseError::Failed(message) => failed(message),
        })
    }

    /// Whether unlisted tools can be found by search and called through `call_tool`.
    pub(in crate::cli) async fn is_searchable(&self, tool: &str, report: &SurfaceReport) -> bool {
        report.find(ItemKind::Tool, "call_tool").is_some()
            && self.searchable().await.is_ok_and(|names| names.contains(tool))
    }

    /// The age of the cached lists that this process used instead of starting servers.
    pub(in crate::cli) fn lists_from(&self) -> Option<String> {
        match self {
            Answers::Local(operator) => super::local::lists_from(&operator.gateway),
            Answers::Running(_) => None,
        }
    }

    /// Prints the errors of extensions.
    pub(in crate::cli) fn report_extensions(&self, report: &SurfaceReport) {
        match self {
            Answers::Local(operator) => output::diagnostics(&operator.gateway.extension_problems()),
            Answers::Running(_) => {
                for problem in &report.problems {
                    output::diagnostics(&[Diagnostic::warning(problem.trim_end())]);
                }
            }
        }
    }
}

/// Prints a warning for each server and extension that is not available.
pub(in crate::cli) fn report_missing(answers: &Answers, report: &SurfaceReport) {
    let mut said = SaidBefore::read();
    let folder = std::env::current_dir().unwrap_or_default();
    for server in &report.servers {
        let name = server.name.as_str();
        let error = said.shown(&folder.display().to_string(), name, &server.error);
        if let Some(problem) = problem(name, &error) {
            output::diagnostics(&[Diagnostic::warning(problem)]);
        }
        for text in &server.reports {
            output::diagnostics(&[Diagnostic::warning(format!("server `{name}`: {text}"))]);
        }
    }
    said.save();
    answers.report_extensions(report);
}
