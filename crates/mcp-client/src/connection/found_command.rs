//! Finds the program of a server by its name.

use std::ffi::OsString;
use std::path::PathBuf;

use proxy_base::process::find_program;

/// The program with this name. If it is not in the `PATH` of the proxy, which has these variables, the variables of the server
/// get the `PATH` in which it was found.
pub(super) async fn found_command(
    server: &str,
    command: &str,
    all: &[(String, String)],
    variables: &mut Vec<(String, String)>,
) -> Result<PathBuf, String> {
    let name = command.to_owned();
    let all = all.to_vec();
    let find = move || {
        let value = |name: &str| all.iter().find(|(own, _)| own == name).map(|(_, value)| OsString::from(value));
        find_program(&name, value)
    };
    let found = tokio::task::spawn_blocking(find).await.map_err(|error| error.to_string())?;
    let found = found.map_err(|error| format!("the command `{command}` was not found {error}"))?;
    let Some(path) = found.path else { return Ok(PathBuf::from(command)) };
    tracing::info!(server, "`{command}` is not in `PATH`: using {}", found.file.display());
    variables.retain(|(name, _)| name != "PATH");
    variables.push(("PATH".to_owned(), path.to_string_lossy().into_owned()));
    Ok(found.file)
}
