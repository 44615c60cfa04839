//! The Python SDK's client asks and is asked. It is a program of its own, which says of every call what became of it.

use std::process::Command;

use serde_json::{Map, Value, json};

use super::{Asker, KINDS, Kind, Outcome, answered, askers, declined, not_declared};
use crate::support::finished::Finished;
use crate::support::real_servers;

/// A command as the SDK wants it.
fn described(command: &Command) -> Value {
    let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
    let environment: Map<String, Value> =
        command.get_envs().filter_map(|(name, value)| Some((text(name), text(value?).into()))).collect();
    json!({
        "command": text(command.get_program()),
        "args": command.get_args().map(text).collect::<Vec<_>>(),
        "env": environment,
        "cwd": command.get_current_dir(),
    })
}

/// All calls of one run, each with the mood it was made in.
async fn run(asker: &Asker, mode: &str, revision: &str) -> Option<Vec<(String, &'static Kind, Outcome)>> {
    let mut client = real_servers::python_asking("client.py")?;
    client.arg(mode).arg(described(&asker.world.serve_command()).to_string());
    let finished = Finished::run(client).await.expect(0);
    let calls = finished.stdout.lines().map(|line| {
        let call: Value = serde_json::from_str(line).unwrap_or_else(|problem| panic!("{problem}: {line}"));
        assert_eq!(call["revision"], revision, "{line}");
        let kind = KINDS.iter().find(|kind| call["tool"] == kind.tool).expect("a known tool");
        let asked = call["asked"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let outcome = Outcome {
            asked: asked.map(str::to_owned).collect(),
            text: call["outcome"].as_str().unwrap_or_default().to_owned(),
            failed: call["failed"] == true,
        };
        (call["mood"].as_str().unwrap_or_default().to_owned(), kind, outcome)
    });
    Some(calls.collect())
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn what_servers_ask_reaches_the_person_at_the_python_sdk_and_the_answer_the_server() {
    let (askers, _program) = askers().await;
    for asker in askers {
        for (mode, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
            let cell = format!("python, {revision}, before {}, stateless {}", asker.name, asker.stateless);
            let Some(calls) = run(&asker, mode, revision).await else { return };
            assert_eq!(calls.len(), 10, "{cell}: four kinds answered, two declined, four not declared");
            for (mood, kind, outcome) in &calls {
                match mood.as_str() {
                    "answers" => answered(&cell, kind, outcome),
                    "declines" => declined(&cell, kind, outcome),
                    _ => not_declared(&cell, kind, outcome),
                }
            }
        }
    }
}
