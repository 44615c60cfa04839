//! `proxy check`: checks the config, scripts, extensions and tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};

use super::client_rows::rows;
use super::explain::outcome;
use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, ActingUser, Query, UserArgs};
use crate::cli::setup::{self, LoadedConfig, SourceArgs};
use crate::cli::{output, table};
use proxy_author::check::{CheckReport, CheckedProfile, Item, scripts};
use proxy_author::lint::{self, Role};
use proxy_author::published::{PublishedChanges, PublishedFile};
use proxy_base::diagnostic::{Diagnostic, Severity};
use proxy_dialects::Dialect;
use proxy_engine::extension;
use proxy_engine::gateway::{self, Offline};
use proxy_engine::surface::{Became, ItemHistory, Surface};
use proxy_host_io::HostIo;
use proxy_identity::bearer::unreachable_issuers;
use proxy_model::{ItemKind, Snapshot};
use proxy_script::{self as script, Limits};

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Config files, session scripts, extensions or tests to check [default: the config file]
    files: Vec<PathBuf>,
    /// Start the servers and check against their current lists
    #[arg(long)]
    live: bool,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// List every item, however many there are
    #[arg(long)]
    all: bool,
    /// Also tell what clients of a row of limits get in another form, such as `gemini-cli`; `all` for every row
    #[arg(long, value_name = "ROW")]
    client: Option<String>,
    /// Leave out variables that are not set and descriptions of APIs, which scripts cannot mend (for `proxy author`)
    #[arg(long, hide = true)]
    scripts_only: bool,
    #[command(flatten)]
    user: UserArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &CheckArgs) -> Result<(), CommandFailure> {
    let mut report = CheckReport::default();
    let mut code = 0;
    let mut note = |outcome: Result<(), CommandFailure>, report: &mut CheckReport| {
        if let Err(failure) = outcome {
            let (failed, problems) = failure.into_parts();
            code = code.max(failed);
            report.add(problems);
        }
    };
    if args.files.is_empty() {
        note(check_config(&args.source, args, &mut report), &mut report);
    }
    // An error in one file must not hide those in the next.
    for file in &args.files {
        let outcome = if file.extension().is_some_and(|extension| extension == "star") {
            check_script(file, args, &mut report)
        } else {
            check_config(&SourceArgs::of_file(file), args, &mut report)
        };
        note(outcome, &mut report);
    }
    if args.json {
        output::json(&as_json(&report));
    } else {
        show(&report, args.all);
    }
    let failing = |problem: &Diagnostic| match problem.severity {
        Severity::Error => true,
        Severity::Warning => args.strict,
        Severity::Note => false,
    };
    let code = if report.problems.iter().any(failing) { code.max(1) } else { code };
    if code == 0 { Ok(()) } else { Err(CommandFailure::already_reported(code)) }
}

fn check_config(source: &SourceArgs, args: &CheckArgs, report: &mut CheckReport) -> Result<(), CommandFailure> {
    let (loaded, warnings) = source.load_with_warnings()?;
    report.add(warnings);
    if loaded.bundled {
        let note = Diagnostic::remark("there is no config file: only the built-in extensions are checked");
        report.add([note.hint("create a config with `proxy init`, or name a file: `proxy check FILE`")]);
    }
    if !args.scripts_only {
        report.add_unset_variables(&loaded.config);
    }
    let is_incomplete = report.problems.iter().any(Diagnostic::is_error);
    check_loaded(&loaded, args, report)?;
    if report.items.is_empty() {
        report.add(no_server(&loaded));
    }
    // Like any other config error.
    if is_incomplete { Err(CommandFailure::config(Vec::new())) } else { Ok(()) }
}

/// A remark about a config without servers, such as a new one, from which nothing is published.
fn no_server(loaded: &LoadedConfig) -> Option<Diagnostic> {
    let config = &loaded.config;
    if !loaded.has_file || !config.servers.is_empty() || !config.extensions.is_empty() {
        return None;
    }
    let hint = "write one below `mcpServers`, or write the file anew with a client's servers: `proxy init --from CLIENT --force`";
    Some(Diagnostic::remark("no server is configured yet").hint(hint))
}

fn check_loaded(loaded: &LoadedConfig, args: &CheckArgs, report: &mut CheckReport) -> Result<(), CommandFailure> {
    let user = args.user.user(&loaded.config)?;
    report.add_scripts(&loaded.config);
    report.add_accounts(&loaded.config);
    if !args.scripts_only {
        report.add_apis(&loaded.config);
    }
    let is_named = user.is_named();
    if is_named || loaded.config.cedar.is_some() || !loaded.config.auth.is_empty() {
        report.user = Some(user.principal.sub().to_owned());
    }
    if args.live {
        let principal = user.principal.clone();
        return query::with_loaded(loaded, user, async |running, surface| {
            report.add(unreachable_issuers(&loaded.config.auth).await.into_iter().map(Diagnostic::error));
            let snapshot = running.snapshot();
            report.add_servers(&snapshot);
            report.add_failures(&snapshot);
            report.add(running.extension_problems());
            let script = gateway::script_source(&loaded.config, None).ok().map(|script| script.source);
            for row in rows(loaded, args.client.as_deref())? {
                report.add_client(&surface, &row);
            }
            let outcome = add_published(report, loaded, script.as_ref(), (&surface, is_named), &snapshot);
            report.add_profiles(&loaded.config, &snapshot, &principal);
            outcome
        });
    }
    report.add_missing_programs(&loaded.config);
    let offline = Offline::look(&loaded.config, &setup::options(loaded.bundled)?).map_err(CommandFailure::config)?;
    report.add_servers(&offline.snapshot);
    let query = Query { user: user.clone(), ..Query::of_config(loaded) };
    if let Ok(Some(states)) = query::states_of_running(&query) {
        report.set_server_states(&states);
    }
    report.add(offline.extension_problems.iter().cloned());
    let outcome = check_offline(loaded, args, report, &offline, &user);
    report.add_profiles(&loaded.config, &offline.snapshot, &user.principal);
    outcome
}

/// Checks what the top level publishes.
fn check_offline(
    loaded: &LoadedConfig,
    args: &CheckArgs,
    report: &mut CheckReport,
    offline: &Offline,
    user: &ActingUser,
) -> Result<(), CommandFailure> {
    let surface = offline.build_for(user.principal.clone()).map_err(|error| {
        report.add_patterns(&loaded.config.aggregation, &offline.snapshot);
        report.explain_tools(&offline.snapshot);
        CommandFailure::from(&error)
    })?;
    for row in rows(loaded, args.client.as_deref())? {
        let of_row = offline.build_for_row(user.principal.clone(), &row.row);
        let of_row = of_row.map_err(|error| CommandFailure::from(&error))?;
        report.add([other_tools(&row, &of_row, &surface)].into_iter().flatten());
        report.add_client(&of_row, &row);
    }
    add_published(report, loaded, Some(&offline.script_source.source), (&surface, user.is_named()), &offline.snapshot)
}

/// A note if the script publishes another number of tools to clients of a row, as `optimizer.aboveClientLimit` does.
fn other_tools(row: &Dialect, of_row: &Surface, of_others: &Surface) -> Option<Diagnostic> {
    let tools = |surface: &Surface| surface.entries(ItemKind::Tool).count();
    let theirs = tools(of_row);
    let all = tools(of_others);
    let told = || format!("clients of the row `{}` get {} instead of {all}", row.row, table::count(theirs, "tool"));
    (theirs != all).then(|| Diagnostic::remark(told()))
}

/// Adds problems of the script and the policies, and what is published: to everybody, or to the user of the command.
fn add_published(
    report: &mut CheckReport,
    loaded: &LoadedConfig,
    script: Option<&script::Source>,
    (surface, is_named): (&Arc<Surface>, bool),
    snapshot: &Snapshot,
) -> Result<(), CommandFailure> {
    let config = &loaded.config;
    // Whether the script is correct does not depend on the policies for a user.
    let whole = surface.unrestricted();
    report.add_patterns(&config.aggregation, snapshot);
    report.explain_tools(snapshot);
    if let Some(script) = script {
        report.add_only_definitions(script, &whole);
    }
    report.add_histories(surface, snapshot);
    report.add_limits(&config.rate_limiting, &whole, snapshot);
    report.add_policies(config, &whole, snapshot);
    report.add_flow(config, &whole, snapshot, script);
    // `proxy serve` records what it publishes to everybody, not to one user.
    let record = PublishedFile::of(config, setup::options(loaded.bundled)?.cache_folder.as_deref());
    report.add_warnings(&whole, snapshot);
    report.add_items(surface);
    report.add_changes(&whole, record.as_ref().filter(|_| !is_named));
    report.add_jail(&config.code_mode);
    Ok(())
}

/// Checks a single script according to its role. A session script runs over the servers of the config.
fn check_script(file: &Path, args: &CheckArgs, report: &mut CheckReport) -> Result<(), CommandFailure> {
    let script = scripts::read(file).map_err(|problem| CommandFailure::config(vec![problem]))?;
    let role = Role::of(&script);
    if role == Role::Session {
        return check_config(&args.source.with_script(file), args, report);
    }
    report.add(lint::with_loads(&script, role, file.parent()));
    if role == Role::Library {
        report.add_library(&script);
    }
    if role == Role::Extension { check_extension(&script, report) } else { Ok(()) }
}

fn check_extension(script: &script::Source, report: &mut CheckReport) -> Result<(), CommandFailure> {
    let host_io = Arc::new(HostIo::new(setup::variables(), None));
    let loaded = extension::load(script, &Limits::SESSION_SCRIPT, &host_io).map_err(CommandFailure::failed)?;
    let Some(extension) = loaded else {
        report.add([Diagnostic::warning(format!("`{}` does not define an extension", script.name))]);
        return Ok(());
    };
    for kind in ItemKind::ALL {
        report.items.extend(extension.of(kind).map(|item| Item {
            kind,
            name: item.definition.key().to_owned(),
            server: extension.name.clone(),
        }));
    }
    Ok(())
}

/// How many items are listed without `--all`.
const LISTED: usize = 60;

fn show(report: &CheckReport, all: bool) {
    output::diagnostics(&report.problems);
    if !report.servers.is_empty() {
        let rows = report.servers.iter().map(|server| {
            let histories: Vec<&ItemHistory> =
                report.histories.iter().filter(|item| item.server == server.name).collect();
            vec![server.name.clone(), server.text.clone(), summary(&histories)]
        });
        output::out(&table::render(&["SERVER", "STATE", "RESULT"], &rows.collect::<Vec<_>>()));
        output::out("");
    }
    if report.histories.is_empty() {
        show_items(&report.items);
    } else if all || report.histories.len() <= LISTED {
        show_histories(&report.histories);
    } else {
        output::out(&format!("{} items: `proxy check --all` lists each of them\n", report.histories.len()));
    }
    if !report.profiles.is_empty() {
        let row = |profile: &CheckedProfile| {
            vec![profile.name.clone(), profile.servers.join(", "), table::count(profile.tools, "tool")]
        };
        let rows: Vec<Vec<String>> = report.profiles.iter().map(row).collect();
        output::out(&table::render(&["PROFILE", "SERVERS", "PUBLISHES"], &rows));
        output::out("");
    }
    if let Some(changes) = &report.changes {
        show_changes(changes);
    }
    if let Some(user) = &report.user {
        output::out(&format!("checked as user `{user}`; `--as-user SUB` checks as another user\n"));
    }
    let count = |severity| report.problems.iter().filter(|problem| problem.severity == severity).count();
    let published: Vec<String> = ItemKind::ALL
        .into_iter()
        .map(|kind| (kind, report.items.iter().filter(|item| item.kind == kind).count()))
        .filter(|(kind, number)| *kind == ItemKind::Tool || *number > 0)
        .map(|(kind, number)| table::count(number, kind.noun()))
        .collect();
    output::out(&format!(
        "{} published, {}, {}",
        published.join(", "),
        table::count(count(Severity::Error), "error"),
        table::count(count(Severity::Warning), "warning")
    ));
}

fn show_items(items: &[Item]) {
    for kind in ItemKind::ALL {
        let items = items.iter().filter(|item| item.kind == kind);
        let rows: Vec<_> = items.map(|item| vec![item.name.clone(), item.server.clone()]).collect();
        if !rows.is_empty() {
            output::out(&table::render(&[&kind.noun().to_uppercase(), "SERVER"], &rows));
            output::out("");
        }
    }
}

fn show_histories(histories: &[ItemHistory]) {
    for kind in ItemKind::ALL {
        let rows = histories.iter().filter(|item| item.kind == kind).map(|item| {
            let mut became = outcome(item);
            if let Some(why) = &item.why {
                became.push_str(&format!(": {why}"));
            }
            // A tool that is held is published, and its calls are refused.
            if let Some(state) = item.lock.as_ref().and_then(|lock| lock.split(':').next()) {
                became.push_str(&format!("; lock: {state}"));
            }
            vec![item.name.clone(), item.server.clone(), became]
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            output::out(&table::render(&[&kind.noun().to_uppercase(), "SERVER", "RESULT"], &rows));
            output::out("");
        }
    }
}

/// What happened to the items of one server: `3 forwarded (1 renamed), 1 hidden; prompts: 1 forwarded`.
fn summary(histories: &[&ItemHistory]) -> String {
    let of_kind = |kind: ItemKind| {
        let histories: Vec<_> = histories.iter().filter(|item| item.kind == kind).collect();
        let counts = Became::ALL.into_iter().filter_map(|became| {
            let all: Vec<_> = histories.iter().filter(|item| item.became == became).collect();
            let renamed = match all.iter().filter(|item| item.is_renamed()).count() {
                0 => String::new(),
                number => format!(" ({number} renamed)"),
            };
            (!all.is_empty()).then(|| format!("{} {}{renamed}", all.len(), became.as_str()))
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        match kind {
            _ if counts.is_empty() => None,
            ItemKind::Tool => Some(counts),
            _ => Some(format!("{}s: {counts}", kind.noun())),
        }
    };
    ItemKind::ALL.into_iter().filter_map(of_kind).collect::<Vec<_>>().join("; ")
}

/// Shows the difference to what `proxy serve` last published.
fn show_changes(changes: &PublishedChanges) {
    if changes.is_empty() {
        output::out("no changes compared to the last run of `proxy serve`\n");
        return;
    }
    output::out("changes compared to the last run of `proxy serve`:");
    for (kind, name) in &changes.added {
        output::out(&format!("  + {} {}", kind.noun(), output::one_line(name)));
    }
    for (kind, name) in &changes.removed {
        output::out(&format!("  - {} {}", kind.noun(), output::one_line(name)));
    }
    for (kind, name, members) in &changes.changed {
        let members = members.join(", ");
        output::out(&format!("  ~ {} {} ({})", kind.noun(), output::one_line(name), output::one_line(&members)));
    }
    output::out("");
}

fn as_json(report: &CheckReport) -> Value {
    let problems: Vec<Value> = report.problems.iter().map(Diagnostic::to_json).collect();
    let servers: Vec<Value> =
        report.servers.iter().map(|server| json!({"name": server.name, "state": server.text})).collect();
    let mut all = Map::new();
    all.insert("problems".to_owned(), problems.into());
    all.insert("servers".to_owned(), servers.into());
    for kind in ItemKind::ALL {
        let items = report.items.iter().filter(|item| item.kind == kind);
        let items: Vec<Value> = items.map(|item| json!({"name": item.name, "server": item.server})).collect();
        all.insert(kind.list_member().to_owned(), items.into());
    }
    let offered: Vec<Value> = report.histories.iter().map(|item| json!(item)).collect();
    all.insert("offered".to_owned(), offered.into());
    let profiles = report.profiles.iter();
    let profiles =
        profiles.map(|profile| json!({"name": profile.name, "servers": profile.servers, "tools": profile.tools}));
    all.insert("profiles".to_owned(), profiles.collect());
    all.insert("user".to_owned(), json!(report.user));
    all.insert("changes".to_owned(), report.changes.as_ref().map_or(Value::Null, PublishedChanges::to_json));
    all.into()
}
