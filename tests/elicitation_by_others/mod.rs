//! Servers that ask in the middle of a call, in all four combinations of eras, with other implementations on both sides:
//! rmcp and the Python SDK, each as client and as server.

mod python;
mod rmcp;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::program::Program;
use crate::support::programs::rmcp_server;
use crate::support::proxy::Proxy;
use crate::support::real_servers;

/// A server that asks, in one of the eras.
struct Asker {
    name: &'static str,
    stateless: bool,
    world: Proxy,
}

/// Both servers in both eras, and the program that some of them are; without Python only those of rmcp.
async fn askers() -> (Vec<Asker>, Option<Program>) {
    let mut askers = vec![
        asker("rmcp", false, |keys| Config::new().server_with("asking", &rmcp_server(["--asking", "--legacy"]), keys)),
        asker("rmcp", true, |keys| Config::new().server_with("asking", &rmcp_server(["--asking"]), keys)),
    ];
    let Some(mut python) = real_servers::python_asking("server.py") else { return (askers, None) };
    python.arg("127.0.0.1:0");
    let (program, url) = Program::start_patiently(python).await;
    for stateless in [false, true] {
        askers.push(asker("python", stateless, |keys| Config::new().remote_with("asking", &url, keys)));
    }
    (askers, Some(program))
}

fn asker(name: &'static str, stateless: bool, config: impl FnOnce(Value) -> Config) -> Asker {
    let era = if stateless { "2026-07-28" } else { "2025-11-25" };
    // Folders are one client's own: a session-based server hears of them on a connection of that client.
    let config = config(json!({"protocol": era, "scope": "session"}));
    let world = Proxy::new(&config.section("sessionInit: {preset: passthrough}"));
    // A first look waits for the server; later starts then list its tools at once.
    let looked = world.command(["list-tools"]).output().expect("the proxy runs");
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    Asker { name, stateless, world }
}

/// A tool that asks, what its client is asked, what the answer holds, and the capability it takes.
struct Kind {
    tool: &'static str,
    question: &'static str,
    answer: &'static str,
    capability: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind { tool: "ask_form", question: "form Which colour?", answer: "teal", capability: "elicitation" },
    Kind { tool: "ask_url", question: "url https://example.com/sign-in", answer: "accept", capability: "elicitation" },
    Kind { tool: "ask_model", question: "model Say a word.", answer: "a fine word", capability: "sampling" },
    Kind { tool: "ask_folders", question: "folders", answer: "file:///home/ann", capability: "roots" },
];

/// What became of a call.
#[derive(Debug)]
struct Outcome {
    asked: Vec<String>,
    /// The text of the result, or the error.
    text: String,
    failed: bool,
}

/// The question reached the person, the answer the server, and the result the client.
fn answered(cell: &str, kind: &Kind, outcome: &Outcome) {
    assert_eq!(outcome.asked, [kind.question], "{cell}, {}: {outcome:?}", kind.tool);
    assert!(!outcome.failed && outcome.text.contains(kind.answer), "{cell}, {}: {outcome:?}", kind.tool);
}

/// That somebody does not want to is an answer, too.
fn declined(cell: &str, kind: &Kind, outcome: &Outcome) {
    assert_eq!(outcome.asked, [kind.question], "{cell}, {}: {outcome:?}", kind.tool);
    if kind.capability == "elicitation" {
        assert!(!outcome.failed && outcome.text.contains("decline"), "{cell}, {}: {outcome:?}", kind.tool);
    } else {
        assert!(outcome.failed && outcome.text.contains("User rejected"), "{cell}, {}: {outcome:?}", kind.tool);
    }
}

/// Nobody was asked, and the caller hears what it takes.
fn not_declared(cell: &str, kind: &Kind, outcome: &Outcome) {
    assert_eq!(outcome.asked, [""; 0], "{cell}, {}", kind.tool);
    assert!(outcome.failed && outcome.text.contains(kind.capability), "{cell}, {}: {outcome:?}", kind.tool);
}
