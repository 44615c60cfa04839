//! The folders that the proxy writes to.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, access};

use super::findings::Findings;
use crate::cli::setup;
use proxy_base::control::instances;

const AREA: &str = "folders";

pub(super) fn check(findings: &mut Findings) {
    let folders =
        [("cache", setup::cache_folder(), "XDG_CACHE_HOME"), ("state", setup::state_folder(), "XDG_STATE_HOME")];
    for (name, folder, variable) in folders {
        let Some(folder) = folder else {
            findings.warning(AREA, format!("there is no folder for {name}"), format!("set `HOME` or `{variable}`"));
            continue;
        };
        if let Some((problem, fix)) = problem(&folder, variable) {
            findings.broken(AREA, format!("{name} folder {}: {problem}", folder.display()), fix);
        }
    }
    if let Some(state) = setup::state_folder()
        && let Ok(data) = state.metadata()
        && data.permissions().mode() & 0o022 != 0
    {
        let problem = format!("others can write to the state folder {}", state.display());
        findings.warning(AREA, problem, format!("chmod go-w {}", state.display()));
    }
    let control = setup::control_folder();
    if let Err(error) = instances(&control) {
        let problem = format!("folder of the control sockets {}: {error}", control.display());
        findings.broken(AREA, problem, "remove the folder, and start the proxies again");
    }
    findings.ok_unless_found(AREA, "cache, state and control sockets can be written");
}

/// Why a folder cannot be made or written.
fn problem(folder: &Path, variable: &str) -> Option<(String, String)> {
    let nearest = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok())?;
    let elsewhere = format!("or set `{variable}` to another folder");
    if !nearest.is_dir() {
        return Some((format!("{} is not a folder", nearest.display()), format!("move that file away, {elsewhere}")));
    }
    let error = access(nearest, Access::WRITE_OK | Access::EXEC_OK).err()?;
    Some((
        format!("{} cannot be written: {error}", nearest.display()),
        format!("change its owner or mode, {elsewhere}"),
    ))
}
