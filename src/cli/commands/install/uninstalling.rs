//! Takes the proxy out of a client again.

use std::path::Path;

use serde_json::json;

use super::args::{Place, UninstallArgs};
use super::claude_program::ClaudeProgram;
use super::client_file::{ClientTarget, remove_folders};
use super::confirming::confirmed;
use super::own::is_ours;
use super::record::{self, Kept, Record};
use super::{diff, import_log};
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::entries::{ClientText, EntryText};

/// What the client's file becomes.
enum Outcome {
    /// As it was before, because nobody else has changed it.
    Restored(Vec<u8>),
    /// There was no file before.
    Removed,
    /// Without the entry, and with the servers that had moved.
    Edited(String),
}

pub(super) fn run(args: &UninstallArgs) -> Result<(), CommandFailure> {
    let place = args.place()?;
    let file = &place.file.path;
    let target = ClientTarget::read(file).map_err(CommandFailure::failed)?;
    let record = Record::find(place.client.name, &args.name, file);
    let before = ClientText::parse(file, target.text()?)?;
    if record.is_none()
        && before.entry(place.section(), &args.name).is_none()
        && !args.dry_run
        && let Some(done) = import_log::give_back_again(file)
    {
        return done;
    }
    let outcome = outcome(args, &place, &target, &before, record.as_ref())?;
    let text = match &outcome {
        Outcome::Restored(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Outcome::Removed => String::new(),
        Outcome::Edited(text) => text.clone(),
    };
    let after = ClientText::parse(file, &text)?;
    let lines = diff::lines(&file.display().to_string(), &before, &after);
    let shown = output::one_line(&file.display().to_string()).into_owned();
    if !args.json {
        diff::print(&lines);
    }
    let how = match outcome {
        Outcome::Restored(_) => "restored",
        Outcome::Removed => "removed",
        Outcome::Edited(_) => "edited",
    };
    let report = |changed: bool, backup: Option<&Path>| {
        if args.json {
            let client = place.client.name;
            output::json(&json!({
                "client": client, "file": file, "name": args.name, "changed": changed, "how": how, "diff": lines,
                "backup": backup,
            }));
        }
    };
    if args.dry_run {
        report(false, None);
        return Ok(());
    }
    let question = match outcome {
        Outcome::Removed => format!("remove {shown}? [y/N] "),
        _ => format!("write {shown}? [y/N] "),
    };
    if !args.yes && !confirmed(&question)? {
        output::err("nothing was written");
        return Ok(());
    }
    let mut backup = None;
    if let (Outcome::Edited(_), Some(bytes)) = (&outcome, &target.bytes) {
        backup = Some(record::keep_edited(place.client.name, bytes).map_err(CommandFailure::failed)?);
    }
    write(args, &place, &target, &outcome, record.as_ref())?;
    report(true, backup.as_deref());
    let mut given_back = Ok(());
    if let Some(record) = &record {
        // First, so that it does not count as a client that uses the config.
        record.forget();
        given_back = import_log::give_back(record);
    }
    if !args.json {
        output::err(&format!("{how} {shown}; restart {}", place.client.title));
        if let Some(backup) = backup {
            output::err(&format!("the file as it was: {}", output::one_line(&backup.display().to_string())));
        }
    }
    given_back
}

fn outcome(
    args: &UninstallArgs,
    place: &Place,
    target: &ClientTarget,
    before: &ClientText,
    record: Option<&Record>,
) -> Result<Outcome, CommandFailure> {
    if let Some(record) = record
        && record.has_before
        && target.bytes.is_some()
        && record.kept(Kept::After) == target.bytes
    {
        match record.kept(Kept::Before) {
            Some(bytes) => return Ok(Outcome::Restored(bytes)),
            None if !record.existed => return Ok(Outcome::Removed),
            None => {}
        }
    }
    let section = place.section();
    let file = &place.file.path;
    let moved = record.map(|record| record.moved.as_slice()).unwrap_or_default();
    let entry = before.entry(section, &args.name);
    let mut text = target.text()?.to_owned();
    match entry {
        None if moved.is_empty() => {
            // What is gone needs no record.
            if let Some(record) = record {
                record.forget();
            }
            let problem = format!("{} has no entry `{}`", file.display(), args.name);
            return Err(CommandFailure::failed(Diagnostic::error(problem).hint(other_entries(place, before))));
        }
        None => {}
        Some(entry) => {
            if !is_ours(&entry) && record.is_none_or(|record| record.entry != entry) {
                let line = before.line(section, &args.name).unwrap_or(1);
                let problem = format!("{}:{line}: `{}` is another server", file.display(), args.name);
                return Err(CommandFailure::failed(Diagnostic::error(problem).hint(other_entries(place, before))));
            }
            let made = if moved.is_empty() { record.map_or(0, |record| record.made_sections) } else { 0 };
            text = before.without(section, &args.name, made)?;
        }
    }
    for server in moved {
        let now = ClientText::parse(file, &text)?;
        // Somebody has added it again.
        if now.entry(section, &server.name).is_some() {
            continue;
        }
        let written = server.written.as_deref().map_or(EntryText::Value(&server.value), EntryText::Written);
        text = now.with(section, &server.name, written)?;
    }
    Ok(Outcome::Edited(text))
}

/// Where this proxy is instead.
fn other_entries(place: &Place, before: &ClientText) -> String {
    let entries = before.entries(place.section());
    let ours = entries.iter().find(|(_, entry)| is_ours(entry));
    match ours {
        Some((name, _)) => format!("the proxy is there as `{name}`: add `--name {name}`"),
        None if place.is_project => "it may be installed for the user: leave out `--scope project`".to_owned(),
        None => "it may be installed for a project: run the command there with `--scope project`".to_owned(),
    }
}

fn write(
    args: &UninstallArgs,
    place: &Place,
    target: &ClientTarget,
    outcome: &Outcome,
    record: Option<&Record>,
) -> Result<(), CommandFailure> {
    let written = match outcome {
        Outcome::Restored(bytes) => target.replace(bytes).map(|_| ()),
        Outcome::Removed => target.remove().inspect(|()| {
            remove_folders(record.map(|record| record.made_folders.as_slice()).unwrap_or_default());
        }),
        Outcome::Edited(text) => {
            let has_moved = record.is_some_and(|record| !record.moved.is_empty());
            match ClaudeProgram::find(place) {
                Some(program) if !has_moved => return program.remove(&args.name),
                _ => target.replace(text.as_bytes()).map(|_| ()),
            }
        }
    };
    written.map_err(CommandFailure::failed)
}
