//! How far the estimate is from what a real tokenizer counts.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proxy_model::Snapshot;
use proxy_search::estimate_tokens;
use serde_json::{Map, Value, json};

use crate::modes::{Measured, Mode};

/// The tokens of one kind of text, by the estimate and by an encoding.
#[derive(Debug)]
pub struct Comparison {
    pub texts: &'static str,
    pub encoding: String,
    pub counted: usize,
    pub estimated: usize,
    /// The median of the error of a single text, in per cent, without its sign.
    pub single: f64,
}

pub fn compare(program: &Path, snapshot: &Snapshot, measured: &[Measured]) -> Result<Vec<Comparison>, String> {
    let definitions = snapshot.backends.iter().flat_map(|backend| &backend.lists.tools);
    let definitions: Vec<String> = definitions.map(|definition| definition.raw().get().to_owned()).collect();
    let mut kinds: Vec<(&'static str, Vec<String>)> = vec![("definitions", definitions)];
    for (name, mode) in [
        ("conversations, all tools listed", Mode::None),
        ("conversations, tool search", Mode::Compact),
        ("conversations, code mode", Mode::Script),
    ] {
        let of_mode = measured.iter().filter(|measured| measured.mode == mode);
        let texts = of_mode.flat_map(|measured| &measured.conversations).map(|talk| talk.texts.join("\n"));
        kinds.push((name, texts.collect()));
    }
    let mut comparisons = Vec::new();
    for (name, texts) in kinds {
        let estimates: Vec<usize> = texts.iter().map(|text| estimate_tokens(text)).collect();
        for (encoding, counts) in counted(program, &texts)? {
            let counts: Vec<usize> = serde_json::from_value(counts).map_err(|error| error.to_string())?;
            let mut single: Vec<f64> =
                counts.iter().zip(&estimates).map(|(counted, estimated)| error(*counted, *estimated).abs()).collect();
            single.sort_by(f64::total_cmp);
            comparisons.push(Comparison {
                texts: name,
                encoding,
                counted: counts.iter().sum(),
                estimated: estimates.iter().sum(),
                single: single.get(single.len() / 2).copied().unwrap_or_default(),
            });
        }
    }
    Ok(comparisons)
}

/// How much more the estimate is, in per cent.
pub fn error(counted: usize, estimated: usize) -> f64 {
    100.0 * (estimated as f64 - counted as f64) / counted.max(1) as f64
}

/// The tokens of each text, by encoding.
fn counted(program: &Path, texts: &[String]) -> Result<Map<String, Value>, String> {
    let mut node = Command::new("node")
        .arg(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("node: {error}"))?;
    let input = json!(texts).to_string();
    // It reads everything before it writes.
    if let Some(mut stdin) = node.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|error| format!("node: {error}"))?;
    }
    let output = node.wait_with_output().map_err(|error| format!("node: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{}: {error}", program.display()))
}
