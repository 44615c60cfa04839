//! Startup code that most commands share: load the config from a file or the arguments, and start the gateway.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tokio::runtime::Runtime;

use super::failure::CommandFailure;
use super::{logging, output, spinner, terminal};
use crate::config::{self, Config};
use crate::control;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Gateway, GatewayOptions, SurfaceHandle};
use crate::model::{BackendKind, BackendView, ClientProfile, ItemKind, Principal, Status, SurfaceKey};
use crate::server::Identity;
use crate::surface::Surface;

/// The heading of [`SourceArgs`] in the help of a command.
const HEADING: &str = "Servers and script";

/// Options that select the servers and the session script.
#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    /// Config file [default: $PROXY_CONFIG, ./proxy.yaml, ./proxy.json, then ~/.config/proxy]
    #[arg(short, long, value_name = "FILE", help_heading = HEADING)]
    pub(super) config: Option<PathBuf>,
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
}

/// The config of a command.
#[derive(Debug)]
pub(super) struct LoadedConfig {
    pub(super) config: Config,
    /// Whether there is no config at all, so the built-in extensions are served.
    pub(super) bundled: bool,
}

impl SourceArgs {
    pub(super) fn of_file(file: &Path) -> Self {
        SourceArgs {
            config: Some(file.to_owned()),
            servers: Vec::new(),
            env: Vec::new(),
            extensions: Vec::new(),
            script: None,
        }
    }

    /// These options with a different session script.
    pub(super) fn with_script(&self, script: &Path) -> Self {
        SourceArgs {
            config: self.config.clone(),
            servers: self.servers.clone(),
            env: self.env.clone(),
            extensions: self.extensions.clone(),
            script: Some(script.to_owned()),
        }
    }

    pub(super) fn load(&self) -> Result<LoadedConfig, CommandFailure> {
        let folder = std::env::current_dir()?;
        let quick = !self.servers.is_empty() || !self.extensions.is_empty();
        // With servers or extensions on the command line, a config file is used only if `--config` names it.
        let path = if quick && self.config.is_none() {
            None
        } else {
            find_config(self.config.as_deref(), &folder, user_config_folder().as_deref())?
        };
        let mut config = match &path {
            // Messages show a file in the current folder by its relative name.
            Some(path) => load_file(path.strip_prefix(&folder).unwrap_or(path))?,
            None => Config::default_for(&folder),
        };
        self.apply(&mut config, &folder)?;
        logging::hide_secrets(&config);
        let bundled = path.is_none() && !quick;
        Ok(LoadedConfig { config, bundled })
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
        if let Some(script) = &self.script {
            problems.extend(config.set_script_file(&folder.join(script)).err());
        }
        if problems.is_empty() { Ok(()) } else { Err(CommandFailure::config(problems)) }
    }
}

/// The config file: the one that the command names, or else `PROXY_CONFIG`, or else the one in the default places.
pub(super) fn find_config(
    named: Option<&Path>,
    folder: &Path,
    user_config_folder: Option<&Path>,
) -> Result<Option<PathBuf>, Diagnostic> {
    let variable = std::env::var_os("PROXY_CONFIG").filter(|path| !path.is_empty() && named.is_none());
    match variable.as_deref().map(Path::new) {
        Some(path) if !path.is_file() => {
            let problem = format!("config file `{}` not found, which `PROXY_CONFIG` names", path.display());
            Err(Diagnostic::error(problem).hint("change or unset the variable, or name a file with `--config`"))
        }
        variable => config::find(named.or(variable), folder, user_config_folder),
    }
}

fn load_file(path: &Path) -> Result<Config, CommandFailure> {
    let environment = |name: &str| std::env::var(name).ok();
    let (config, warnings) = config::load(path, &environment).map_err(CommandFailure::config)?;
    output::diagnostics(&warnings);
    Ok(config)
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

/// The folder for state that is kept between runs.
pub(super) fn state_folder() -> Option<PathBuf> {
    xdg_folder("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("starlark-mcp-proxy"))
}

fn user_config_folder() -> Option<PathBuf> {
    xdg_folder("XDG_CONFIG_HOME", ".config")
}

/// The folder of the control sockets of running proxies.
pub(super) fn control_folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    control::folder(runtime.as_deref(), &std::env::temp_dir())
}

pub(super) fn options(bundled: bool) -> Result<GatewayOptions, CommandFailure> {
    Ok(GatewayOptions {
        cache_folder: xdg_folder("XDG_CACHE_HOME", ".cache").map(|folder| folder.join("starlark-mcp-proxy")),
        executable: std::env::current_exe()?,
        variables: variables(),
        first_user: None,
        bundled,
        sole_client: true,
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
    crate::fiber::batch_wakeups();
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(crate::fiber::flush_wakeups)
        .build()?)
}

/// Starts the servers, waits until each is up or has failed, and returns the state of each.
pub(super) fn server_states(source: &SourceArgs) -> Result<Vec<Arc<BackendView>>, CommandFailure> {
    let loaded = source.load()?;
    let options = options(loaded.bundled)?;
    runtime()?.block_on(async {
        let gateway = Gateway::start(&loaded.config, &options).map_err(CommandFailure::config)?;
        gateway.introduce(terminal::client());
        spinner::with("starting the servers", gateway.servers_settled()).await;
        output::diagnostics(&gateway.extension_problems());
        let backends = gateway.snapshot().backends.clone();
        gateway.stop().await;
        Ok(backends)
    })
}

/// Loads the config, starts the servers, waits until each is up or has failed, runs `work`, and stops the servers.
pub(super) fn with_gateway<T>(
    source: &SourceArgs,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    with_loaded(&source.load()?, work)
}

/// Like [`with_gateway`], for a config that is already loaded.
pub(super) fn with_loaded<T>(
    loaded: &LoadedConfig,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    // The user of the command sees the surface of a client on stdio.
    with_user(loaded, None, Identity::local_user(&variables()), work)
}

/// Like [`with_loaded`], with the surface of the given user. The session script runs for nobody else. If an item is wanted,
/// it does not wait for servers that cannot offer it.
pub(super) fn with_user<T>(
    loaded: &LoadedConfig,
    wanted: Option<(ItemKind, &str)>,
    user: Principal,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, CommandFailure>,
) -> Result<T, CommandFailure> {
    let options = GatewayOptions { first_user: Some(user.clone()), ..options(loaded.bundled)? };
    runtime()?.block_on(async {
        let gateway = Arc::new(Gateway::start(&loaded.config, &options).map_err(CommandFailure::config)?);
        gateway.introduce(terminal::client());
        let names: Vec<&str> = loaded.config.servers.keys().map(String::as_str).collect();
        let label = if names.is_empty() { "starting".to_owned() } else { format!("starting {}", names.join(", ")) };
        let settled = spinner::with(&label, gateway.offering(wanted)).await;
        let outcome = match settled {
            Ok(shared) => {
                let own =
                    SurfaceHandle::of(SurfaceKey { principal: user, client: Arc::default() }, ClientProfile::TERMINAL);
                let own = if shared.personal().is_some() { gateway.surface(&own).await } else { Ok(shared) };
                match own {
                    Ok(surface) => work(&gateway, surface).await,
                    Err(error) => Err(CommandFailure::from(error.as_ref())),
                }
            }
            Err(error) => Err(CommandFailure::from(error.as_ref())),
        };
        gateway.stop().await;
        outcome
    })
}

/// Fails if there are servers and none of them is ready. The list of servers has already been printed.
pub(super) fn unless_all_failed(backends: &[Arc<BackendView>]) -> Result<(), CommandFailure> {
    let mut servers = backends.iter().filter(|backend| backend.kind != BackendKind::Extension).peekable();
    let failed = servers.peek().is_some() && servers.all(|server| server.status != Status::Ready);
    if failed { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
}

/// Prints a warning for each server and extension that is not available.
pub(super) fn report_missing(gateway: &Gateway) {
    report_servers(gateway);
    output::diagnostics(&gateway.extension_problems());
}

/// Prints a warning for each server that is not available.
pub(super) fn report_servers(gateway: &Gateway) {
    for backend in &gateway.snapshot().backends {
        if !backend.error.is_empty() {
            let message = format!("server `{}` is not available: {}", backend.name, backend.error);
            output::diagnostics(&[Diagnostic::warning(message)]);
        }
        for report in backend.reports.iter() {
            output::diagnostics(&[Diagnostic::warning(format!("server `{}`: {report}", backend.name))]);
        }
    }
}
