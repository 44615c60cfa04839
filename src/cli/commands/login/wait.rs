//! Waits until the user has agreed or refused: the browser is redirected back, or its address is pasted.

use std::io::IsTerminal;
use std::time::Duration;

use futures::future::OptionFuture;
use tokio::time::Instant;

use super::callback::{Callback, CallbackEvent, Callbacks};
use super::paste::Pasted;
use super::redirect::Redirect;
use crate::cli::commands::browser::Browser;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_base::diagnostic::Diagnostic;

/// How the answer arrived.
pub(super) enum LogInAnswer {
    Browser(Callback),
    Pasted(String),
}

impl LogInAnswer {
    pub(super) fn url(&self) -> &str {
        match self {
            LogInAnswer::Browser(callback) => &callback.url,
            LogInAnswer::Pasted(url) => url,
        }
    }
}

/// Waits for the answer to a login. Unrelated requests do not end the wait, and on a terminal neither does a wrong paste.
pub(super) async fn answer(
    redirect: &Redirect,
    callbacks: &mut Callbacks,
    browser: Option<Browser>,
    timeout: Duration,
) -> Result<LogInAnswer, CommandFailure> {
    let deadline = Instant::now() + timeout;
    let mut pasted = Pasted::follow();
    let mut said: Vec<String> = Vec::new();
    let mut browser = browser.map(|browser| Box::pin(browser.failed()));
    loop {
        tokio::select! {
            event = callbacks.next() => match event {
                CallbackEvent::Answer(callback) => return Ok(LogInAnswer::Browser(callback)),
                CallbackEvent::Refused(reason) => {
                    // A web page can repeat such a request any number of times.
                    if !said.contains(&reason) {
                        output::err(&format!("refused a browser request to the redirect URI: {reason}"));
                        said.push(reason);
                    }
                }
            },
            url = pasted.next() => match redirect.check(&url) {
                Ok(()) => return Ok(LogInAnswer::Pasted(url)),
                Err(reason) if std::io::stdin().is_terminal() => output::err(&format!("{reason}; paste the address again")),
                Err(reason) => return Err(failed(format!("the pasted address does not belong to this login: {reason}"))),
            },
            Some(reason) = OptionFuture::from(browser.as_mut()) => {
                browser = None;
                output::err(&output::one_line(&format!("cannot open a browser ({reason}): open the address yourself")));
            }
            () = tokio::time::sleep_until(deadline) => {
                let problem = Diagnostic::error(format!("no login within {}", shown(timeout)));
                return Err(CommandFailure::failed(problem.hint("run the command again; `--timeout 10m` waits longer")));
            }
        }
    }
}

fn failed(message: String) -> CommandFailure {
    CommandFailure::failed(Diagnostic::error(message))
}

fn shown(time: Duration) -> String {
    match (time.as_secs(), time.subsec_millis()) {
        (seconds, _) if seconds >= 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        (0, milliseconds) => format!("{milliseconds} ms"),
        (seconds, _) => format!("{seconds} s"),
    }
}
