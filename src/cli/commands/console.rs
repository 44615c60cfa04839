//! `proxy console`: serves a page that shows a running proxy, and opens it in the browser.

use std::io::BufRead;

use clap::Args;
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
    /// Process id, if several proxies are running [default: of the config that is used here]
    #[arg(long)]
    pid: Option<u32>,
    /// Port on 127.0.0.1 instead of any free one
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
    say(&format!("the console of the proxy with process id {}; Ctrl-C ends", running.pid));
    let mut browser = Some(Box::pin(open(&console, !args.no_browser)?));
    let mut enter = enter_pressed();
    loop {
        let no_browser = async {
            match browser.as_mut() {
                Some(failed) => failed.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(()),
            Some(()) = enter.recv() => browser = Some(Box::pin(open(&console, !args.no_browser)?)),
            event = console.next_event() => say(&told(&event)),
            reason = no_browser => {
                browser = None;
                say(&output::one_line(&format!("no browser was opened ({reason}): open the address yourself")));
            }
        }
    }
}

/// Prints an address, which can be opened once. Returns why it was not opened; never, if it was.
fn open(console: &Console, in_browser: bool) -> Result<impl Future<Output = String> + use<>, CommandFailure> {
    let address = console.new_address().map_err(|error| failed(&error))?;
    output::out(&address);
    say(&format!("it can be opened once, within {} s; Enter makes a new one", CODE_LIFETIME.as_secs()));
    let browser = in_browser.then(|| Browser::open(&address));
    Ok(async move {
        match browser {
            Some(browser) => browser.failed().await,
            None => std::future::pending().await,
        }
    })
}

/// Every time that the person presses Enter.
fn enter_pressed() -> mpsc::Receiver<()> {
    let (sender, pressed) = mpsc::channel(1);
    // A detached thread: the command ends while it waits for a line.
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        // A line ends with Enter; whatever else is in it has no meaning, and is not kept.
        while input.skip_until(b'\n').is_ok_and(|count| count > 0) && sender.blocking_send(()).is_ok() {}
    });
    pressed
}

fn told(event: &ConsoleEvent) -> String {
    match event {
        ConsoleEvent::Opened => "the page was opened".to_owned(),
        ConsoleEvent::Ended(pid) => {
            format!("the proxy with process id {pid} has ended; the page shows the next one with the same config")
        }
        ConsoleEvent::Found(pid) => format!("the page shows the proxy with process id {pid}"),
    }
}

/// Tells the person something that is not the result.
fn say(text: &str) {
    if !output::is_quiet() {
        output::err(text);
    }
}

fn failed(error: &ConsoleError) -> CommandFailure {
    let problem = Diagnostic::error(error.to_string());
    CommandFailure::failed(match error {
        ConsoleError::Port(..) => problem.hint("choose another port, or leave `--port` out"),
        ConsoleError::Proxy(_) | ConsoleError::Random(_) => problem,
    })
}
