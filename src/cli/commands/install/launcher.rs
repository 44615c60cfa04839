//! The command with which a client starts this proxy.

use std::path::{Component, Path, PathBuf};

use super::args::Place;
use super::own::same_file;
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use proxy_base::NAME;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::program_in;

/// What a client starts.
#[derive(Debug)]
pub(super) struct Launcher {
    pub(super) words: Vec<String>,
    /// The config that the proxy reads then; `None` if there is none.
    pub(super) config: Option<PathBuf>,
}

/// The command of an entry that serves this config: the one named, or else the one found from the current folder; of that,
/// this profile.
pub(super) fn launcher(place: &Place, named: Option<&Path>, profile: Option<&str>) -> Result<Launcher, CommandFailure> {
    let folder = &place.surroundings.current_folder;
    let user_folder = place.surroundings.config_folder.as_deref();
    let config = setup::find_config(named, folder, user_folder)?.map(|config| folder.join(config));
    // What the proxy finds by itself, wherever the client starts it.
    let of_user = proxy_config::find(None, Path::new("/nonexistent"), user_folder)?;
    let is_found = config == of_user || (place.is_project && config == proxy_config::find(None, folder, None)?);
    let executable = std::env::current_exe()?;
    let mut words = command(&executable, place.is_project)?;
    words.push("serve".to_owned());
    if let Some(config) = &config
        && (!is_found || named.is_some())
    {
        words.extend(["--config".to_owned(), utf8(config)?]);
    }
    if let Some(profile) = profile {
        // A client would not show why the proxy does not start.
        let source = config.as_deref().map(SourceArgs::of_file).unwrap_or_default();
        source.under(Some(profile)).load_with_warnings()?;
        words.extend(["--profile".to_owned(), profile.to_owned()]);
    }
    Ok(Launcher { words, config })
}

/// The words that start this program, without its arguments.
fn command(executable: &Path, is_project: bool) -> Result<Vec<String>, CommandFailure> {
    if let Some(words) = package_runner(executable) {
        return Ok(words);
    }
    let name = executable.file_name().unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A link, as of a package manager, survives an update of the program behind it.
    let found = name.to_str().and_then(|name| program_in(&path, name));
    let found = found.filter(|file| file.is_absolute() && same_file(file, executable));
    if is_project && found.is_some() {
        // The file of a project is for others, too, who have the program elsewhere.
        return Ok(vec![name.to_string_lossy().into_owned()]);
    }
    Ok(vec![utf8(found.as_deref().unwrap_or(executable))?])
}

/// `npx` and `uvx` keep programs in caches that they may empty at any time, so an entry asks them again.
fn package_runner(executable: &Path) -> Option<Vec<String>> {
    let package = format!("{NAME}@{}", env!("CARGO_PKG_VERSION"));
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<String>>();
    let folders: Vec<&str> = executable
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    if folders.contains(&"_npx") {
        return Some(words(&["npx", "-y", &package]));
    }
    // `archive-v0` and `environments-v2` in uv's cache.
    let is_of_uv = |folder: &&str| {
        let version = folder.strip_prefix("archive-v").or_else(|| folder.strip_prefix("environments-v"));
        version.is_some_and(|version| !version.is_empty() && version.chars().all(|digit| digit.is_ascii_digit()))
    };
    folders.iter().any(is_of_uv).then(|| words(&["uvx", &package]))
}

fn utf8(path: &Path) -> Result<String, CommandFailure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let problem =
            Diagnostic::error(format!("the path `{}` is not UTF-8, so no config can name it", path.display()));
        CommandFailure::failed(problem.hint("move it to a folder with a plain name"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_a_cache_is_asked_for_again() {
        let version = env!("CARGO_PKG_VERSION");
        let words = |path: &str| package_runner(Path::new(path)).map(|words| words.join(" "));
        let npx = words("/home/a/.npm/_npx/0f1/node_modules/@x/linux-x64/bin/proxy");
        assert_eq!(npx, Some(format!("npx -y starlark-mcp-proxy@{version}")));
        let uvx = words("/home/a/.cache/uv/archive-v0/Xy-1/bin/starlark-mcp-proxy");
        assert_eq!(uvx, Some(format!("uvx starlark-mcp-proxy@{version}")));
        assert_eq!(words("/home/a/.local/share/uv/tools/starlark-mcp-proxy/bin/proxy"), None);
        assert_eq!(words("/home/a/archive-very-old/proxy"), None);
    }
}
