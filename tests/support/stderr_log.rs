//! What a program wrote to stderr so far, and a way to wait for a line of it.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use tokio::sync::watch;

use super::patience::{PATIENCE, within};

#[derive(Clone, Debug)]
pub struct StderrLog {
    text: watch::Receiver<String>,
    /// How long waits for this program last.
    pub patience: Duration,
}

impl StderrLog {
    /// Reads on a thread of its own, so that the program never blocks on a full pipe whatever the test does.
    pub fn collect(stderr: impl Read + Send + 'static) -> Self {
        let (sender, text) = watch::channel(String::new());
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stderr);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                sender.send_modify(|text| text.push_str(&String::from_utf8_lossy(&line)));
                line.clear();
            }
            // What ends without the end of a line, such as a question on a terminal.
            sender.send_modify(|text| text.push_str(&String::from_utf8_lossy(&line)));
        });
        Self { text, patience: PATIENCE }
    }

    /// The log of something that has none.
    pub fn none() -> Self {
        Self { text: watch::channel(String::new()).1, patience: PATIENCE }
    }

    pub fn text(&self) -> String {
        self.text.borrow().clone()
    }

    /// All of it, once the program has ended.
    pub async fn whole(&self) -> String {
        let mut text = self.text.clone();
        let ended = async { while text.changed().await.is_ok() {} };
        within("the end of stderr", self, ended).await;
        self.text()
    }

    /// The first line that holds `part`, as soon as it is there; fails when the program ends without it.
    pub async fn line(&self, part: &str) -> String {
        let mut text = self.text.clone();
        let find = |text: &String| text.split_inclusive('\n').any(|line| line.contains(part) && line.ends_with('\n'));
        let found = within(&format!("`{part}` on stderr"), self, text.wait_for(find)).await;
        let Ok(found) = found else {
            panic!("the program ended without `{part}` on stderr\n--- stderr ---\n{}", self.text());
        };
        found.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned()
    }

    /// Waits until a text has been said so many times.
    pub async fn times(&self, part: &str, count: usize) {
        let mut text = self.text.clone();
        let said = |text: &String| text.matches(part).count() >= count;
        if within(&format!("`{part}` on stderr, {count} times"), self, text.wait_for(said)).await.is_err() {
            panic!("the program ended before that\n--- stderr ---\n{}", self.text());
        }
    }

    /// The address in the line that says where a server listens.
    pub async fn listening_url(&self) -> String {
        let line = self.line("listening on ").await;
        let (_, url) = line.split_once("listening on ").expect("the line was found by this text");
        url.split_whitespace().next().expect("an address follows").to_owned()
    }
}
