//! The options of the log, which every command has.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use tracing::level_filters::LevelFilter;

use super::levels::{DefaultLevels, Levels};
use crate::cli::failure::CommandFailure;
use proxy_base::diagnostic::nearest;

const HEADING: &str = "Output";

/// How entries of the log are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum LogFormat {
    /// A line of text per entry
    #[default]
    Text,
    /// A JSON object per entry
    Json,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LogArgs {
    /// Log level: off, error, warn, info, debug or trace [default: info for serve, else error]
    #[arg(long, global = true, value_name = "LEVEL", display_order = 100, help_heading = HEADING)]
    log: Option<String>,
    /// Log as text or json
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        display_order = 101,
        help_heading = HEADING,
        default_value = "text",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(super) log_format: LogFormat,
    /// Append the log to this file instead of standard error
    #[arg(long, global = true, value_name = "FILE", display_order = 102, help_heading = HEADING)]
    pub(super) log_file: Option<PathBuf>,
    /// Log more; -vv even more
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = 103, help_heading = HEADING)]
    verbose: u8,
    /// Print only results and errors, and log only errors
    #[arg(short, long, global = true, display_order = 104, help_heading = HEADING)]
    pub(in crate::cli) quiet: bool,
}

/// The words for levels.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl LogArgs {
    pub(super) fn levels(&self, defaults: DefaultLevels) -> Result<Levels, CommandFailure> {
        let given = [self.log.is_some(), self.verbose > 0, self.quiet];
        if given.iter().filter(|given| **given).count() > 1 {
            return Err(CommandFailure::usage("`--log`, `--verbose` and `--quiet` cannot be combined"));
        }
        let level = match (&self.log, self.verbose, self.quiet) {
            (Some(word), ..) => parse(word)?,
            (None, _, true) => LevelFilter::ERROR,
            (None, 0, false) => return Ok(Levels::of(defaults)),
            (None, times, false) => louder(defaults.proxy, times),
        };
        Ok(Levels::of(DefaultLevels { proxy: level, script: level }))
    }
}

fn parse(word: &str) -> Result<LevelFilter, CommandFailure> {
    let word = if word == "warning" { "warn" } else { word };
    // `LevelFilter` would also parse numbers.
    match word.parse() {
        Ok(level) if LEVELS.contains(&word) => return Ok(level),
        _ => {}
    }
    let hint = nearest(word, LEVELS).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(CommandFailure::usage(format!("unknown log level `{word}` (known: {}){hint}", LEVELS.join(", "))))
}

/// The level this many steps up. Errors and warnings are one step, because both report problems.
fn louder(level: LevelFilter, steps: u8) -> LevelFilter {
    const STEPS: [LevelFilter; 4] = [LevelFilter::ERROR, LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE];
    let now = STEPS.iter().position(|step| *step >= level).unwrap_or(0);
    STEPS[(now + usize::from(steps)).min(STEPS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_v_is_one_step_above_what_the_command_logs() {
        let after = |level, steps| louder(level, steps);
        assert_eq!(after(LevelFilter::INFO, 1), LevelFilter::DEBUG);
        assert_eq!(after(LevelFilter::INFO, 2), LevelFilter::TRACE);
        assert_eq!(after(LevelFilter::INFO, 9), LevelFilter::TRACE);
        assert_eq!(
            [1, 2, 3].map(|steps| after(LevelFilter::ERROR, steps)),
            [LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE]
        );
    }
}
