//! The tasks: requests of users, with the calls that fulfil them and their results.

use serde::Deserialize;
use serde_json::Value;

const TASKS: &str = include_str!("tasks.json");

#[derive(Debug, Deserialize)]
pub struct Task {
    /// What it is about, for the table.
    pub name: String,
    pub request: String,
    pub steps: Vec<Step>,
    /// The script that does all of it in code mode.
    pub script: String,
    /// What the script returns.
    pub returned: Text,
    pub answer: String,
}

/// A call, and the words with which its tool is looked for.
#[derive(Debug, Deserialize)]
pub struct Step {
    pub find: String,
    pub server: String,
    pub tool: String,
    pub arguments: Value,
    pub result: Text,
}

/// A text, repeated with a counter in place of `{n}`.
#[derive(Debug, Deserialize)]
pub struct Text {
    text: String,
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

impl Text {
    pub fn whole(&self) -> String {
        (1..=self.times).map(|number| self.text.replace("{n}", &number.to_string())).collect()
    }
}

pub fn read() -> Result<Vec<Task>, String> {
    serde_json::from_str(TASKS).map_err(|error| format!("tasks.json: {error}"))
}
