//! The tables, as Markdown.

use std::fmt::Write as _;

use proxy_base::grouped_digits::grouped;

use crate::modes::Measured;
use crate::tasks::Task;
use crate::tokenizer::{Comparison, error};

/// All tasks together.
pub fn of_modes(measured: &[Measured]) -> String {
    let mut table = "| | tools listed | definitions, in every turn | turns | input tokens | of all tools listed |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    let all = measured.first().map_or(0, Measured::input);
    for measured in measured {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {:.1} % |",
            measured.mode.as_str(),
            measured.listed.len(),
            number(measured.definitions),
            measured.turns(),
            number(measured.input()),
            100.0 * measured.input() as f64 / all.max(1) as f64
        );
    }
    table
}

/// The input tokens of each task.
pub fn of_tasks(tasks: &[Task], measured: &[Measured]) -> String {
    let mut table = "\n| task | calls |".to_owned();
    for measured in measured {
        let _ = write!(table, " {} |", measured.mode.as_str());
    }
    table.push_str("\n|---|---|");
    table.push_str(&"---|".repeat(measured.len()));
    for (position, task) in tasks.iter().enumerate() {
        let _ = write!(table, "\n| {} | {} |", task.name, task.steps.len());
        for measured in measured {
            let _ = write!(table, " {} |", number(measured.conversations[position].input));
        }
    }
    table.push('\n');
    table
}

/// The error of the estimate.
pub fn of_errors(comparisons: &[Comparison]) -> String {
    let mut table = "\n| texts | encoding | counted | estimated | error | median error of one text |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    for comparison in comparisons {
        let _ = writeln!(
            table,
            "| {} | `{}` | {} | {} | {:+.1} % | {:.1} % |",
            comparison.texts,
            comparison.encoding,
            number(comparison.counted),
            number(comparison.estimated),
            error(comparison.counted, comparison.estimated),
            comparison.single
        );
    }
    table
}

fn number(tokens: usize) -> String {
    grouped(tokens as u64)
}
