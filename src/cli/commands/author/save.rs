//! Saves a script below the folder: never through a link, never outside, and whole or not at all.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use serde_json::json;

use super::answer::{Answer, Answered};
use super::arguments::{SaveArguments, check_size};
use super::folder::PolicyFolder;
use super::loaded_by_extensions::is_loaded_by_extension;
use super::script_path::ScriptPath;
use proxy_author::lint::Role;
use proxy_base::diagnostic::Diagnostic;
use proxy_script::{Source, on_big_stack, parse};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub(super) fn save(folder: &PolicyFolder, arguments: &SaveArguments) -> Answered {
    let path = ScriptPath::parse(&arguments.path).map_err(|problem| vec![problem])?;
    check_size(&path, &arguments.text).map_err(|problem| vec![problem])?;
    refuse_extensions(folder, &path, &arguments.text)?;
    // What does not parse would stop a proxy that reloads its script.
    let source = Source::new(path.as_str(), arguments.text.as_str());
    let parsed = on_big_stack(|| parse(&source).map(drop)).map_err(|failure| *failure.diagnostic);
    parsed.and_then(|parsed| parsed).map_err(|problem| vec![problem])?;
    let replaced = write(folder, &path, &arguments.text, arguments.replace).map_err(|problem| vec![problem])?;
    Ok(Answer::Data(json!({"path": path.as_str(), "bytes": arguments.text.len(), "replaced": replaced})))
}

/// An extension has the rights of the proxy's user as soon as a proxy loads it. A policy has none.
fn refuse_extensions(folder: &PolicyFolder, path: &ScriptPath, text: &str) -> Result<(), Vec<Diagnostic>> {
    let file = folder.root.join(path.as_str());
    let source = Source::at(path.as_str(), text, &file);
    let config = folder.load()?;
    let is_loaded = is_loaded_by_extension(&config.extensions, &file).map_err(|problem| vec![problem])?;
    if !is_loaded && Role::of_text(&source) != Role::Extension {
        return Ok(());
    }
    let problem =
        format!("`{path}` would be an extension or a part of one, which runs with the rights of the proxy's user");
    Err(vec![Diagnostic::error(problem).hint("only people save extensions; show them the text")])
}

/// Returns whether a script of that name was there.
fn write(folder: &PolicyFolder, path: &ScriptPath, text: &str, may_replace: bool) -> Result<bool, Diagnostic> {
    let failed = |error: Errno| match error {
        Errno::LOOP | Errno::NOTDIR => Diagnostic::error(format!("`{path}` leads through a link or a file"))
            .hint("scripts are saved in plain folders only"),
        error => Diagnostic::error(format!("cannot save `{path}`: {}", io::Error::from(error))),
    };
    let mut names: Vec<&str> = path.as_str().split('/').collect();
    let name = names.pop().unwrap_or_default();
    let mut below = openat(rustix::fs::CWD, &folder.root, FOLDER, Mode::empty()).map_err(failed)?;
    for name in names {
        match mkdirat(&below, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        below = openat(&below, name, FOLDER, Mode::empty()).map_err(failed)?;
    }
    let mode = match statat(&below, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => None,
        Err(error) => return Err(failed(error)),
        Ok(there) if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile => {
            return Err(Diagnostic::error(format!("`{path}` is a link or no file")).hint("choose another name"));
        }
        Ok(_) if !may_replace => {
            return Err(Diagnostic::error(format!("`{path}` is there already"))
                .hint("`diff` shows what would change; `replace: true` replaces it"));
        }
        Ok(there) => Some(Mode::from_raw_mode(there.st_mode & 0o777)),
    };
    replace(&below, name, text, mode.unwrap_or(Mode::from_raw_mode(0o644)))
        .map_err(|error| Diagnostic::error(format!("cannot save `{path}`: {error}")))?;
    Ok(mode.is_some())
}

/// Writes another file and gives it the name.
fn replace(folder: &OwnedFd, name: &str, text: &str, mode: Mode) -> io::Result<()> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let temporary = format!(".saved-{}.tmp", proxy_json::hex(&bytes));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = std::fs::File::from(openat(folder, &temporary, flags, mode)?);
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let renamed = written.and_then(|()| Ok(renameat(folder, &temporary, folder, name)?));
    if renamed.is_err() {
        // The first error is the one to report.
        let _ = unlinkat(folder, &temporary, AtFlags::empty());
        return renamed;
    }
    // The name is on disk when the folder is. Some file systems cannot do this, and keep the order anyway.
    let _ = rustix::fs::fsync(folder.as_fd());
    Ok(())
}
