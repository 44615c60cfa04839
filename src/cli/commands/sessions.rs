//! `proxy sessions`: the HTTP sessions of a running proxy, and their end.

use clap::{Args, Subcommand};

use super::instance;
use crate::cli::age::age;
use crate::cli::failure::CommandFailure;
use crate::cli::{output, query, table};
use proxy_base::diagnostic::Diagnostic;
use proxy_model::NamedUser;
use proxy_model::operator_api::{EndedSessions, SessionEnd, SessionStatus};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    what: Option<SessionsCommand>,
    #[command(flatten)]
    running: RunningArgs,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// End a session, or all sessions of a user
    End(EndArgs),
}

#[derive(Debug, Args)]
struct EndArgs {
    /// Digest of the session, as `proxy sessions` and the log show it
    #[arg(value_name = "DIGEST", required_unless_present = "as_user", conflicts_with = "as_user")]
    digest: Option<String>,
    /// End all sessions of this user: the `sub` of a token in the config, or of a user of an issuer
    #[arg(long, value_name = "SUB")]
    as_user: Option<String>,
    #[command(flatten)]
    running: RunningArgs,
}

#[derive(Debug, Args)]
struct RunningArgs {
    /// Process id, if several proxies are running [default: of the config that is used here]
    #[arg(long)]
    pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &SessionsArgs) -> Result<(), CommandFailure> {
    match &args.what {
        None => list(&args.running),
        Some(SessionsCommand::End(args)) => end(args),
    }
}

fn list(args: &RunningArgs) -> Result<(), CommandFailure> {
    let list = query::sessions(&instance::one(args.pid)?)?;
    if args.json {
        output::json(&list);
        return Ok(());
    }
    if list.sessions.is_empty() {
        output::out("no sessions over HTTP");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = list.sessions.iter().map(|session| row(session, &list.home)).collect();
    output::out(&table::render(&["SESSION", "USER", "OPENED", "USED", "CLIENT", "HOME"], &rows));
    Ok(())
}

fn row(session: &SessionStatus, here: &str) -> Vec<String> {
    let home = if session.home == here { "this process" } else { &session.home };
    vec![
        session.digest.clone(),
        session.user.clone(),
        format!("{} ago", age(session.opened_seconds_ago)),
        format!("{} ago", age(session.used_seconds_ago)),
        format!("{} {}", session.client, session.client_version).trim().to_owned(),
        home.to_owned(),
    ]
}

fn end(args: &EndArgs) -> Result<(), CommandFailure> {
    let instance = instance::one(args.running.pid)?;
    let which = match (&args.as_user, &args.digest) {
        (Some(sub), _) if sub.is_empty() => return Err(CommandFailure::usage("--as-user is empty: name a user")),
        (Some(sub), _) => SessionEnd::User(NamedUser { sub: sub.clone(), claims: serde_json::Map::new() }),
        (None, digest) => SessionEnd::Digest(digest.clone().unwrap_or_default()),
    };
    let ended = query::end_sessions(&instance, &which)?;
    if args.running.json {
        output::json(&ended);
    } else {
        output::out(&told(&which, &ended));
    }
    match ended.problems.as_slice() {
        [] => Ok(()),
        problems => {
            let problems: Vec<Diagnostic> = problems.iter().map(Diagnostic::error).collect();
            output::diagnostics(&problems);
            Err(CommandFailure::already_reported(1))
        }
    }
}

fn told(which: &SessionEnd, EndedSessions { ended, .. }: &EndedSessions) -> String {
    match which {
        SessionEnd::Digest(digest) if *ended > 0 => format!("session {digest} has ended"),
        SessionEnd::Digest(digest) => format!("session {digest} is not in use here, and is refused from now on"),
        SessionEnd::User(user) => {
            format!("all sessions of {} have ended: {} in use here", user.sub, table::count(*ended, "session"))
        }
    }
}
