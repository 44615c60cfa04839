//! Lines on standard input: the user pastes the address that a browser on another machine could not open.

use std::io::{BufRead, Read};

use tokio::sync::mpsc;

/// The maximum length of a line.
const MAX_LINE: u64 = 64 << 10;

/// The pasted lines.
pub(super) struct Pasted {
    lines: mpsc::Receiver<String>,
}

impl Pasted {
    /// Reads standard input from now on.
    pub(super) fn follow() -> Self {
        let (sender, lines) = mpsc::channel(1);
        // A detached thread: the command may end while it waits for a line.
        std::thread::spawn(move || read(std::io::stdin().lock(), &sender));
        Pasted { lines }
    }

    /// The next line that is not empty. Never completes after the end of the input: the browser may still come back.
    pub(super) async fn next(&mut self) -> String {
        match self.lines.recv().await {
            Some(line) => line,
            None => std::future::pending().await,
        }
    }
}

fn read(mut input: impl BufRead, sender: &mpsc::Sender<String>) {
    let mut line = String::new();
    loop {
        line.clear();
        match input.by_ref().take(MAX_LINE).read_line(&mut line) {
            Ok(count) if count > 0 => {}
            _ => return,
        }
        let text = line.trim();
        if !text.is_empty() && sender.blocking_send(text.to_owned()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_are_skipped_and_a_line_without_end_is_taken_in_parts() {
        let (sender, mut lines) = mpsc::channel(8);
        let long = "x".repeat(usize::try_from(MAX_LINE).unwrap());
        read(format!("\n  http://a \n\n{long}y").as_bytes(), &sender);
        drop(sender);
        let mut read = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            read.push(line);
        }
        assert_eq!(read, ["http://a".to_owned(), long, "y".to_owned()]);
    }
}
