//! How well and how fast tools are found: `cargo bench --bench retrieval -- FOLDER [--words] [--cache=FOLDER]`.
//!
//! Every folder below FOLDER with a `tools.jsonl` (`{server, name, description, inputSchema}`) is a set; its queries are
//! in `queries*.jsonl` (`{query_id, query, gold: ["server/name"], gold_groups}`; a group lists tools that serve equally).
//! Prints a table by words alone, the tokens of `find_tool`'s answers and, unless `--words` is given, one with the built-in model. Reading all tools takes
//! minutes; `--cache` keeps the vectors for the next time.

#![expect(unreachable_pub, reason = "a test program exports nothing; `pub` separates what its modules share")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

#[path = "../answer.rs"]
mod answer;
mod answers;
mod data;
mod metrics;
mod run;
mod table;
mod thresholds;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use proxy_search::semantic::{BuiltinEmbedder, Fusion, Nearness, Vector};
use proxy_search::{EmbedError, Embedder};

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let (options, folders): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with('-'));
    if folders.is_empty() {
        eprintln!("which data? cargo bench --bench retrieval -- FOLDER");
        // Not a failure: `cargo bench` without arguments runs this program too.
        return ExitCode::SUCCESS;
    }
    match measure(&folders, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(folders: &[String], options: &[String]) -> Result<(), String> {
    let mut sets = Vec::new();
    for folder in folders {
        sets.extend(data::sets(folder.as_ref()).map_err(|error| format!("{folder}: {error}"))?);
    }
    println!("By words alone:\n");
    let by_words: Vec<_> = sets.iter().map(|set| run::measure(set, None, -1.0)).collect();
    table::print(&by_words);
    println!("\nTokens of an answer, by words alone:");
    let with_queries: Vec<_> = sets.iter().filter(|set| !set.queries.is_empty()).collect();
    let answered: Vec<_> = by_words.into_iter().filter(|measured| measured.queries > 0).collect();
    answers::print(&with_queries, &answered, -1.0);
    if options.iter().any(|option| option == "--words") {
        return Ok(());
    }
    let cache = options.iter().find_map(|option| option.strip_prefix("--cache=")).map(PathBuf::from);
    let embedder = BuiltinEmbedder::new(cache.as_deref(), None).map_err(|error| error.to_string())?;
    let Nearness::Cosine(least) = embedder.fusion().nearness else {
        return Err("the built-in model has no least cosine".to_owned());
    };
    let embedder: Arc<dyn Embedder> = Arc::new(Unlimited(embedder));
    println!("\nBy words and meaning:\n");
    // Where there are no queries, nothing is to be found.
    let measured: Vec<_> = with_queries.iter().map(|set| run::measure(set, Some(&embedder), least)).collect();
    table::print(&measured);
    println!("\nTokens of an answer, by words and meaning:");
    answers::print(&with_queries, &measured, least);
    thresholds::print(&with_queries, &measured);
    Ok(())
}

/// The model, finding also what is too far away, so that one run shows every threshold.
#[derive(Debug)]
struct Unlimited(BuiltinEmbedder);

impl Embedder for Unlimited {
    fn identity(&self) -> String {
        self.0.identity()
    }

    fn fusion(&self) -> Fusion {
        Fusion { nearness: Nearness::Cosine(-1.0), ..self.0.fusion() }
    }

    fn embed_tools(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        self.0.embed_tools(texts)
    }

    fn embed_query(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        self.0.embed_query(texts)
    }
}
