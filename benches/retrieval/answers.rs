//! What an answer of `find_tool` costs a model in its two forms, with the defaults of `optimizer`.

use proxy_builtins::compact;
use proxy_config::Optimizer;
use serde_json::Value;

use crate::answer;
use crate::data::Set;
use crate::run::{Measured, near};

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
    /// `found` has the positions of the tools that each query finds.
    fn of(set: &Set, found: &[Vec<usize>]) -> Self {
        let defaults = Optimizer::default();
        let mut answers = Answers::default();
        for tools in found.iter().filter(|tools| !tools.is_empty()) {
            let tools = &tools[..tools.len().min(defaults.max_tools_to_return)];
            answers.add(set, tools, defaults.max_answer_tokens);
        }
        answers.full.sort_unstable();
        answers.compact.sort_unstable();
        answers
    }

    fn add(&mut self, set: &Set, tools: &[usize], max_tokens: usize) {
        let found: Vec<_> = tools.iter().map(|tool| set.tools[*tool].definition.as_ref()).collect();
        let full = answer::full(&found);
        let compacted = answer::compacted(&found, max_tokens);
        self.full.push(answer::tokens(&full));
        self.compact.push(answer::tokens(&compacted));
        if names(&full) != names(&compacted) {
            self.differing += 1;
        }
        if compacted.get("more").is_some() {
            self.with_more += 1;
        }
        let shown = compacted["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.tools += shown.len();
        self.lossy += shown.iter().filter(|tool| tool["lossy"] == true).count();
        self.omitting += compact(found.into_iter(), None).iter().filter(|tool| tool.is_lossy).count();
    }
}

fn names(answer: &Value) -> Vec<&Value> {
    answer["tools"].as_array().into_iter().flatten().map(|tool| &tool["name"]).collect()
}

/// Prints the table. What shares no word with a query is in an answer if its cosine is at least `least`.
pub fn print(sets: &[&Set], measured: &[Measured], least: f32) {
    println!(
        "\n| set | answers | full: median | p95 | max | compact: median | p95 | max | with `more` | lossy % | lossy % without a limit | other names or order |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut all = Answers::default();
    for (set, measured) in sets.iter().zip(measured) {
        let found: Vec<Vec<usize>> = measured.found.iter().map(|hits| near(hits, least)).collect();
        let answers = Answers::of(set, &found);
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
    let at = |sorted: &[usize], share: usize| {
        sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1))).copied()
    };
    let three =
        |sorted: &[usize]| [50, 95, 100].map(|share| at(sorted, share).unwrap_or_default().to_string()).join(" | ");
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
