//! `proxy serve`: serves the configured servers on stdio or HTTP.

mod control;
mod service;
mod shutdown;
mod summary;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use control::Control;
use service::Service;
use shutdown::{drain_stdio, serve_http, shutdown_signal};
use summary::{print_servers, print_summary};

use crate::admin::{DiagnosticsPort, Health};
use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, LoadedConfig, SourceArgs};
use crate::cli::{logging, table};
use proxy_author::published::PublishedFile;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::process::descriptors;
use proxy_config::{Config, serving_threads};
use proxy_engine::extension;
use proxy_engine::gateway::{Endpoint, Gateway, GatewayOptions, Reread};
use proxy_fiber::ServingThreads;
use proxy_identity::oauth::CredentialStorage;
use proxy_mcp_client::StartPolicy;
use proxy_server::{Authenticator, Server, serve_stdio};
use proxy_wire::http::Listener;
use proxy_wire::standard_streams;

/// How long the first run of the script may take after the client has disconnected.
const FIRST_RUN_TIMEOUT: Duration = Duration::from_secs(5);

/// Shown to a person who runs `proxy serve` at a terminal.
const WAITING: &str = "waiting for an MCP client on standard input: add `proxy serve` to your client's config,\n\
                       or use `proxy serve --http` to listen on a port. Press Ctrl-C to stop.";

/// The folder that `proxy new` writes extensions to.
const EXTENSIONS: &str = "./extensions";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Serve on HTTP instead of stdio [default address: `serve.http` in the config]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    http: Option<Option<String>>,
    /// Serve on N threads, or `auto` for one per processor [default: `serve.threads` in the config]
    #[arg(long, value_name = "N", requires = "http", value_parser = threads)]
    threads: Option<usize>,
    /// Allow unauthenticated access from other machines
    #[arg(long, requires = "http")]
    insecure: bool,
}

fn threads(text: &str) -> Result<usize, &'static str> {
    serving_threads(text).ok_or("expected a number from 1 to 8, or `auto`")
}

pub(super) fn run(args: ServeArgs) -> Result<(), CommandFailure> {
    if args.http.is_some() && args.source.profile.is_some() {
        return Err(CommandFailure::usage_with_hint(
            "`--profile` is for a client on stdio".to_owned(),
            "over HTTP, each client chooses by the URL: add the name of the profile to its path",
        ));
    }
    let loaded = args.source.load()?;
    logging::apply_server_levels(&loaded.config);
    let options = GatewayOptions {
        sole_client: args.http.is_none(),
        search_by_meaning: true,
        start: StartPolicy::Configured,
        ..setup::options(loaded.bundled)?
    };
    let runtime = setup::runtime()?;
    let outcome = runtime.block_on(serve(args, loaded, options));
    // A thread may still block in a read of standard input; do not wait for it.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: ServeArgs, loaded: LoadedConfig, options: GatewayOptions) -> Result<(), CommandFailure> {
    let started = Instant::now();
    let config = loaded.config;
    let listener = match &args.http {
        Some(address) => Some(bind(&config, address.as_deref(), args.insecure).await?),
        None => None,
    };
    if loaded.bundled {
        logging::status(
            "no config file found: serving the built-in extensions. `proxy init` writes a proxy.yaml for your own \
             servers,\n`proxy init --from FILE` imports your client's config.",
        );
    }
    if !loaded.has_file && config.extensions.is_empty() {
        unused_extensions().iter().for_each(|hint| logging::status(hint));
    }
    descriptors::raise_limit();
    let gateway = Arc::new(Gateway::start(&config, &options).map_err(CommandFailure::config)?);
    let has_terminal = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    if let Some(Err(problem)) = config.audit.as_ref().map(|audit| gateway.start_audit(audit, !has_terminal)) {
        gateway.stop().await;
        return Err(CommandFailure::failed(problem));
    }
    if let Err(problem) = gateway.start_traces(&config.telemetry) {
        gateway.stop().await;
        return Err(CommandFailure::config(vec![problem]));
    }
    let earlier = CredentialStorage::for_config(&config, options.state_folder.as_deref()).earlier_records();
    if earlier > 0 {
        tracing::warn!(
            "{} from an earlier version not used: each config entry now has its own. Log in again with `proxy login \
             NAME`, then delete the old files in {}",
            table::count(earlier, "authorization"),
            options.state_folder.as_deref().unwrap_or(std::path::Path::new("")).join("credentials").display()
        );
    }
    let source = args.source;
    let reread: Reread = Arc::new(move || {
        let loaded = source.load().map_err(|failure| failure.into_parts().1)?;
        Ok(loaded.config)
    });
    logging::hide_secrets_in_force(&config);
    let on_install = Box::new(|config: &Config| {
        logging::apply_server_levels(config);
        logging::hide_secrets_in_force(config);
    });
    tokio::spawn(Arc::clone(&gateway).follow_files(config.clone(), reread, on_install));
    let record = PublishedFile::of(&config, options.cache_folder.as_deref());
    if let Some(record) = record.clone() {
        tokio::spawn(record.follow(gateway.watch()));
    }
    let key_error =
        |error: getrandom::Error| CommandFailure::failed(Diagnostic::error(format!("cannot generate keys: {error}")));
    // A client on stdio has one connection.
    let threads = if listener.is_some() { args.threads.unwrap_or(config.serve.threads) } else { 1 };
    let server =
        Server::new(Arc::clone(&gateway), &config.serve, ServingThreads::start(threads)?).map_err(key_error)?;
    gateway.set_endpoint(endpoint(&config, listener.as_ref())?);
    let health = Arc::new(Health::default());
    let control = Control::open(&gateway, &server, &config, Authenticator::local_user(&options.variables), &health);
    diagnostics(&config, &gateway, &server, &health).await;
    let service = Service::from_environment();
    tokio::spawn(service.clone().keep_alive());
    let (starting, started_gateway) = (Arc::clone(&health), Arc::clone(&gateway));
    let starting_service = service.clone();
    tokio::spawn(async move {
        starting.follow_start(&started_gateway).await;
        starting_service.started(&starting);
    });
    let stdio = listener.is_none();
    let front = async {
        match listener {
            Some(listener) => serve_http(&config, server, listener, &health, control.as_ref(), &service).await,
            None => {
                if std::io::stdin().is_terminal() {
                    logging::status(WAITING);
                }
                let (input, output) = standard_streams();
                let profile = config.selection.as_ref().map(|selection| Arc::clone(&selection.profile));
                let principal = Authenticator::local_user(&options.variables).in_profile(profile);
                let cap = usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX);
                serve_stdio(server, principal, input, output, cap).await;
                first_run(&gateway).await
            }
        }
    };
    let outcome = tokio::select! {
        outcome = front => outcome,
        failure = fatal_error(&gateway, started) => Err(failure),
        outcome = stdio_shutdown(stdio) => outcome,
    };
    // The last surface may be newer than the saved one.
    if let (Some(record), Some(surface)) = (record, gateway.watch().borrow().surface.clone()) {
        record.save(&surface);
    }
    if let Some(control) = control {
        if stdio {
            drain_stdio(&config, &gateway, &control).await;
        }
        gateway.begin_stop();
        control.close().await;
    }
    gateway.stop().await;
    outcome
}

/// Says how to load the extensions in the current folder. They are not loaded automatically, because a cloned folder
/// contains code by others.
fn unused_extensions() -> Option<String> {
    let folder = Path::new(EXTENSIONS);
    let count = folder.is_dir().then(|| extension::candidates(folder).ok())??.len();
    let files = table::count(count, "file");
    (count > 0).then(|| format!("{EXTENSIONS} has {files}: add --extension {EXTENSIONS}"))
}

/// Where clients reach the proxy.
fn endpoint(config: &Config, listener: Option<&Listener>) -> Result<Endpoint, CommandFailure> {
    Ok(match listener {
        Some(listener) => Endpoint {
            transport: "http",
            address: Some(format!("http://{}{}", listener.address()?, config.serve.path)),
        },
        None => Endpoint { transport: "stdio", address: None },
    })
}

/// Opens the diagnostics port, if the config has one. The proxy works without it, so that a second proxy with the same
/// config can run.
async fn diagnostics(config: &Config, gateway: &Arc<Gateway>, server: &Server, health: &Arc<Health>) {
    let Some(address) = &config.telemetry.metrics else { return };
    match DiagnosticsPort::bind(address, gateway, server, health).await {
        Ok(port) => {
            if let Ok(address) = port.address() {
                logging::status(&format!("metrics on http://{address}/metrics"));
            }
            tokio::spawn(port.serve());
        }
        Err(error) => {
            tracing::warn!(%error, "cannot listen on `{address}` (`telemetry.metrics`): continuing without metrics");
        }
    }
}

/// Reports an error of the first script run, even if the client disconnected before it could see the error.
async fn first_run(gateway: &Gateway) -> Result<(), CommandFailure> {
    match tokio::time::timeout(FIRST_RUN_TIMEOUT, gateway.shared()).await {
        Ok(Err(error)) => Err(CommandFailure::from(error.as_ref())),
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// Completes only with a fatal error: the script cannot run, or a required server is not available.
async fn fatal_error(gateway: &Gateway, started: Instant) -> CommandFailure {
    let first = async {
        match gateway.shared().await {
            Ok(_) => {
                gateway.first_lists().await;
                print_summary(gateway);
                gateway.servers_settled().await;
                print_servers(gateway, started);
                std::future::pending().await
            }
            Err(error) => CommandFailure::from(error.as_ref()),
        }
    };
    let required = async {
        match gateway.required_servers().await {
            Ok(()) => std::future::pending().await,
            Err(diagnostic) => CommandFailure::failed(diagnostic),
        }
    };
    tokio::select! {
        failure = first => failure,
        failure = required => failure,
    }
}

async fn bind(config: &Config, address: Option<&str>, insecure: bool) -> Result<Listener, CommandFailure> {
    let address = &with_host(address.unwrap_or(&config.serve.http));
    let cap = usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX);
    let bound = Listener::bind(address, &config.serve.path, &config.serve.allowed_origins, cap).await;
    let listener = bound.map_err(|error| {
        let message = format!("cannot listen on `{address}`: {error}");
        match error.kind() {
            std::io::ErrorKind::AddrInUse => CommandFailure::usage_with_hint(
                message,
                "another program is listening there; `proxy status` shows whether it is a proxy, and `--http` sets another port",
            ),
            _ => CommandFailure::usage(message),
        }
    })?;
    let actual: SocketAddr = listener.address()?;
    if !actual.ip().is_loopback() && !config.auth.issuers.is_empty() && config.serve.public_url.is_none() {
        let diagnostic = Diagnostic::error("`auth.issuers` needs `serve.publicUrl`: tokens are checked against it")
            .hint("set it to the URL that clients use, such as `https://mcp.example.com/mcp`");
        return Err(diagnostic.into());
    }
    if !actual.ip().is_loopback() && config.auth.is_empty() && !insecure {
        let diagnostic = Diagnostic::error(format!("`{address}` is reachable from other machines without authentication"))
            .hint("set `auth.tokens` or `auth.issuers` in the config, listen on 127.0.0.1, or pass --insecure if a reverse proxy authenticates clients");
        return Err(diagnostic.into());
    }
    Ok(listener)
}

/// Expands a bare port to a loopback address.
fn with_host(address: &str) -> String {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    }
}

/// Completes on a shutdown signal on stdio; over HTTP, `serve_http` handles the signal.
async fn stdio_shutdown(stdio: bool) -> Result<(), CommandFailure> {
    if stdio {
        shutdown_signal().await;
        return Ok(());
    }
    std::future::pending().await
}
