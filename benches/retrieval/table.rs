//! The table, as Markdown.

use crate::metrics::Quality;
use crate::run::Measured;

pub fn print(measured: &[Measured]) {
    println!(
        "| set | tools | queries | R@1 | R@5 | R@10 | MRR | nDCG@5 | saved % | index ms | vectors s | median µs | p95 µs |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for set in measured {
        let build = set.build.as_secs_f64() * 1000.0;
        let embed = set.embed.map(|embed| format!("{:.1}", embed.as_secs_f64())).unwrap_or_default();
        let quality = if set.queries == 0 { "| | | | | ".to_owned() } else { row(&set.quality) };
        let rest = match set.queries {
            0 => format!("| | {build:.0} | {embed} | | |"),
            _ => format!(
                "| {:.2} | {build:.0} | {embed} | {} | {} |",
                set.saved,
                set.half.as_micros(),
                set.p95.as_micros()
            ),
        };
        println!("| {} | {} | {} {quality}{rest}", set.name, set.tools, set.queries);
    }
    let all: Vec<Quality> = measured.iter().filter(|set| set.queries > 0).map(|set| set.quality).collect();
    println!("| **mean of {} sets** | | {}| | | | | |", all.len(), row(&Quality::mean(&all)));
}

fn row(quality: &Quality) -> String {
    format!(
        "| {:.1} | {:.1} | {:.1} | {:.1} | {:.1} ",
        quality.recall_1, quality.recall_5, quality.recall_10, quality.first, quality.ndcg_5
    )
}
