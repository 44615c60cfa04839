//! A spinner on the terminal while a command waits.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::output;

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Shows a spinner on the terminal until `work` completes. Without a terminal, it shows nothing.
pub(super) async fn with<T>(label: &str, work: impl Future<Output = T>) -> T {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let label = output::one_line(label);
    let mut work = std::pin::pin!(work);
    for frame in FRAMES.iter().cycle() {
        tokio::select! {
            outcome = &mut work => {
                let _ = write!(std::io::stderr(), "\r\x1b[2K");
                return outcome;
            }
            () = tokio::time::sleep(Duration::from_millis(100)) => {
                let _ = write!(std::io::stderr(), "\r\x1b[2K{frame} {label}");
                let _ = std::io::stderr().flush();
            }
        }
    }
    work.await
}
