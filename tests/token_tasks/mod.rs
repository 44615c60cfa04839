//! The tasks by which `benches/tokens` measures what tools cost. Their results are what real servers answer, and the scripts
//! of code mode were run: `UPDATE_DOCS=1 cargo test token_tasks -- --ignored` records both in `benches/tokens/recorded.json`.

mod world;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use world::{World, published};

const RECORDED: &str = "recorded.json";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/tokens").join(name)
}

fn tasks() -> Vec<Value> {
    let text = fs::read_to_string(file("tasks.json")).expect("the tasks can be read");
    serde_json::from_str(&text).expect("the tasks are a list")
}

fn steps(task: &Value) -> &[Value] {
    task["steps"].as_array().expect("a task has steps")
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}"))
}

fn published_tool(step: &Value) -> String {
    published(text(step, "server"), text(step, "tool"))
}

/// The results of all calls and scripts, in two worlds that are alike. `None` where the servers cannot be installed.
async fn record(tasks: &[Value]) -> Option<Value> {
    const SCRIPTS: &str = "execute_tool_script";
    let mut tools: Vec<String> = tasks.iter().flat_map(steps).map(published_tool).collect();
    tools.push(SCRIPTS.to_owned());
    let mut of_calls = World::start(&tools).await?;
    let mut of_scripts = World::start(&tools).await?;
    let mut recorded = Vec::new();
    for task in tasks {
        let mut results = Vec::new();
        for step in steps(task) {
            results.push(of_calls.call(&published_tool(step), &step["arguments"]).await);
        }
        let returned = of_scripts.call(SCRIPTS, &json!({"script": task["script"]})).await;
        recorded.push(json!({"task": task["name"], "results": results, "returned": returned}));
    }
    Some(Value::from(recorded))
}

/// A text without what depends on the day: numbers and names of days.
fn without_dates(text: &str) -> String {
    let digits = |character: char| if character.is_ascii_digit() { '0' } else { character };
    let text: String = text.chars().map(digits).collect();
    let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    days.iter().fold(text, |text, day| text.replace(day, "a day"))
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn results_by_which_tokens_are_measured_are_what_real_servers_answer() {
    let Some(now) = record(&tasks()).await else { return };
    let now = serde_json::to_string_pretty(&now).expect("texts are JSON") + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(file(RECORDED), now).expect("the results can be written");
        return;
    }
    let recorded = fs::read_to_string(file(RECORDED)).expect("results are recorded");
    assert_eq!(
        without_dates(&recorded),
        without_dates(&now),
        "{RECORDED} is old: run `UPDATE_DOCS=1 cargo test token_tasks -- --ignored`, then `benches/tokens/run`"
    );
}

#[test]
fn the_page_about_tokens_has_the_tasks_that_are_measured() {
    let page = include_str!("../../docs/internals/tokens.md");
    let recorded = fs::read_to_string(file(RECORDED)).expect("results are recorded");
    let recorded: Vec<Value> = serde_json::from_str(&recorded).expect("the results are a list");
    let tasks = tasks();
    let names = |list: &[Value]| list.iter().map(|task| text(task, "task").to_owned()).collect::<Vec<_>>();
    let wanted: Vec<&str> = tasks.iter().map(|task| text(task, "name")).collect();
    assert_eq!(names(&recorded), wanted);
    for (task, recorded) in tasks.iter().zip(&recorded) {
        let row = format!("| {} | {} | ", text(task, "name"), steps(task).len());
        assert!(page.contains(&row), "docs/internals/tokens.md has no `{row}`: run `benches/tokens/run`");
        assert_eq!(recorded["results"].as_array().map(Vec::len), Some(steps(task).len()), "{row}");
    }
}
