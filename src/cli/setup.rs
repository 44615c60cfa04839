//! What most commands begin with: the config, from a file or from the arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tokio::runtime::Runtime;

use super::failure::Failure;
use super::{output, spinner, terminal};
use crate::config::{self, Config};
use crate::control;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Gateway, Options, SurfaceHandle};
use crate::model::{BackendKind, BackendView, Status, SurfaceKey};
use crate::server::Identity;
use crate::surface::Surface;

/// Where the servers and the script come from.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The config file (default: ./proxy.yaml, ./proxy.json, then the user's config folder)
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Front this server too: NAME="COMMAND ARGS" or NAME=URL; may be repeated
    #[arg(long = "server", value_name = "NAME=TARGET")]
    servers: Vec<String>,
    /// Load this extension (a .star file, a folder or a pattern) too; may be repeated
    #[arg(long = "extension", value_name = "PATH")]
    extensions: Vec<String>,
    /// Use this session script
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

/// A config, and whether anybody configured anything at all.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) config: Config,
    /// Nothing is configured: the extensions shipped in the binary are served.
    pub(super) bundled: bool,
}

impl Source {
    pub(super) fn of_file(file: &Path) -> Self {
        Source { config: Some(file.to_owned()), servers: Vec::new(), extensions: Vec::new(), script: None }
    }

    /// The same with another script.
    pub(super) fn with_script(&self, script: &Path) -> Self {
        Source {
            config: self.config.clone(),
            servers: self.servers.clone(),
            extensions: self.extensions.clone(),
            script: Some(script.to_owned()),
        }
    }

    pub(super) fn load(&self) -> Result<Loaded, Failure> {
        let folder = std::env::current_dir()?;
        let quick = !self.servers.is_empty() || !self.extensions.is_empty();
        // Servers named on the command line stand alone, unless a file is named beside them.
        let path = if quick && self.config.is_none() {
            None
        } else {
            config::find(self.config.as_deref(), &folder, user_config_folder().as_deref())?
        };
        let mut config = match &path {
            // A file found in the current folder is shown by its name, as if it had been named.
            Some(path) => load_file(path.strip_prefix(&folder).unwrap_or(path))?,
            None => Config::default_for(&folder),
        };
        self.apply(&mut config, &folder)?;
        let bundled = path.is_none() && !quick;
        Ok(Loaded { config, bundled })
    }

    fn apply(&self, config: &mut Config, folder: &Path) -> Result<(), Failure> {
        let mut problems = Vec::new();
        for argument in &self.servers {
            let added = config::quick::server_from_argument(argument)
                .and_then(|(name, server)| config.add_server(name, server));
            problems.extend(added.err());
        }
        for argument in &self.extensions {
            config.add_extension(argument, folder);
        }
        if let Some(script) = &self.script {
            problems.extend(config.set_script_file(&folder.join(script)).err());
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::config(problems)) }
    }
}

fn load_file(path: &Path) -> Result<Config, Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    let (config, warnings) = config::load(path, &environment).map_err(Failure::config)?;
    output::diagnostics(&warnings);
    Ok(config)
}

/// The folder a file is in.
pub(super) fn absolute_folder(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map(Path::to_owned).unwrap_or_default()
}

fn folder_of(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(below_home)))
}

/// Where what is remembered between runs is kept.
pub(super) fn state_folder() -> Option<PathBuf> {
    folder_of("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("starlark-mcp-proxy"))
}

fn user_config_folder() -> Option<PathBuf> {
    folder_of("XDG_CONFIG_HOME", ".config")
}

/// Where running proxies can be asked how they are.
pub(super) fn control_folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    control::folder(runtime.as_deref(), &std::env::temp_dir())
}

pub(super) fn options(bundled: bool) -> Result<Options, Failure> {
    Ok(Options {
        cache_folder: folder_of("XDG_CACHE_HOME", ".cache").map(|folder| folder.join("starlark-mcp-proxy")),
        executable: std::env::current_exe()?,
        variables: variables(),
        bundled,
    })
}

/// The environment, as far as it is text.
pub(super) fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// One thread for all that waits: handing a message from thread to thread costs more than reading it. Handlers have
/// threads of their own.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    crate::fiber::on_runtime_park();
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(crate::fiber::flush_wakeups)
        .build()?)
}

/// How every server is once it is up or has failed.
pub(super) fn with_servers(source: &Source) -> Result<Vec<Arc<BackendView>>, Failure> {
    let loaded = source.load()?;
    let options = options(loaded.bundled)?;
    runtime()?.block_on(async {
        let gateway = Gateway::start(&loaded.config, &options).map_err(Failure::config)?;
        spinner::with("starting the servers", gateway.servers_settled()).await;
        output::diagnostics(&gateway.extension_problems());
        let backends = gateway.snapshot().backends.clone();
        gateway.stop().await;
        Ok(backends)
    })
}

/// Starts everything, waits until every server is up or has failed, runs `work`, and ends everything again.
///
/// With a tool in mind it does not wait for servers that have nothing to do with it.
pub(super) fn with_gateway<T>(
    source: &Source,
    tool: Option<&str>,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_loaded(&source.load()?, tool, work)
}

/// The same for a config that is there already.
pub(super) fn with_loaded<T>(
    loaded: &Loaded,
    tool: Option<&str>,
    work: impl AsyncFnOnce(&Arc<Gateway>, Arc<Surface>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let options = options(loaded.bundled)?;
    runtime()?.block_on(async {
        let gateway = Arc::new(Gateway::start(&loaded.config, &options).map_err(Failure::config)?);
        gateway.sole_client(terminal::abilities());
        let names: Vec<&str> = loaded.config.servers.keys().map(String::as_str).collect();
        let label = if names.is_empty() { "starting".to_owned() } else { format!("starting {}", names.join(", ")) };
        let settled = spinner::with(&label, gateway.offering(tool)).await;
        let outcome = match settled {
            Ok(shared) => {
                // Whoever types the command sees what they would see as the client on a pipe.
                let own = SurfaceHandle::of(SurfaceKey {
                    principal: Identity::local_user(&options.variables),
                    client: Arc::default(),
                });
                let own = if shared.personal().is_some() { gateway.surface(&own).await } else { Ok(shared) };
                match own {
                    Ok(surface) => work(&gateway, surface).await,
                    Err(error) => Err(Failure::from(error.as_ref())),
                }
            }
            Err(error) => Err(Failure::from(error.as_ref())),
        };
        gateway.stop().await;
        outcome
    })
}

/// A list of servers of which none is there is an answer, and a failure.
pub(super) fn unless_all_failed(backends: &[Arc<BackendView>]) -> Result<(), Failure> {
    let mut servers = backends.iter().filter(|backend| backend.kind != BackendKind::Extension).peekable();
    let failed = servers.peek().is_some() && servers.all(|server| server.status != Status::Ready);
    if failed { Err(Failure::silent()) } else { Ok(()) }
}

/// Tells the person what is not there: servers and extensions.
pub(super) fn report_missing(gateway: &Gateway) {
    report_servers(gateway);
    output::diagnostics(&gateway.extension_problems());
}

/// Tells the person which servers are not there.
pub(super) fn report_servers(gateway: &Gateway) {
    for backend in &gateway.snapshot().backends {
        if !backend.error.is_empty() {
            output::err(
                &Diagnostic::warning(format!("server `{}` is not available: {}", backend.name, backend.error))
                    .render(output::colour()),
            );
        }
        for report in backend.reports.iter() {
            output::err(&Diagnostic::warning(format!("server `{}`: {report}", backend.name)).render(output::colour()));
        }
    }
}
