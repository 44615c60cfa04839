//! The report of `proxy check`: problems in the scripts, what they would publish, and how this differs from the running
//! proxy.

mod account_names;
mod apis;
mod clients;
mod fixes;
mod flow;
mod missing_programs;
mod one_account;
mod redirect_uris;
mod policies;
mod profiles;
pub mod scripts;
mod unlocked;
mod unmatched;
mod unpublished;

use std::sync::Arc;
use std::time::Duration;

use proxy_base::diagnostic::Diagnostic;
use proxy_code_mode::sandbox::{JAIL_HINT, wait_for_jail_state};
use proxy_config::{Aggregation, CodeMode, Config, RateLimiting};
use proxy_dialects::Dialect;
use proxy_engine::surface::{ItemHistory, Surface, histories};
use proxy_model::operator_api::ServerStatus;
use proxy_model::{BackendView, ItemKind, Snapshot, Status, error_line};

pub use profiles::CheckedProfile;
pub use unpublished::unpublished;

use super::lint::{is_empty, is_library};
use super::published::{PublishedChanges, PublishedFile};
use proxy_script::Source;

/// How long the process that scripts of code mode come from may take to start and say how it is confined.
const JAIL_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of a check.
#[derive(Debug, Default)]
pub struct CheckReport {
    pub problems: Vec<Diagnostic>,
    pub servers: Vec<ServerState>,
    /// The items that would be published.
    pub items: Vec<Item>,
    /// What became of the items that the servers offer.
    pub histories: Vec<ItemHistory>,
    /// The difference to what `proxy serve` last published; None if it never ran.
    pub changes: Option<PublishedChanges>,
    /// The profiles of the config whose scripts run.
    pub profiles: Vec<CheckedProfile>,
    /// The user for whom the items are published, if the config tells users apart.
    pub user: Option<String>,
}

/// A server of the config.
#[derive(Debug)]
pub struct ServerState {
    pub name: String,
    /// Its status and number of tools, for people.
    pub text: String,
}

#[derive(Debug)]
pub struct Item {
    pub kind: ItemKind,
    pub name: String,
    /// The server of the item; empty for an item that the script defines.
    pub server: String,
}

impl CheckReport {
    /// Adds problems without duplicates: an error that a lint finds is often found again when the script runs.
    pub fn add(&mut self, problems: impl IntoIterator<Item = Diagnostic>) {
        for problem in problems.into_iter().map(fixes::with_hint) {
            let is_duplicate = |known: &Diagnostic| {
                known == &problem || (known.is_error() && known.place.is_some() && known.place == problem.place)
            };
            if !self.problems.iter().any(is_duplicate) {
                self.problems.push(problem);
            }
        }
    }

    /// Adds the servers, and a warning for each invalid item in their lists and for each that is not as the lock approves.
    pub fn add_servers(&mut self, snapshot: &Snapshot) {
        for backend in &snapshot.backends {
            self.servers.push(ServerState { name: backend.name.to_string(), text: describe(backend) });
            let warnings = backend
                .reports
                .iter()
                .map(|report| Diagnostic::warning(format!("server `{}`: {report}", backend.name)));
            self.add(warnings);
            let drift = backend.drift().into_iter().map(|line| {
                Diagnostic::warning(format!("server `{}` differs from the lock: {line}", backend.name))
                    .hint(format!("`proxy lock {}` shows the difference and approves it", backend.name))
            });
            self.add(drift);
        }
    }

    /// Adds an error for each server that failed to start.
    pub fn add_failures(&mut self, snapshot: &Snapshot) {
        self.add(snapshot.backends.iter().filter_map(|backend| backend.problem()).map(Diagnostic::error));
    }

    /// Adds a warning if the session script uses code mode and the system refuses a layer of its jail; an error if the
    /// config requires all of them.
    pub fn add_jail(&mut self, code_mode: &CodeMode) {
        let missing = wait_for_jail_state(JAIL_TIMEOUT).filter(|jail| !jail.is_complete());
        self.add(missing.map(|jail| {
            let missing = jail.missing();
            if code_mode.require_jail {
                return Diagnostic::error(format!("code mode cannot run: the system refuses {missing}"))
                    .hint("let the container or service use seccomp and Landlock, or remove `codeMode.requireJail`");
            }
            Diagnostic::warning(format!("code mode: the system refuses {missing}")).hint(JAIL_HINT)
        }));
    }

    /// Adds an error for each variable that is not set, without which a server cannot start.
    pub fn add_unset_variables(&mut self, config: &Config) {
        let enabled = config.servers.values().filter(|server| !server.disabled);
        self.add(enabled.flat_map(|server| server.unset_variables.iter().cloned()));
    }

    /// Adds a warning for each server at which all callers act as one account, and what clients of servers need at which
    /// people have their own. Adds how the tools of several accounts are named, and for which the lock does not hold.
    pub fn add_accounts(&mut self, config: &Config) {
        self.add(one_account::warnings(config));
        self.add(redirect_uris::remarks(config));
        self.add(account_names::findings(config));
        self.add(unlocked::remark(config));
    }

    /// Adds a warning for each server whose program is not in `PATH`.
    pub fn add_missing_programs(&mut self, config: &Config) {
        self.add(missing_programs::warnings(config, &|name| std::env::var_os(name)));
    }

    /// Adds what the descriptions of APIs that are files say: where requests go, which credentials are missing, and what is
    /// left out.
    pub fn add_apis(&mut self, config: &Config) {
        self.add(apis::remarks(config));
    }

    /// Adds a warning for each name or glob of the config that matches nothing of its server.
    pub fn add_patterns(&mut self, aggregation: &Aggregation, snapshot: &Snapshot) {
        self.add(unmatched::unmatched(aggregation, snapshot));
    }

    /// Adds what became of the items that the servers offer. Blocks until the search indexes of the script are built.
    pub fn add_histories(&mut self, surface: &Surface, snapshot: &Snapshot) {
        self.histories = histories(surface, snapshot);
    }

    /// Adds a warning for each rate limit for something that is not published.
    pub fn add_limits(&mut self, limits: &RateLimiting, surface: &Surface, snapshot: &Snapshot) {
        self.add(unmatched::unmatched_limits(limits, surface, snapshot));
    }

    /// Adds the errors of policies, and a warning for what in them probably means something else.
    pub fn add_policies(&mut self, config: &Config, surface: &Surface, snapshot: &Snapshot) {
        self.add(policies::problems(config, surface, snapshot));
    }

    /// Adds an error for each label of a flow rule that nothing has, and a warning for each name that matches nothing.
    pub fn add_flow(&mut self, config: &Config, surface: &Surface, snapshot: &Snapshot, script: Option<&Source>) {
        self.add(flow::problems(config, surface, snapshot, script));
    }

    /// Adds what clients of a row get in another form, or not at all. The surface is that of these clients.
    pub fn add_client(&mut self, surface: &Surface, row: &Dialect) {
        self.add(clients::problems(surface, row));
    }

    /// Adds a warning if the session script publishes nothing because it is empty or only defines functions.
    pub fn add_only_definitions(&mut self, script: &Source, surface: &Surface) {
        if ItemKind::ALL.into_iter().any(|kind| surface.entries(kind).next().is_some()) {
            return;
        }
        if is_empty(script) {
            let problem = format!("`{}` publishes nothing: it is empty", script.name);
            self.add([Diagnostic::warning(problem).rule("only-definitions").hint(
                "`publish(meta, handler)` publishes a tool; `passthrough()` publishes what servers have unchanged",
            )]);
        } else if is_library(script) {
            let problem = format!("`{}` publishes nothing: it only defines functions", script.name);
            self.add([Diagnostic::warning(problem)
                .rule("only-definitions")
                .hint("call them at the top level, outside of functions: `publish(meta, handler)`")]);
        }
    }

    /// Adds a note for a file that is useful only to be loaded.
    pub fn add_library(&mut self, library: &Source) {
        self.add([Diagnostic::remark(format!(
            "`{}` only defines functions: it publishes nothing by itself, other scripts can `load()` it",
            library.name
        ))]);
    }

    /// Explains undefined names that are functions of code mode.
    pub fn explain_tools(&mut self, snapshot: &Snapshot) {
        self.problems.iter_mut().for_each(|problem| fixes::explain_tool(problem, snapshot));
    }

    /// Says what a running proxy knows of its servers, instead of what was last seen of them.
    pub fn set_server_states(&mut self, states: &[ServerStatus]) {
        for server in &mut self.servers {
            let Some(state) = states.iter().find(|state| state.name == *server.name) else { continue };
            server.text = match state.status.as_str() {
                "ready" => counted_tools(state.tools as u64),
                status if state.error.is_empty() => status.to_owned(),
                status => format!("{status}: {}", error_line(&state.error)),
            };
        }
    }

    /// Adds what differs from what `proxy serve` has published.
    pub fn add_changes(&mut self, surface: &Arc<Surface>, record: Option<&PublishedFile>) {
        self.changes = record.and_then(PublishedFile::load).map(|published| published.changes(surface));
    }

    /// Adds the warnings of the script, and one if it publishes nothing of a server.
    pub fn add_warnings(&mut self, surface: &Arc<Surface>, snapshot: &Snapshot) {
        self.add(surface.warnings.iter().filter(|warning| !unmatched::is_log_of_library(warning)).cloned());
        self.add(surface.schema_faults());
        self.add(unpublished(surface, snapshot));
    }

    /// Adds the items that are published.
    pub fn add_items(&mut self, surface: &Surface) {
        for kind in ItemKind::ALL {
            self.items.extend(surface.entries(kind).map(|entry| Item {
                kind,
                name: entry.definition.key().to_owned(),
                server: entry.origin.as_ref().map(|origin| origin.backend.to_string()).unwrap_or_default(),
            }));
        }
    }
}

fn counted_tools(number: u64) -> String {
    if number == 1 { "1 tool".to_owned() } else { format!("{number} tools") }
}

fn describe(backend: &BackendView) -> String {
    let tools = counted_tools(backend.lists.tools.len() as u64);
    match backend.status {
        Status::Cached | Status::Resting => format!("{tools} as last seen"),
        Status::Starting => "never seen: `proxy check --live` starts it".to_owned(),
        Status::Failed => format!("failed: {}", error_line(&backend.error)),
        Status::Login => format!("login: {}", error_line(&backend.error)),
        Status::PerPerson => "lists its tools for each caller".to_owned(),
        Status::Ready => tools,
    }
}
