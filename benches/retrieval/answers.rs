//! What an answer of `find_tool` costs a model in its two forms, with the defaults of `optimizer`.

use std::sync::LazyLock;

use proxy_builtins::{CompactTool, compact};
use proxy_config::Optimizer;
use proxy_search::{Hit, estimate_tokens};
use serde_json::{Value, json};

use crate::data::Set;
use crate::run::Measured;

/// The library of the presets, for the text of the hint.
const LIBRARY: &str = include_str!("../../presets/lib@1.star");

static HINT: LazyLock<Value> = LazyLock::new(|| {
    let text = LIBRARY.lines().find_map(|line| line.strip_prefix("_HINT = ")).expect("the library has a hint");
    serde_json::from_str(text).expect("the hint is a plain string")
});

/// The answers to the queries of one set.
#[derive(Default)]
struct Answers {
    full: Vec<usize>,
    compact: Vec<usize>,
    /// The number of answers that leave tools out.
    with_more: usize,
    tools: usize,
    lossy: usize,
    /// The tools that are lossy before anything is left out for want of room.
    omitting: usize,
    /// The number of queries for which the forms have other names or another order.
    differing: usize,
}

impl Answers {
    fn of(set: &Set, found: &[Vec<Hit>]) -> Self {
        let defaults = Optimizer::default();
        let mut answers = Answers::default();
        for hits in found.iter().filter(|hits| !hits.is_empty()) {
            let hits = &hits[..hits.len().min(defaults.max_tools_to_return)];
            answers.add(set, hits, defaults.max_answer_tokens);
        }
        answers.full.sort_unstable();
        answers.compact.sort_unstable();
        answers
    }

    fn add(&mut self, set: &Set, hits: &[Hit], max_tokens: usize) {
        let definitions = || hits.iter().map(|hit| set.tools[hit.tool].definition.as_ref());
        let full: Vec<Value> = definitions()
            .map(|definition| {
                json!({"name": definition.key(), "description": definition.text("description"),
                    "inputSchema": definition.member("inputSchema")})
            })
            .collect();
        self.full.push(tokens(&json!({"tools": full, "token_metrics": metrics()})));

        let frame = json!({"tools": [], "more": hits.len(), "hint": *HINT, "token_metrics": metrics()});
        let shown = compact(definitions(), Some(max_tokens.saturating_sub(tokens(&frame))));
        let told: Vec<Value> = shown.iter().map(CompactTool::to_json).collect();
        let mut answer = json!({"tools": told, "hint": *HINT, "token_metrics": metrics()});
        if shown.len() < hits.len() {
            answer["more"] = json!(hits.len() - shown.len());
            self.with_more += 1;
        }
        self.compact.push(tokens(&answer));
        let names = |tools: &[Value]| tools.iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>();
        if names(&full) != names(&told) {
            self.differing += 1;
        }
        self.tools += shown.len();
        self.lossy += shown.iter().filter(|tool| tool.is_lossy).count();
        self.omitting += compact(definitions(), None).iter().filter(|tool| tool.is_lossy).count();
    }
}

/// Figures as long as real ones.
fn metrics() -> Value {
    json!({"baseline_tokens": 123_456, "returned_tokens": 1_234, "savings_percent": 98.7, "estimated": true})
}

fn tokens(value: &Value) -> usize {
    estimate_tokens(&value.to_string())
}

pub fn print(sets: &[&Set], measured: &[Measured]) {
    println!(
        "\n| set | answers | full: median | p95 | max | compact: median | p95 | max | with `more` | lossy % | lossy % without a limit | other names or order |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut all = Answers::default();
    for (set, measured) in sets.iter().zip(measured) {
        let answers = Answers::of(set, &measured.found);
        println!("| {} {}", set.name, row(&answers));
        all.full.extend(&answers.full);
        all.compact.extend(&answers.compact);
        all.with_more += answers.with_more;
        all.tools += answers.tools;
        all.lossy += answers.lossy;
        all.omitting += answers.omitting;
        all.differing += answers.differing;
    }
    all.full.sort_unstable();
    all.compact.sort_unstable();
    println!("| **all** {}", row(&all));
}

fn row(answers: &Answers) -> String {
    let at = |sorted: &[usize], share: usize| sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1))).copied();
    let three = |sorted: &[usize]| {
        [50, 95, 100].map(|share| at(sorted, share).unwrap_or_default().to_string()).join(" | ")
    };
    let share = |lossy: usize| 100.0 * lossy as f64 / answers.tools.max(1) as f64;
    format!(
        "| {} | {} | {} | {} | {:.1} | {:.1} | {} |",
        answers.full.len(),
        three(&answers.full),
        three(&answers.compact),
        answers.with_more,
        share(answers.lossy),
        share(answers.omitting),
        answers.differing
    )
}
