//! `proxy audit verify`: checks that an audit log is unchanged.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::failure::CommandFailure;
use crate::cli::setup::{self, SourceArgs};
use crate::cli::{output, table};
use proxy_base::diagnostic::Diagnostic;
use proxy_model::Secret;
use proxy_telemetry::audit::{AuditKey, VerifiedLog, verify};

/// The environment variable with the key, if no config has it.
const KEY_VARIABLE: &str = "PROXY_AUDIT_KEY";

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    what: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Check that the lines in an audit log are unchanged and complete
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
struct VerifyArgs {
    /// Files of one log, in any order: the current one and those before it
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Hash of a line that must be present, as shown earlier by `proxy status`
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
    /// Config file with `audit.key`; repeatable [default: $PROXY_AUDIT_KEY, then the usual config file]
    #[arg(short, long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Accept lines that the key has not sealed: the log may have been truncated, or rewritten without the key
    #[arg(long)]
    allow_unsealed: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &AuditArgs) -> Result<(), CommandFailure> {
    let AuditCommand::Verify(args) = &args.what;
    let head = args.head.as_deref().map(checked_head).transpose()?;
    let key = key(&args.config, args.allow_unsealed)?;
    match verify(&args.files, key.as_ref(), head.as_deref()) {
        Ok(log) => {
            let unsealed = key.as_ref().and_then(|_| log.unsealed(SystemTime::now()));
            let problem = unsealed.filter(|_| !args.allow_unsealed);
            report(&log, key.as_ref(), problem.as_deref(), args.json);
            match problem {
                None => Ok(()),
                Some(_) if args.json => Err(CommandFailure::already_reported(1)),
                Some(problem) => {
                    Err(CommandFailure::failed(Diagnostic::error(problem).hint(unsealed_hint(&log, SystemTime::now()))))
                }
            }
        }
        Err(fault) => {
            let place = if fault.line == 0 {
                fault.file.display().to_string()
            } else {
                format!("{}:{}", fault.file.display(), fault.line)
            };
            if args.json {
                let (file, line) = (fault.file.display().to_string(), (fault.line > 0).then_some(fault.line));
                output::json(&json!({"intact": false, "file": file, "line": line, "problem": fault.problem}));
                return Err(CommandFailure::already_reported(1));
            }
            Err(CommandFailure::failed(Diagnostic::error(format!("{place}: {}", fault.problem))))
        }
    }
}

/// What to do about lines without a seal.
fn unsealed_hint(log: &VerifiedLog, now: SystemTime) -> String {
    match log.awaits_first_seal(now) {
        Some(age) => {
            format!("the log is {} s old, and has its first seal after a minute: run this again then", age.as_secs())
        }
        None => "if the proxy was killed, or used a different key before, pass --allow-unsealed and compare --head"
            .to_owned(),
    }
}

fn checked_head(head: &str) -> Result<String, CommandFailure> {
    let digits = head.strip_prefix("sha256:").unwrap_or(head);
    if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(CommandFailure::usage(
            "--head must be a hash as shown by `proxy status`: sha256: and 64 hex digits",
        ));
    }
    Ok(format!("sha256:{}", digits.to_ascii_lowercase()))
}

/// The key from the named config, the environment, or the config that other commands would use.
fn key(config: &[PathBuf], allow_unsealed: bool) -> Result<Option<AuditKey>, CommandFailure> {
    if !config.is_empty() {
        let audit = SourceArgs::of_servers(config.to_vec(), Vec::new()).load()?.config.audit;
        let Some(key) = audit.and_then(|audit| audit.key) else {
            let files: Vec<String> = config.iter().map(|file| format!("`{}`", file.display())).collect();
            let problem = format!("{} has no `audit.key`", files.join(" with "));
            return Err(CommandFailure::usage_with_hint(problem, "leave out --config to check without the key"));
        };
        return Ok(Some(AuditKey::new(&key)));
    }
    if let Some(key) = std::env::var(KEY_VARIABLE).ok().filter(|key| !key.is_empty()) {
        return Ok(Some(AuditKey::new(&Secret::new(key))));
    }
    let folder = std::env::current_dir()?;
    let Some(file) = setup::find_config(None, &folder, setup::user_config_folder().as_deref())? else {
        return Ok(None);
    };
    match setup::load_file(file.clone()) {
        Ok(config) => Ok(config.audit.and_then(|audit| audit.key).map(|key| AuditKey::new(&key))),
        // The hashes can be checked without the key.
        Err(_) if allow_unsealed => Ok(None),
        Err(mut problems) => {
            problems.push(
                Diagnostic::error(format!("cannot read `audit.key` from `{}`", file.display())).hint(
                    "correct the config, set $PROXY_AUDIT_KEY, or pass --allow-unsealed to check without the key",
                ),
            );
            Err(CommandFailure::config(problems))
        }
    }
}

fn report(log: &VerifiedLog, key: Option<&AuditKey>, problem: Option<&str>, as_json: bool) {
    let unchecked: u64 = log.unchecked_seals.values().sum();
    if as_json {
        output::json(&json!({
            "intact": true, "lines": log.lines, "firstSeq": log.first_seq, "lastSeq": log.last_seq, "head": log.head,
            "sealsChecked": key.is_some(), "sealedSeq": log.sealed_seq, "uncheckedSeals": unchecked,
            "lost": log.lost, "torn": log.torn, "problem": problem,
        }));
        return;
    }
    let Some(head) = &log.head else {
        return output::out("the files are empty");
    };
    output::out(&format!("intact up to seq {}; lines after the last seal are not protected", log.last_seq));
    output::out(&format!("head: {head}"));
    if log.first_seq > 1 {
        output::out(&format!("begins at seq {}: earlier files were not checked", log.first_seq));
    }
    match (key, log.sealed_seq) {
        (None, _) => {
            output::out("seals were not checked: there is no key (audit.key in the config, or $PROXY_AUDIT_KEY)")
        }
        (Some(_), Some(seq)) => output::out(&format!("sealed up to seq {seq}")),
        (Some(_), None) => output::out("there is no seal by this key"),
    }
    if key.is_some() && unchecked > 0 {
        let ids: Vec<&str> = log.unchecked_seals.keys().map(String::as_str).collect();
        let seals = table::count(usize::try_from(unchecked).unwrap_or(usize::MAX), "seal");
        output::out(&format!("{seals} from other keys ({}) not checked", ids.join(", ")));
    }
    if log.lost > 0 {
        output::out(&format!("{} records are missing: the log says that they could not be written", log.lost));
    }
}
