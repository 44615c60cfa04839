//! `proxy serve`: front the configured servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::setup::{self, Loaded, Source};
use super::{output, table};
use crate::author::check::unpublished;
use crate::author::published::Record;
use crate::config::Config;
use crate::control::Control;
use crate::diagnostic::Diagnostic;
use crate::gateway::{Gateway, Options, Reread};
use crate::model::{ItemKind, Status};
use crate::server::{HttpFront, Identity, Server, serve_stdio};
use crate::wire::http::Listener;
use crate::wire::standard_streams;

/// How long running replies get to finish when the proxy is asked to end.
const DRAIN: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Serve on HTTP instead of stdio, at this address (default: the config's `serve.http`)
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    http: Option<Option<String>>,
    /// Allow an address that others can reach without any authentication
    #[arg(long, requires = "http")]
    insecure: bool,
}

pub(super) fn run(arguments: Arguments) -> Result<(), Failure> {
    let loaded = arguments.source.load()?;
    let options = setup::options(loaded.bundled)?;
    let runtime = setup::runtime()?;
    let outcome = runtime.block_on(serve(arguments, loaded, options));
    // A read of standard input may still be waiting on a thread of its own; nobody waits for it.
    runtime.shutdown_background();
    outcome
}

async fn serve(arguments: Arguments, loaded: Loaded, options: Options) -> Result<(), Failure> {
    let config = loaded.config;
    let listener = match &arguments.http {
        Some(address) => Some(bind(&config, address.as_deref(), arguments.insecure).await?),
        None => None,
    };
    if loaded.bundled {
        output::err(
            "no config file found: serving the bundled extensions. `proxy init` writes a proxy.yaml for your own \
             servers,\n`proxy init --from FILE` imports the one of your client.",
        );
    }
    let gateway = Arc::new(Gateway::start(&config, &options).map_err(Failure::config)?);
    let source = arguments.source;
    let reread: Reread =
        Arc::new(move || source.load().map(|loaded| loaded.config).map_err(|failure| failure.into_parts().1));
    tokio::spawn(Arc::clone(&gateway).follow_files(config.clone(), reread));
    let record = Record::of(&config, options.cache_folder.as_deref());
    if let Some(record) = record.clone() {
        tokio::spawn(record.follow(gateway.watch()));
    }
    let no_keys = |error: getrandom::Error| Failure::failed(Diagnostic::error(format!("no keys can be made: {error}")));
    let server = Server::new(Arc::clone(&gateway), &config.serve.state_keys).map_err(no_keys)?;
    let _control = control(&gateway, &server);
    let stdio = listener.is_none();
    let front = async {
        match listener {
            Some(listener) => serve_http(&config, server, listener).await,
            None => {
                let (input, output) = standard_streams();
                let principal = Identity::local_user(&options.variables);
                let cap = usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX);
                serve_stdio(server, principal, input, output, cap).await;
                first_run(&gateway).await
            }
        }
    };
    let outcome = tokio::select! {
        outcome = front => outcome,
        failure = watch(&gateway) => Err(failure),
        outcome = ended_on_stdio(stdio) => outcome,
    };
    // The last one may be newer than what is on disk.
    if let (Some(record), Some(surface)) = (record, gateway.watch().borrow().surface.clone()) {
        record.save(&surface);
    }
    gateway.stop().await;
    outcome
}

/// The way for `proxy status` to ask. Without it everything else works.
fn control(gateway: &Arc<Gateway>, server: &Server) -> Option<Control> {
    let (gateway, server) = (Arc::clone(gateway), server.clone());
    let answer = Arc::new(move || {
        let mut status = gateway.status();
        status["clients"] = server.clients().into();
        status
    });
    let opened = Control::listen(&setup::control_folder(), answer);
    opened
        .inspect_err(|error| tracing::warn!(%error, "no control socket: `proxy status` cannot ask this instance"))
        .ok()
}

/// A client that left at once has not seen whether the script works; whoever started us wants to know.
async fn first_run(gateway: &Gateway) -> Result<(), Failure> {
    match tokio::time::timeout(DRAIN, gateway.shared()).await {
        Ok(Err(error)) => Err(Failure::from(error.as_ref())),
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// Ends only with a reason to give up: the script cannot run, or a required server is not there.
async fn watch(gateway: &Gateway) -> Failure {
    let first = async {
        match gateway.shared().await {
            Ok(_) => {
                summary(gateway);
                std::future::pending().await
            }
            Err(error) => Failure::from(error.as_ref()),
        }
    };
    let required = async {
        match gateway.required_servers().await {
            Ok(()) => std::future::pending().await,
            Err(diagnostic) => Failure::failed(diagnostic),
        }
    };
    tokio::select! {
        failure = first => failure,
        failure = required => failure,
    }
}

/// What is served, for the person who started it.
fn summary(gateway: &Gateway) {
    let snapshot = gateway.snapshot();
    let surface = gateway.watch().borrow().surface.clone();
    let tools = surface.as_ref().map_or(0, |surface| surface.listed(ItemKind::Tool));
    let up = snapshot.backends.iter().filter(|backend| backend.status == Status::Ready).count();
    let all = snapshot.backends.len();
    let servers = if up == all {
        table::count(all, "server")
    } else {
        format!("{} ({up} up so far)", table::count(all, "server"))
    };
    output::err(&format!("ready: {} of {servers}", table::count(tools, "tool")));
    setup::report_servers(gateway);
    if let Some(surface) = surface {
        output::diagnostics(&unpublished(&surface, &snapshot));
    }
}

async fn bind(config: &Config, address: Option<&str>, insecure: bool) -> Result<Listener, Failure> {
    let address = &with_host(address.unwrap_or(&config.serve.http));
    let cap = usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX);
    let bound = Listener::bind(address, &config.serve.path, &config.serve.allowed_origins, cap).await;
    let listener = bound.map_err(|error| Failure::usage(format!("cannot listen on `{address}`: {error}")))?;
    let actual: SocketAddr = listener.address()?;
    if !actual.ip().is_loopback() && config.tokens.is_empty() && !insecure {
        let diagnostic = Diagnostic::error(format!("`{address}` can be reached by others, and nobody has to authenticate"))
            .hint("give `auth.tokens` in the config, listen on 127.0.0.1, or say --insecure if something in front protects it");
        return Err(diagnostic.into());
    }
    Ok(listener)
}

/// A port alone is one of this machine only.
fn with_host(address: &str) -> String {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    }
}

async fn serve_http(config: &Config, server: Server, listener: Listener) -> Result<(), Failure> {
    output::err(&format!("listening on http://{}{}", listener.address()?, config.serve.path));
    let front = HttpFront::new(server, &config.serve);
    let stop = CancellationToken::new();
    let mut serving = std::pin::pin!(listener.serve(Arc::clone(&front), stop.clone()));
    tokio::select! {
        () = &mut serving => return Ok(()),
        () = asked_to_end() => {}
    }
    stop.cancel();
    front.begin_end();
    if tokio::time::timeout(DRAIN, &mut serving).await.is_err() {
        tracing::warn!("some replies were not finished in time");
    }
    front.end_sessions().await;
    Ok(())
}

async fn asked_to_end() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// On stdio a signal ends the proxy as the end of its input does.
async fn ended_on_stdio(stdio: bool) -> Result<(), Failure> {
    if stdio {
        asked_to_end().await;
        return Ok(());
    }
    std::future::pending().await
}
