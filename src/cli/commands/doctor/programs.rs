//! The command of each server, and what it needs itself: node, uv or docker.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::findings::Findings;
use crate::cli::table;
use proxy_base::process::{find_program, is_executable, program_in};
use proxy_config::{Config, ServerConfig, TransportConfig};

const AREA: &str = "commands";

pub(super) fn check(config: &Config, findings: &mut Findings) {
    let enabled = config.servers.iter().filter(|(_, server)| !server.disabled);
    let mut count = 0;
    for (name, server) in enabled {
        for unset in &server.unset_variables {
            let fix =
                unset.hint.clone().unwrap_or_else(|| "set it where the client or service starts the proxy".to_owned());
            findings.broken_server(AREA, name, &format!(": {}", unset.message), fix);
        }
        if matches!(server.transport, TransportConfig::Stdio { .. }) {
            count += 1;
            if let Some((problem, fix)) = problem(server) {
                findings.broken_server(AREA, name, &format!(": {problem}"), fix);
            }
        }
    }
    if count > 0 {
        findings.ok_unless_found(AREA, format!("{} found", table::count(count, "program")));
    }
}

/// What is wrong with the command, and the fix.
fn problem(server: &ServerConfig) -> Option<(String, String)> {
    let TransportConfig::Stdio { command, env, cwd, .. } = &server.transport else { return None };
    if let Some(cwd) = cwd
        && !cwd.is_dir()
    {
        return Some((
            format!("its `cwd` is no folder: {}", cwd.display()),
            "make the folder, or correct `cwd`".into(),
        ));
    }
    // What begins with a variable that is not set has a finding of its own.
    if command == "proxy" || command.starts_with('$') {
        return None;
    }
    if command.contains('/') {
        // As for the process: from its own working directory.
        let file = cwd.as_deref().unwrap_or(Path::new("")).join(command);
        return match (file.is_file(), is_executable(&file)) {
            (true, true) => None,
            (true, false) => Some((format!("`{command}` is not executable"), format!("chmod +x {}", file.display()))),
            _ => Some((format!("there is no program `{command}`"), "correct the path, or install the program".into())),
        };
    }
    let own_path = env.get("PATH").map(|path| OsString::from(path.reveal()));
    let found: Result<(PathBuf, OsString), String> = match &own_path {
        Some(path) => {
            program_in(path, command).map(|file| (file, path.clone())).ok_or_else(|| " in its own `PATH`".into())
        }
        None => {
            find_program(command, |name| std::env::var_os(name)).map_err(|problem| format!(" {problem}")).map(|found| {
                let path = found.path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
                (found.file, path)
            })
        }
    };
    match found {
        Err(place) => Some((format!("there is no program `{command}`{place}"), how_to_get(command))),
        Ok((_, path)) => needed(command, &path),
    }
}

fn how_to_get(command: &str) -> String {
    match command {
        "npx" | "npm" | "node" => "install Node.js, or write the whole path of the program in `command`".to_owned(),
        "uvx" | "uv" => "install uv, or write the whole path of the program in `command`".to_owned(),
        "docker" => "install Docker, or write the whole path of the program in `command`".to_owned(),
        _ => "install it, or write its whole path in `command`".to_owned(),
    }
}

/// What a program that was found needs to run.
fn needed(command: &str, path: &OsString) -> Option<(String, String)> {
    match command {
        "npx" | "npm" if program_in(path, "node").is_none() => {
            let problem = format!("`{command}` needs `node`, which is not beside it in `PATH`");
            Some((problem, "install Node.js, or add its folder to `PATH` in `env`".to_owned()))
        }
        "docker" if std::env::var_os("DOCKER_HOST").is_none() => {
            let socket = Path::new("/var/run/docker.sock");
            let error = UnixStream::connect(socket).err()?;
            // Docker Desktop and rootless Docker have their socket elsewhere.
            let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
            let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).unwrap_or_default();
            let others = [
                home.join(".docker/run/docker.sock"),
                runtime.join("docker.sock"),
                home.join(".docker/desktop/docker.sock"),
            ];
            if others.iter().any(|other| UnixStream::connect(other).is_ok()) {
                return None;
            }
            let problem = format!("Docker does not answer at {}: {error}", socket.display());
            Some((problem, "start Docker, or add yourself to the group `docker`".to_owned()))
        }
        _ => None,
    }
}
