//! `proxy repl`: a Starlark prompt with live servers.

mod lines;
mod running_server;
mod terminal;

use std::io::IsTerminal;
use std::sync::Arc;

use crate::cli::failure::CommandFailure;
use crate::cli::query::{self, ActingUser, Query, UserArgs};
use crate::cli::setup::{self, LoadedConfig, SourceArgs};
use crate::cli::{output, spinner};
use clap::Args;
use proxy_author::prompt::{Interrupt, PromptContext, run_prompt};
use proxy_engine::gateway::{self, Gateway};
use running_server::RunningServer;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Debug, Args)]
pub(crate) struct ReplArgs {
    #[command(flatten)]
    user: UserArgs,
    #[command(flatten)]
    source: SourceArgs,
}

pub(super) fn run(args: &ReplArgs) -> Result<(), CommandFailure> {
    let loaded = args.source.load()?;
    let user = args.user.user(&loaded.config)?;
    let runtime = setup::runtime()?;
    let outcome = runtime.block_on(start_prompt(&loaded, user));
    // A thread may still block in a read of standard input; do not wait for it.
    runtime.shutdown_background();
    outcome
}

async fn start_prompt(loaded: &LoadedConfig, user: ActingUser) -> Result<(), CommandFailure> {
    let options = setup::options(loaded.bundled)?;
    let running = query::running_servers(&Query { user: user.clone(), ..Query::of_config(loaded) }).await;
    let mut config = loaded.config.clone();
    if let Some((proxy, _)) = &running {
        output::status_line(&format!("using the servers of the running `proxy serve`, process {}", proxy.pid()));
        config.servers.values_mut().for_each(|server| server.disabled = true);
    }
    let gateway = Arc::new(Gateway::start(&config, &options).map_err(CommandFailure::config)?);
    if let Some((proxy, report)) = &running {
        gateway.use_servers(RunningServer::all(&loaded.config, proxy, report));
    }
    let principal = user.principal;
    if let Some(audit) = &loaded.config.audit {
        gateway.start_audit(audit, false).map_err(CommandFailure::failed)?;
    }
    gateway.introduce(crate::cli::terminal::client());
    spinner::with("starting the servers", gateway.servers_settled()).await;
    setup::report_servers(&gateway);
    crate::cli::output::diagnostics(&gateway.extension_problems());
    let script_source = gateway::script_source(&loaded.config, None)?;
    let interrupt = Interrupt::default();
    let setting = PromptContext {
        gateway: Arc::clone(&gateway),
        settings: script_source.settings,
        root: script_source.root,
        principal,
        uid: Some(rustix::process::getuid().as_raw()),
        interrupt: interrupt.clone(),
        print: output::data,
        runtime: tokio::runtime::Handle::current(),
    };
    let talking = tokio::task::spawn_blocking(move || {
        if std::io::stdin().is_terminal() {
            let mut terminal = terminal::TerminalInput::open(Arc::clone(&setting.gateway), setting.root.clone())?;
            run_prompt(&setting, &mut terminal).map_err(|failure| CommandFailure::failed(*failure.diagnostic))?;
            terminal.close();
            return Ok(());
        }
        let mut lines = lines::PipedInput::default();
        run_prompt(&setting, &mut lines).map_err(|failure| CommandFailure::failed(*failure.diagnostic))?;
        if lines.failed { Err(CommandFailure::already_reported(1)) } else { Ok(()) }
    });
    let mut talking = std::pin::pin!(talking);
    let mut interrupts = signal(SignalKind::interrupt())?;
    let outcome = loop {
        tokio::select! {
            outcome = &mut talking => break outcome.unwrap_or_else(|error| Err(CommandFailure::usage(error.to_string()))),
            _ = interrupts.recv() => interrupt.stop(),
        }
    };
    gateway.stop().await;
    outcome
}
