//! `proxy backtest`: runs recorded calls through another version of the session script.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use crate::cli::failure::CommandFailure;
use crate::cli::logging::{full_time, short_time};
use crate::cli::setup::{self, SourceArgs};
use crate::cli::{output, spinner};
use proxy_author::backtest::{BacktestDifference, BacktestReport, RecordingError, RecordingFile, backtest};
use proxy_base::diagnostic::Diagnostic;
use proxy_base::grouped_digits::grouped;
use proxy_engine::gateway;
use proxy_identity::cedar::Policies;

/// How many script locations of refusals the summary names.
const MAX_PLACES: usize = 3;
/// How much of the end of an id is shown.
const SHOWN_ID: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct BacktestArgs {
    /// Recording from `proxy calls --record`
    file: PathBuf,
    /// Session script to try [default: the config's]
    #[arg(long, value_name = "SCRIPT")]
    script: Option<PathBuf>,
    /// Config file with the script's settings; repeatable [default: $PROXY_CONFIG, ./proxy.yaml, ./proxy.json, then
    /// ~/.config/starlark-mcp-proxy]
    #[arg(short, long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Use the script and settings of this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &BacktestArgs) -> Result<(), CommandFailure> {
    let recording = read(&args.file)?;
    let warnings = warnings(&args.file, &recording);
    output::diagnostics(&warnings);
    let source = SourceArgs::of_servers(args.config.clone(), Vec::new()).under(args.profile.as_deref());
    let loaded = match &args.script {
        Some(script) => source.with_script(script).load_without_commands()?,
        None => source.load_without_commands()?,
    };
    let script = gateway::script_source(&loaded.config, None)?;
    let policies = loaded.config.cedar.as_ref().map(|cedar| Policies::load(cedar, &loaded.config.folder)).transpose();
    let policies = policies.map_err(CommandFailure::config)?.map(Arc::new);
    let run = spinner::with("running the recorded calls", backtest(&recording, script, policies));
    let report = setup::runtime()?.block_on(run).map_err(CommandFailure::config)?;
    if args.json {
        let mut value = report.to_json();
        value["dropped"] = json!(recording.dropped);
        value["cutOffAtLine"] = json!(recording.cut_off);
        output::json(&value);
    } else {
        output::out(&summary(&report));
        for difference in &report.differences {
            if !output::line(&line(difference)) {
                break;
            }
        }
    }
    if report.is_same() { Ok(()) } else { Err(CommandFailure::already_reported(1)) }
}

fn read(path: &Path) -> Result<RecordingFile, CommandFailure> {
    let file = File::open(path).map_err(RecordingError::from);
    file.and_then(|file| RecordingFile::read(BufReader::new(file))).map_err(|error| {
        let problem = Diagnostic::error(format!("cannot use the recording `{}`: {error}", path.display()));
        CommandFailure::config(vec![match error {
            RecordingError::Unreadable(_) => problem,
            _ => problem.hint("`proxy calls --record FILE` writes a recording"),
        }])
    })
}

fn warnings(path: &Path, recording: &RecordingFile) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if let Some(line) = recording.cut_off {
        let whole = match recording.calls.len() {
            1 => "1 call before that counts".to_owned(),
            number => format!("{} before that count", calls(number)),
        };
        let file = path.display();
        warnings.push(Diagnostic::warning(format!("`{file}` is cut off in line {line}: only the {whole}")));
    }
    if recording.dropped > 0 {
        let dropped = count(usize::try_from(recording.dropped).unwrap_or(usize::MAX));
        warnings.push(Diagnostic::warning(format!("{dropped} calls were dropped when this was recorded")));
    }
    warnings
}

/// `1,204 calls: 1,198 same, 4 now refused (policy.star:41), 2 now ask`.
fn summary(report: &BacktestReport) -> String {
    let mut parts = vec![format!("{} same", count(report.same))];
    for (word, number) in report.counts() {
        let text = match word {
            "nowRefused" => format!("now refused{}", places(&report.places(), report.refused_at_places(), number)),
            "nowAllowed" => "now allowed".to_owned(),
            "nowAsks" => if number == 1 { "now asks" } else { "now ask" }.to_owned(),
            "asksNoLonger" => if number == 1 { "no longer asks" } else { "no longer ask" }.to_owned(),
            "wouldNowCall" => "would now call a server".to_owned(),
            other => other.to_owned(),
        };
        parts.push(format!("{} {text}", count(number)));
    }
    let state = match report.state_dependent {
        0 => String::new(),
        number => {
            let verb = if number == 1 { "depends" } else { "depend" };
            format!("\n{} {verb} on stored values, and the store of a backtest starts empty", calls(number))
        }
    };
    format!("{}: {}{state}", calls(report.calls), parts.join(", "))
}

/// Where calls are refused. `there` of `all` of them are refused at these places.
fn places(places: &[&str], there: usize, all: usize) -> String {
    let shown: Vec<String> = places.iter().take(MAX_PLACES).map(|place| output::one_line(place).into_owned()).collect();
    let number = if there < all { format!("{} at ", count(there)) } else { String::new() };
    match (shown.is_empty(), places.len().saturating_sub(MAX_PLACES)) {
        (true, _) => String::new(),
        (false, 0) => format!(" ({number}{})", shown.join(", ")),
        (false, more) => format!(" ({number}{} and {more} more)", shown.join(", ")),
    }
}

fn line(difference: &BacktestDifference) -> String {
    let id = &difference.id;
    let id = id.get(id.len().saturating_sub(SHOWN_ID)..).unwrap_or(id);
    let at = match difference.at.parse::<Timestamp>() {
        Ok(at) if output::is_terminal() => short_time(at),
        Ok(at) => full_time(at),
        Err(_) => difference.at.clone(),
    };
    let state = if difference.reads_state { "; depends on earlier state" } else { "" };
    let what = format!("{} {}", difference.method, difference.name);
    let text = format!("{at}  {id}  {what} {}: {}{state}", difference.user, difference.verdict.describe());
    output::one_line(&text).into_owned()
}

fn calls(number: usize) -> String {
    if number == 1 { "1 call".to_owned() } else { format!("{} calls", count(number)) }
}

fn count(number: usize) -> String {
    grouped(number as u64)
}
