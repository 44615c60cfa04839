//! `proxy console`: serves a page that shows a running proxy, and opens it in the browser.

use std::io::BufRead;

use clap::Args;
use futures::future::OptionFuture;
use tokio::sync::mpsc;

use super::browser::Browser;
use super::instance;
use crate::cli::failure::CommandFailure;
use crate::cli::{output, setup};
use crate::console::{CODE_LIFETIME, Console, ConsoleError, ConsoleEvent};
use proxy_base::control::Instance;
use proxy_base::diagnostic::Diagnostic;

#[derive(Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// Process id, if several proxies are running [default: the proxy that serves the current config]
    #[arg(long)]
    pid: Option<u32>,
    /// Port on 127.0.0.1 [default: any free port]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Only print the address
    #[arg(long)]
    no_browser: bool,
}

pub(super) fn run(args: &ConsoleArgs) -> Result<(), CommandFailure> {
    let running = instance::one(args.pid)?;
    setup::runtime()?.block_on(serve(args, &running))
}

/// Serves until Ctrl-C.
async fn serve(args: &ConsoleArgs, running: &Instance) -> Result<(), CommandFailure> {
    let mut console =
        Console::open(args.port, running, &setup::control_folder()).await.map_err(|error| failed(&error))?;
    say(&format!("console for the proxy with process id {}; press Ctrl-C to stop", running.pid));
    let mut browser = open(&console, !args.no_browser)?.map(Box::pin);
    let mut enter = enter_pressed();
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(()),
            Some(()) = enter.recv() => browser = open(&console, !args.no_browser)?.map(Box::pin),
            event = console.next_event() => say(&told(&event)),
            Some(reason) = OptionFuture::from(browser.as_mut()) => {
                browser = None;
                say(&output::one_line(&format!("cannot open a browser ({reason}): open the address yourself")));
            }
        }
    }
}

/// Prints a one-time address and opens it. Returns [`Browser::failed`].
fn open(console: &Console, in_browser: bool) -> Result<Option<impl Future<Output = String> + use<>>, CommandFailure> {
    let address = console.new_address().map_err(|error| failed(&error))?;
    output::out(&address);
    say(&format!("the address works once, within {} s; press Enter for a new one", CODE_LIFETIME.as_secs()));
    Ok(in_browser.then(|| Browser::open(&address).failed()))
}

/// Every time that the person presses Enter.
fn enter_pressed() -> mpsc::Receiver<()> {
    let (sender, pressed) = mpsc::channel(1);
    // A detached thread: the command ends while it waits for a line.
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        // A line ends with Enter; its text has no meaning and is dropped.
        while input.skip_until(b'\n').is_ok_and(|count| count > 0) && sender.blocking_send(()).is_ok() {}
    });
    pressed
}

fn told(event: &ConsoleEvent) -> String {
    match event {
        ConsoleEvent::Opened => "the page was opened".to_owned(),
        ConsoleEvent::Ended(pid) => {
            format!("the proxy with process id {pid} has exited; the page will show the next one with the same config")
        }
        ConsoleEvent::Found(pid) => format!("the page now shows the proxy with process id {pid}"),
    }
}

/// Prints a message that is not the result.
fn say(text: &str) {
    if !output::is_quiet() {
        output::err(text);
    }
}

fn failed(error: &ConsoleError) -> CommandFailure {
    let problem = Diagnostic::error(error.to_string());
    CommandFailure::failed(match error {
        ConsoleError::Port(..) => problem.hint("choose another port, or omit `--port`"),
        ConsoleError::Proxy(_) | ConsoleError::Random(_) => problem,
    })
}
