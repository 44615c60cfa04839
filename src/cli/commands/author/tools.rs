//! What each tool does. All but `reference` and `save` run a command of the proxy in a child process.

use std::path::Path;
use std::sync::Arc;

use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::answer::{Answer, Answered};
use super::arguments::{
    self, BacktestArguments, CatalogArguments, CheckArguments, Drafts, ExplainArguments, ReferenceArguments,
    SaveArguments, TestArguments,
};
use super::catalog::Selection;
use super::child::{self, CommandOutput};
use super::diff;
use super::folder::PolicyFolder;
use super::folder_copy::{FolderCopy, relative_to};
use super::script_path::{ScriptPath, parse_below};
use super::{reference, save, tool_list};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::foreign_text::quoted;

/// How many processes may run at a time.
const MAX_CHILDREN: usize = 2;
/// How much of what a test printed is passed on.
const MAX_PRINTED: usize = 4000;
/// How many names of a kind are listed.
const MAX_NAMES: usize = 500;

/// The tools of one folder.
pub(super) struct Tools {
    pub(super) folder: Arc<PolicyFolder>,
    children: Semaphore,
}

/// The errors of a tool.
type Problems = Vec<Diagnostic>;

/// What a command works with, and the command.
struct Work {
    drafts: Drafts,
    recording: Option<String>,
    command: Vec<String>,
    /// Whether the command runs functions that a model has written, not only the top level of scripts.
    requires_jail: bool,
}

impl Tools {
    pub(super) fn new(folder: PolicyFolder) -> Self {
        Tools { folder: Arc::new(folder), children: Semaphore::new(MAX_CHILDREN) }
    }

    /// The answer of a tool; `None` if there is no tool of that name.
    pub(super) async fn call(&self, name: &str, given: Option<JsonObject>) -> Option<Answered> {
        let answered = match name {
            tool_list::CATALOG => self.catalog(given).await,
            tool_list::REFERENCE => {
                read::<ReferenceArguments>(given).and_then(|read| reference::reference(read.name.as_deref()))
            }
            tool_list::CHECK => self.check(given).await,
            tool_list::TEST => self.test(given).await,
            tool_list::EXPLAIN => self.explain(given).await,
            tool_list::BACKTEST => self.backtest(given).await,
            tool_list::DIFF => self.diff(given).await,
            tool_list::SAVE => read::<SaveArguments>(given).and_then(|read| save::save(&self.folder, &read)),
            _ => return None,
        };
        Some(answered.map_err(|problems| relative_to(&self.folder.root, problems)))
    }

    async fn catalog(&self, given: Option<JsonObject>) -> Answered {
        let given: CatalogArguments = read(given)?;
        let config = self.folder.config_name();
        let profile = self.folder.profile.clone();
        let selection = Selection { config, profile, server: given.server, name: given.name };
        let work = Work { drafts: Drafts::new(), recording: None, command: selection.command(), requires_jail: false };
        Ok(Answer::Data(self.json(work).await?))
    }

    async fn check(&self, given: Option<JsonObject>) -> Answered {
        let given: CheckArguments = read(given)?;
        let drafts = given.drafts().map_err(one)?;
        let script = given.script().map_err(one)?;
        let report = self.report(drafts, script.as_ref()).await?;
        Ok(Answer::Data(summary(&report)))
    }

    /// The report of `proxy check`: of the drafts, each by its role, or of the whole config.
    async fn report(&self, drafts: Drafts, script: Option<&ScriptPath>) -> Result<Value, Problems> {
        let mut command = self.check_command(script);
        command.push("--".to_owned());
        command.extend(drafts.keys().map(ToString::to_string));
        self.json(Work { drafts, recording: None, command, requires_jail: false }).await
    }

    async fn test(&self, given: Option<JsonObject>) -> Answered {
        let given: TestArguments = read(given)?;
        let drafts = given.drafts().map_err(one)?;
        let mut paths = given.paths().map_err(one)?;
        if paths.is_empty() {
            paths = drafts.keys().filter(|path| path.is_test()).cloned().collect();
        }
        // A test names its profile itself.
        let mut command = self.command_without_profile("test", None);
        command.extend(given.filter.iter().map(|filter| format!("--filter={filter}")));
        command.push("--".to_owned());
        command.extend(paths.iter().map(ToString::to_string));
        let mut report = self.json(Work { drafts, recording: None, command, requires_jail: true }).await?;
        report["tests"].as_array_mut().into_iter().flatten().for_each(shorten);
        Ok(Answer::Data(report))
    }

    async fn explain(&self, given: Option<JsonObject>) -> Answered {
        let given: ExplainArguments = read(given)?;
        let drafts = given.drafts().map_err(one)?;
        let mut command = self.command("explain", given.script().map_err(one)?.as_ref());
        command.push("--".to_owned());
        command.extend(given.name);
        let items = self.json(Work { drafts, recording: None, command, requires_jail: false }).await?;
        Ok(Answer::Data(json!({"items": items})))
    }

    async fn backtest(&self, given: Option<JsonObject>) -> Answered {
        let given: BacktestArguments = read(given)?;
        let drafts = given.drafts().map_err(one)?;
        let recording = parse_below(&given.recording).map_err(one)?;
        if Path::new(&recording).extension().is_none_or(|extension| extension != "jsonl") {
            let problem = Diagnostic::error(format!("{} is no recording", quoted(&recording)));
            return Err(one(problem.hint("a person writes one with `proxy calls --record calls.jsonl` in the folder")));
        }
        let mut command = self.command("backtest", given.script().map_err(one)?.as_ref());
        command.push("--".to_owned());
        command.push(recording.clone());
        let work = Work { drafts, recording: Some(recording), command, requires_jail: true };
        Ok(Answer::Data(self.json(work).await?))
    }

    async fn diff(&self, given: Option<JsonObject>) -> Answered {
        let given: CheckArguments = read(given)?;
        let drafts = given.drafts().map_err(one)?;
        let script = given.script().map_err(one)?;
        if drafts.is_empty() {
            return Err(one(
                Diagnostic::error("`files` has no draft").hint("pass the drafts to compare with what is saved")
            ));
        }
        let texts = diff::of_texts(&self.folder.root, &drafts);
        let saved = self.published(Drafts::new(), None).await;
        let draft = self.published(drafts, script.as_ref()).await?;
        let published = match &saved {
            Ok(saved) => diff::of_published(saved, &draft),
            // There is nothing to compare with as long as what is saved does not work.
            Err(_) => Value::Null,
        };
        Ok(Answer::Data(json!({"texts": texts, "published": published, "problems": problems_of(&draft)})))
    }

    /// The report of `proxy check` for the whole config.
    async fn published(&self, drafts: Drafts, script: Option<&ScriptPath>) -> Result<Value, Problems> {
        let command = self.check_command(script);
        self.json(Work { drafts, recording: None, command, requires_jail: false }).await
    }

    /// A check of what a draft can change. In the copy there are no descriptions of APIs, and not all variables.
    fn check_command(&self, script: Option<&ScriptPath>) -> Vec<String> {
        let mut command = self.command("check", script);
        command.push("--scripts-only".to_owned());
        command
    }

    /// A command with the config and JSON as its output.
    fn command(&self, name: &str, script: Option<&ScriptPath>) -> Vec<String> {
        let mut command = self.command_without_profile(name, script);
        command.extend(self.folder.profile.iter().map(|profile| format!("--profile={profile}")));
        command
    }

    fn command_without_profile(&self, name: &str, script: Option<&ScriptPath>) -> Vec<String> {
        let mut command = vec![name.to_owned(), "--json".to_owned()];
        command.extend(self.folder.config_name().map(|config| format!("--config={config}")));
        command.extend(script.map(|script| format!("--script={script}")));
        command
    }

    /// The output of a command, which is JSON unless it fails.
    async fn json(&self, work: Work) -> Result<Value, Problems> {
        let output = self.run(work).await?;
        match serde_json::from_str(&output.stdout) {
            Ok(value) => Ok(value),
            Err(_) => {
                let text = output.stderr.trim().trim_start_matches("error: ").to_owned();
                let silent = format!("the command ended with code {} and said nothing", output.code);
                Err(one(Diagnostic::error(if text.is_empty() { silent } else { text })))
            }
        }
    }

    async fn run(&self, work: Work) -> Result<CommandOutput, Problems> {
        let closed = |_| one(Diagnostic::error("the server ends"));
        let _turn = self.children.acquire().await.map_err(closed)?;
        let Work { drafts, recording, command, requires_jail } = work;
        let folder = Arc::clone(&self.folder);
        let copied = tokio::task::spawn_blocking(move || FolderCopy::make(&folder, &drafts, recording.as_deref()));
        let copy =
            copied.await.map_err(|error| one(Diagnostic::error(format!("cannot copy the folder: {error}"))))??;
        let output = child::run(copy.path(), copy.variables(), &command, requires_jail).await.map_err(one)?;
        Ok(CommandOutput {
            stdout: copy.without_path(&output.stdout),
            stderr: copy.without_path(&output.stderr),
            ..output
        })
    }
}

fn read<T: DeserializeOwned>(given: Option<JsonObject>) -> Result<T, Problems> {
    arguments::read(given).map_err(one)
}

fn one(problem: Diagnostic) -> Problems {
    vec![problem]
}

/// The part of a report of `proxy check` that a model acts on. `explain` has the rest.
fn summary(report: &Value) -> Value {
    let problems = problems_of(report);
    let is_error = |problem: &Value| problem["severity"] == "error";
    let errors = problems.iter().filter(|problem| is_error(problem)).count();
    let mut published = serde_json::Map::new();
    for kind in ["tools", "resources", "resourceTemplates", "prompts"] {
        let items = report[kind].as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&Value> = items.iter().take(MAX_NAMES).map(|item| &item["name"]).collect();
        if !items.is_empty() {
            published.insert(kind.to_owned(), json!({"number": items.len(), "names": names}));
        }
    }
    json!({"ok": errors == 0, "errors": errors, "problems": problems, "servers": report["servers"], "published": published})
}

fn problems_of(report: &Value) -> &[Value] {
    report["problems"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Shortens what a failed test printed.
fn shorten(test: &mut Value) {
    let Some(lines) = test["output"].as_array() else { return };
    let printed: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    let printed = printed.join("\n");
    let mut shown: String = printed.chars().take(MAX_PRINTED).collect();
    if shown.len() < printed.len() {
        shown.push_str(&format!("… ({} bytes more)", printed.len() - shown.len()));
    }
    test["output"] = json!(shown);
}
