//! The tasks: requests of users, with the calls that fulfil them and what real servers answered.
//!
//! `tasks.json` is written by hand; `UPDATE_DOCS=1 cargo test token_tasks -- --ignored` records the answers in `recorded.json`.

use serde::Deserialize;
use serde_json::Value;

const TASKS: &str = include_str!("tasks.json");
const RECORDED: &str = include_str!("recorded.json");

#[derive(Debug, Deserialize)]
pub struct Task {
    /// What it is about, for the table.
    pub name: String,
    pub request: String,
    pub steps: Vec<Step>,
    /// The script that does all of it in code mode.
    pub script: String,
    /// What the script returned.
    #[serde(skip)]
    pub returned: String,
    pub answer: String,
}

/// A call, and the words with which its tool is looked for.
#[derive(Debug, Deserialize)]
pub struct Step {
    pub find: String,
    pub server: String,
    pub tool: String,
    pub arguments: Value,
    #[serde(skip)]
    pub result: String,
}

/// What was recorded of a task.
#[derive(Debug, Deserialize)]
struct Recorded {
    task: String,
    results: Vec<String>,
    returned: String,
}

pub fn read() -> Result<Vec<Task>, String> {
    let mut tasks: Vec<Task> = serde_json::from_str(TASKS).map_err(|error| format!("tasks.json: {error}"))?;
    let recorded: Vec<Recorded> = serde_json::from_str(RECORDED).map_err(|error| format!("recorded.json: {error}"))?;
    for task in &mut tasks {
        let of_task = recorded.iter().find(|recorded| recorded.task == task.name);
        let of_task = of_task.filter(|recorded| recorded.results.len() == task.steps.len());
        let of_task =
            of_task.ok_or_else(|| format!("recorded.json does not fit the task `{}`: record again", task.name))?;
        for (step, result) in task.steps.iter_mut().zip(&of_task.results) {
            step.result.clone_from(result);
        }
        task.returned.clone_from(&of_task.returned);
    }
    Ok(tasks)
}
