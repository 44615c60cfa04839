//! Installs the proxy in a client: shows what changes, asks, and writes.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::args::{InstallArgs, Place};
use super::claude_program::ClaudeProgram;
use super::client_file::{ClientTarget, remove_folders};
use super::confirming::confirmed;
use super::import_log::NotedImport;
use super::moved_servers::{self, PlannedMove};
use super::own::is_ours;
use super::record::{Kept, Record};
use super::{diff, launcher};
use crate::cli::commands::entry_options::profile_of;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::entries::{ClientText, EntryText, command_words};

/// Everything that will change.
struct Plan {
    place: Place,
    target: ClientTarget,
    /// The new text of the client's file.
    text: String,
    entry: Value,
    config: Option<PathBuf>,
    moving: Option<PlannedMove>,
    record: Record,
    /// The lines of the diff.
    diff: Vec<String>,
    program: Option<ClaudeProgram>,
}

pub(super) fn run(args: &InstallArgs) -> Result<(), CommandFailure> {
    let Some(mut plan) = plan(args)? else { return Ok(()) };
    let shown = plan.place.file.path.display().to_string();
    if !args.json {
        diff::print(&plan.diff);
    }
    if let Some(moving) = &plan.moving {
        moving.show();
    }
    if plan.config.is_none() && plan.moving.is_none() {
        let warning = Diagnostic::warning("there is no config, so the client gets the built-in tools only");
        output::diagnostics(&[warning.hint("`--import` moves the client's servers into one, `proxy init` writes one")]);
    }
    if args.dry_run {
        report(args, &plan, false);
        return Ok(());
    }
    if !args.yes && !confirmed(&format!("write {}? [y/N] ", output::one_line(&shown)))? {
        output::err("nothing was written");
        return Ok(());
    }
    write(args, &mut plan)?;
    report(args, &plan, true);
    if !args.json {
        let options = plan.place.options(&args.name);
        output::err(&format!("wrote {}; restart {} to use it", output::one_line(&shown), plan.place.client.title));
        output::err(&format!("undo: `proxy uninstall {options}`"));
    }
    Ok(())
}

/// The changes; `None` if there is nothing to change.
fn plan(args: &InstallArgs) -> Result<Option<Plan>, CommandFailure> {
    let place = args.place()?;
    let file = &place.file.path;
    let section = place.section();
    let target = ClientTarget::read(file).map_err(CommandFailure::failed)?;
    let before = ClientText::parse(file, target.text()?)?;
    let known = Record::find(place.client.name, &args.name, file);
    refuse_other(args, &place, &before, known.as_ref())?;
    let launcher = launcher::launcher(&place, args.config.as_deref(), args.profile.as_deref())?;
    let moving = if args.import { moved_servers::plan(&place, &before, launcher.config.as_deref())? } else { None };
    let entry = place.own_entry.value(&launcher.words);
    let mut text = target.text()?.to_owned();
    for server in moving.iter().flat_map(|moving| &moving.servers) {
        text = ClientText::parse(file, &text)?.without(section, &server.name, 0)?;
    }
    text = ClientText::parse(file, &text)?.with(section, &args.name, EntryText::Value(&entry))?;
    if before.entry(section, &args.name).as_ref() == Some(&entry) && moving.is_none() {
        let same = format!("{} has this entry already", output::one_line(&file.display().to_string()));
        if args.json {
            output::json(&json!({"client": place.client.name, "file": file, "name": args.name, "changed": false}));
        } else {
            output::err(&same);
        }
        return Ok(None);
    }
    let after = ClientText::parse(file, &text)?;
    let diff = diff::lines(&file.display().to_string(), &before, &after);
    let mut record = match known {
        Some(known) => known,
        None => Record::new(place.client.name, &args.name, file)?,
    };
    note_before(&mut record, &target, before.missing_sections(section));
    record.entry = entry.clone();
    record.config = moving.as_ref().map(|moving| moving.config.clone()).or_else(|| launcher.config.clone());
    let program = if moving.is_none() { ClaudeProgram::find(&place) } else { None };
    Ok(Some(Plan { place, target, text, entry, config: launcher.config, moving, record, diff, program }))
}

/// What can be restored: the file as it was before the first installation, if nobody else has changed it since.
fn note_before(record: &mut Record, target: &ClientTarget, missing_sections: usize) {
    let is_new = record.kept(Kept::After).is_none();
    if is_new {
        record.existed = target.bytes.is_some();
        record.made_sections = missing_sections;
    } else if record.kept(Kept::After) != target.bytes {
        record.has_before = false;
    }
}

fn refuse_other(
    args: &InstallArgs,
    place: &Place,
    before: &ClientText,
    known: Option<&Record>,
) -> Result<(), CommandFailure> {
    if args.name.is_empty() || args.name.contains(char::is_control) {
        return Err(CommandFailure::usage_with_hint("`--name`: expected a name", "leave it out for `proxy`"));
    }
    for (name, entry) in before.entries(place.section()) {
        let is_ours = is_ours(&entry);
        let is_installed = known.is_some_and(|known| known.entry == entry);
        if name == args.name && !is_ours && !is_installed {
            let line = before.line(place.section(), &name).unwrap_or(1);
            let problem = format!("{}:{line} has another server named `{name}`", place.file.path.display());
            let hint = format!("choose another name: `proxy install {} --name my-proxy`", place.client.name);
            return Err(CommandFailure::failed(Diagnostic::error(problem).hint(hint)));
        }
        // Two profiles are two sets of tools.
        let is_same = profile_of(&command_words(&entry)) == args.profile.as_deref();
        if name != args.name && is_ours && is_same {
            let warning =
                format!("{} has this proxy already, as `{name}`: its tools would appear twice", place.client.title);
            output::diagnostics(&[Diagnostic::warning(warning)]);
        }
    }
    Ok(())
}

/// Writes the backup first and the client's file last, so that whatever fails leaves the client as it was.
fn write(args: &InstallArgs, plan: &mut Plan) -> Result<(), CommandFailure> {
    let is_new = plan.record.kept(Kept::After).is_none();
    let written = write_all(args, plan, is_new);
    if written.is_err() && is_new {
        plan.record.forget();
    }
    written
}

fn write_all(args: &InstallArgs, plan: &mut Plan, is_new: bool) -> Result<(), CommandFailure> {
    let record = &mut plan.record;
    if is_new {
        record.keep(Kept::Before, plan.target.bytes.as_deref()).map_err(CommandFailure::failed)?;
    }
    let mut config_folders = Vec::new();
    let mut noted = None;
    if let Some(moving) = &plan.moving {
        record.moved.extend(moving.servers.iter().cloned());
        let import = noted.insert(moving.note(&record.file).map_err(CommandFailure::failed)?);
        let written = moving.write().inspect_err(|_| import.take_back());
        config_folders = written.map_err(CommandFailure::failed)?;
    }
    let made = write_client(args, plan).inspect_err(|_| {
        if let Some(moving) = &plan.moving {
            take_back_config(moving, &config_folders);
        }
        noted.iter().for_each(NotedImport::take_back);
    })?;
    let record = &mut plan.record;
    if is_new {
        record.made_folders = made;
    }
    // Claude Code's own program writes the file in a form of its own.
    let after = ClientTarget::read(&plan.place.file.path).map_err(CommandFailure::failed)?;
    record.keep(Kept::After, after.bytes.as_deref()).map_err(CommandFailure::failed)?;
    record.save().map_err(CommandFailure::failed)
}

fn write_client(args: &InstallArgs, plan: &Plan) -> Result<Vec<PathBuf>, CommandFailure> {
    let Some(program) = &plan.program else {
        return plan.target.replace(plan.text.as_bytes()).map_err(CommandFailure::failed);
    };
    let file = &plan.place.file.path;
    let section = plan.place.section();
    let has_entry = ClientText::parse(file, plan.target.text()?)?.entry(section, &args.name).is_some();
    if has_entry {
        program.remove(&args.name)?;
    }
    program.add(&args.name, &plan.entry)?;
    let after = ClientTarget::read(file)?;
    let written = ClientText::parse(file, after.text()?)?.entry(section, &args.name);
    let words = written.as_ref().map(command_words);
    if words != Some(command_words(&plan.entry)) {
        let problem = format!("`{}` wrote no such entry to `{}`", program.path().display(), file.display());
        return Err(CommandFailure::failed(Diagnostic::error(problem).hint("check the entry with `claude mcp list`")));
    }
    Ok(Vec::new())
}

/// The proxy's config as it was.
fn take_back_config(moving: &PlannedMove, folders: &[PathBuf]) {
    let Ok(now) = ClientTarget::read(&moving.config) else { return };
    if now.bytes.as_deref() != Some(moving.text.as_bytes()) {
        return;
    }
    let restored = match &moving.target.bytes {
        Some(bytes) => now.replace(bytes).map(|_| ()),
        None => now.remove(),
    };
    if restored.is_ok() {
        remove_folders(folders);
    }
}

fn report(args: &InstallArgs, plan: &Plan, written: bool) {
    if !args.json {
        return;
    }
    let backup = plan.record.path(Kept::Before);
    output::json(&json!({
        "client": plan.place.client.name,
        "file": plan.place.file.path,
        "name": args.name,
        "changed": written,
        "entry": plan.entry,
        "diff": plan.diff,
        "moved": plan.moving.as_ref().map(PlannedMove::to_json),
        "backup": if written && plan.target.bytes.is_some() { Some(backup) } else { None },
    }));
}
