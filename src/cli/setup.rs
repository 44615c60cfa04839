//! Startup code that most commands share: load the config from a file or the arguments, and start the gateway.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;
use tokio::runtime::Runtime;

use super::failure::CommandFailure;
use super::{logging, output, secret_commands};
use proxy_base::control;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{self as config, Config, SecretCommand, SecretValues};
use proxy_engine::gateway::{Gateway, GatewayOptions};
use proxy_mcp_client::StartPolicy;

/// The heading of [`SourceArgs`] in the help of a command.
const HEADING: &str = "Servers and script";

/// Options that select the servers and the session script.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct SourceArgs {
    /// Config file; repeatable: later files win [default: $PROXY_CONFIG, ./proxy.yaml, ./proxy.json, then ~/.config/starlark-mcp-proxy]
    #[arg(short, long, value_name = "FILE", help_heading = HEADING)]
    pub(super) config: Vec<PathBuf>,
    /// Add a server: NAME="COMMAND ARGS" or NAME=URL; repeatable
    #[arg(long = "server", value_name = "NAME=TARGET", help_heading = HEADING)]
    servers: Vec<String>,
    /// Set an environment variable for servers added with --server: NAME=VALUE; repeatable
    #[arg(long = "env", value_name = "NAME=VALUE", requires = "servers", help_heading = HEADING)]
    env: Vec<String>,
    /// Add an extension: a .star file, a folder or a glob; repeatable
    #[arg(long = "extension", value_name = "PATH", help_heading = HEADING)]
    extensions: Vec<String>,
    /// Use this session script instead of the config's
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    script: Option<PathBuf>,
    /// Show what the clients of this profile see (`profiles` in the config)
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(super) profile: Option<String>,
    /// Publish only these tools: published names or globs, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = HEADING)]
    tools: Vec<String>,
}

/// The config of a command.
#[derive(Debug)]
pub(super) struct LoadedConfig {
    pub(super) config: Config,
    /// Whether there is no config at all, so the built-in extensions are served.
    pub(super) bundled: bool,
    /// Whether there is a config file.
    pub(super) has_file: bool,
    /// The options that it was loaded with.
    source: SourceArgs,
}

impl LoadedConfig {
    /// The config with the values of credentials and commands, which have not been read if the config was loaded without.
    pub(super) fn with_all_values(&self) -> Result<Cow<'_, Config>, CommandFailure> {
        if self.config.unread.is_empty() {
            return Ok(Cow::Borrowed(&self.config));
        }
        let (loaded, _) = self.source.load_values(SecretValues::All(&run_commands))?;
        Ok(Cow::Owned(loaded.config))
    }
}

impl SourceArgs {
    pub(super) fn of_file(file: &Path) -> Self {
        SourceArgs::of_servers(vec![file.to_owned()], Vec::new())
    }

    /// The servers of a file and of the command line.
    pub(super) fn of_servers(config: Vec<PathBuf>, servers: Vec<String>) -> Self {
        SourceArgs { config, servers, ..SourceArgs::default() }
    }

    /// These options with the profile of a command that has few of them.
    pub(super) fn under(self, profile: Option<&str>) -> Self {
        SourceArgs { profile: profile.map(str::to_owned), ..self }
    }

    /// These options with a different session script.
    pub(super) fn with_script(&self, script: &Path) -> Self {
        SourceArgs { script: Some(script.to_owned()), ..self.clone() }
    }

    /// Loads the config with all its values, and prints the warnings about it.
    pub(super) fn load(&self) -> Result<LoadedConfig, CommandFailure> {
        let (loaded, warnings) = self.load_values(SecretValues::All(&run_commands))?;
        output::diagnostics(&warnings);
        Ok(loaded)
    }

    /// The same without running its commands, for whoever may not need their values.
    pub(super) fn load_without_commands(&self) -> Result<LoadedConfig, CommandFailure> {
        let (loaded, warnings) = self.load_with_warnings()?;
        output::diagnostics(&warnings);
        Ok(loaded)
    }

    /// The same with the warnings, which it does not print.
    pub(super) fn load_with_warnings(&self) -> Result<(LoadedConfig, Vec<Diagnostic>), CommandFailure> {
        self.load_values(SecretValues::OfFiles)
    }

    fn load_values(&self, values: SecretValues) -> Result<(LoadedConfig, Vec<Diagnostic>), CommandFailure> {
        let folder = std::env::current_dir()?;
        let quick = !self.servers.is_empty() || !self.extensions.is_empty();
        // With servers or extensions on the command line, a config file is used only if `--config` names it.
        let paths = if quick && self.config.is_empty() {
            Vec::new()
        } else {
            find_configs(&self.config, &folder, user_config_folder().as_deref())?
        };
        // Messages show a file in the current folder by its relative name.
        let paths: Vec<PathBuf> =
            paths.into_iter().map(|path| path.strip_prefix(&folder).unwrap_or(&path).to_owned()).collect();
        let old_place = user_config_folder().and_then(|folder| config::old_place(paths.first()?, &folder));
        let (mut config, mut warnings) = match paths.is_empty() {
            false => load_files(&paths, values)?,
            true => (Config::default_for(&folder), Vec::new()),
        };
        warnings.extend(old_place);
        self.apply(&mut config, &folder)?;
        logging::hide_secrets(&config);
        let bundled = paths.is_empty() && !quick;
        Ok((LoadedConfig { config, bundled, has_file: !paths.is_empty(), source: self.clone() }, warnings))
    }

    fn apply(&self, config: &mut Config, folder: &Path) -> Result<(), CommandFailure> {
        let mut problems = Vec::new();
        for argument in &self.servers {
            let added = config::quick::server_from_argument(argument, &self.env)
                .and_then(|(name, server)| config.add_server(name, server));
            problems.extend(added.err());
        }
        for argument in &self.extensions {
            config.add_extension(argument, folder);
        }
        // Before the script: that of the command line is used under a profile, too.
        if let Some(profile) = &self.profile {
            match config.select_profile(profile) {
                Ok(selected) => *config = selected,
                Err(problem) => problems.push(problem),
            }
        }
        if let Some(script) = &self.script {
            problems.extend(config.set_script_file(&folder.join(script)).err());
        }
        problems.extend(config.set_only_tools(&self.tools).err());
        if problems.is_empty() { Ok(()) } else { Err(CommandFailure::config(problems)) }
    }
}

/// The config file: `named`, else `PROXY_CONFIG`, else the one in the default locations.
pub(super) fn find_config(
    named: Option<&Path>,
    folder: &Path,
    user_config_folder: Option<&Path>,
) -> Result<Option<PathBuf>, Diagnostic> {
    let variable = std::env::var_os("PROXY_CONFIG").filter(|path| !path.is_empty() && named.is_none());
    match variable.as_deref().map(Path::new) {
        Some(path) if !path.is_file() => {
            let problem = format!("config file `{}` (from `PROXY_CONFIG`) not found", path.display());
            Err(Diagnostic::error(problem).hint("change or unset the variable, or name a file with `--config`"))
        }
        variable => config::find(named.or(variable), folder, user_config_folder),
    }
}

/// The config files: `named`, else the one from [`find_config`].
pub(super) fn find_configs(
    named: &[PathBuf],
    folder: &Path,
    user_config_folder: Option<&Path>,
) -> Result<Vec<PathBuf>, Diagnostic> {
    if named.is_empty() {
        return Ok(find_config(None, folder, user_config_folder)?.into_iter().collect());
    }
    named.iter().filter_map(|path| find_config(Some(path), folder, user_config_folder).transpose()).collect()
}

fn load_files(paths: &[PathBuf], values: SecretValues) -> Result<(Config, Vec<Diagnostic>), CommandFailure> {
    let environment = |name: &str| std::env::var(name).ok();
    // A confined process has neither these files nor programs.
    let values = if proxy_host_io::needs_doubles() { SecretValues::Unread } else { values };
    config::load_files_with(paths, &environment, values).map_err(CommandFailure::config)
}

fn run_commands(commands: &[SecretCommand]) -> Vec<Result<Vec<u8>, String>> {
    secret_commands::run(commands, &variables())
}

/// Loads a config file with all its values.
pub(super) fn load_file(path: PathBuf) -> Result<Config, Vec<Diagnostic>> {
    let environment = |name: &str| std::env::var(name).ok();
    let values = SecretValues::All(&run_commands);
    config::load_files_with(&[path], &environment, values).map(|(config, _)| config)
}

/// The absolute path of the folder that contains the file.
pub(super) fn absolute_folder(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map(Path::to_owned).unwrap_or_default()
}

fn xdg_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(below_home)))
}

/// The folder for data that can be rebuilt.
pub(super) fn cache_folder() -> Option<PathBuf> {
    xdg_folder("XDG_CACHE_HOME", ".cache").map(|folder| folder.join(proxy_base::NAME))
}

/// The folder for state that is kept between runs.
pub(super) fn state_folder() -> Option<PathBuf> {
    xdg_folder("XDG_STATE_HOME", ".local/state").map(|folder| folder.join(proxy_base::NAME))
}

pub(super) fn user_config_folder() -> Option<PathBuf> {
    xdg_folder("XDG_CONFIG_HOME", ".config")
}

/// The folder of the control sockets of running proxies.
pub(super) fn control_folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    control::folder(runtime.as_deref(), &std::env::temp_dir())
}

pub(super) fn options(bundled: bool) -> Result<GatewayOptions, CommandFailure> {
    Ok(GatewayOptions {
        cache_folder: cache_folder(),
        state_folder: state_folder(),
        executable: std::env::current_exe()?,
        variables: variables(),
        first_user: None,
        bundled,
        sole_client: true,
        client: None,
        search_by_meaning: false,
        start: StartPolicy::All,
        ignores_lock: false,
    })
}

/// The environment variables that are valid UTF-8.
pub(super) fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// A single-threaded runtime for all I/O: passing a message between threads costs more than parsing it. Script handlers
/// run on worker threads.
pub(super) fn runtime() -> Result<Runtime, CommandFailure> {
    Ok(proxy_fiber::serving_runtime()?)
}

/// Prints a warning for each server that is not available.
pub(super) fn report_servers(gateway: &Gateway) {
    for backend in &gateway.snapshot().backends {
        if let Some(problem) = backend.problem() {
            output::diagnostics(&[Diagnostic::warning(problem)]);
        }
        for report in backend.reports.iter() {
            output::diagnostics(&[Diagnostic::warning(format!("server `{}`: {report}", backend.name))]);
        }
    }
}
