//! A spinner on the terminal while a command waits.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::{output, table};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The width of a frame and the space behind it, and of the cursor.
const FRAME_WIDTH: usize = 3;

/// Shows a spinner on the terminal until `work` completes. Without a terminal, it shows nothing.
pub(super) async fn with<T>(label: &str, work: impl Future<Output = T>) -> T {
    if !std::io::stderr().is_terminal() || output::is_quiet() {
        return work.await;
    }
    // Cut to one line, because only one line is erased afterwards.
    let room = output::stderr_width().map_or(80, |width| width.saturating_sub(FRAME_WIDTH));
    let label = table::cut(&output::one_line(label), room);
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
