//! `proxy logout`: revokes and deletes an authorization, or all of a user.

use super::{LogoutArgs, audit, end_unused, failure, say, source};
use crate::cli::failure::CommandFailure;
use crate::cli::{output, setup, spinner};
use proxy_base::control::instances;
use proxy_base::diagnostic::Diagnostic;
use proxy_identity::bearer::no_such_user;
use proxy_identity::oauth::LogOutReport;
use proxy_model::Who;
use proxy_model::operator_api::{AccountChange, AccountChangeKind};

pub(super) fn run(args: &LogoutArgs) -> Result<(), CommandFailure> {
    let loaded = args.source.load()?;
    let runtime = setup::runtime()?;
    let _entered = runtime.enter();
    let log_ins = super::log_ins(&loaded.config);
    if args.unused {
        return end_unused::run(args, &runtime, &log_ins, &loaded.config);
    }
    let (who, ended): (Option<Who>, Vec<(String, LogOutReport)>) = match (&args.server, &args.as_user) {
        (Some(name), as_user) => {
            let server = source::find(&loaded, name)?;
            let who = source::account(&loaded.config, name, server, as_user.as_deref())?;
            let report = runtime.block_on(async {
                let leaving = log_ins.log_out(name, server, who.as_ref(), args.forget_client);
                let report = spinner::with(&format!("revoking the authorization at {name}"), leaving).await;
                log_ins.drain().await;
                report
            });
            let report = report.map_err(|error| failure(&error))?;
            if report.was_logged_in && who.is_none() {
                super::outdate_lists(name, server);
            }
            (who, vec![(name.clone(), report)])
        }
        (None, Some(sub)) => {
            let who = source::named(&loaded.config, sub)?;
            let ended = runtime.block_on(async {
                let label = format!("revoking the authorizations of {sub}");
                let ended = spinner::with(&label, log_ins.log_out_of_all(&loaded.config, &who)).await;
                log_ins.drain().await;
                ended
            });
            (Some(who), ended.map_err(|error| failure(&error))?)
        }
        // clap demands one of them.
        (None, None) => return Err(CommandFailure::usage("name a server, or a user with `--as-user`")),
    };
    if let (true, Some(sub)) = (ended.is_empty(), &args.as_user) {
        output::out(&output::one_line(&format!("{sub} was not logged in anywhere")));
    }
    for (name, report) in &ended {
        show(report, &line(name, report));
    }
    if let Some(who) = &who {
        let changes: Vec<AccountChange> =
            ended.iter().filter(|(_, report)| report.was_logged_in).map(|(name, _)| disconnected(name, who)).collect();
        audit::note(&loaded.config, &changes);
    }
    let was_logged_in = ended.iter().any(|(_, report)| report.was_logged_in);
    if let (false, Some(sub)) = (was_logged_in, &args.as_user)
        && let Some(unknown) = no_such_user(&loaded.config.auth, sub)
    {
        return Err(CommandFailure::failed(Diagnostic::error(unknown.problem).hint(unknown.hint)));
    }
    if was_logged_in && !instances(&setup::control_folder()).unwrap_or_default().is_empty() {
        say("a running `proxy serve` with this config notices this by itself");
    }
    Ok(())
}

pub(super) fn disconnected(server: &str, who: &Who) -> AccountChange {
    audit::change(server, who, AccountChangeKind::Disconnected)
}

/// Shows what was done. A token that could not be revoked expires by itself. It has been deleted here, so the command succeeds.
pub(super) fn show(report: &LogOutReport, line: &str) {
    for problem in &report.problems {
        output::diagnostics(&[Diagnostic::warning(problem.clone())]);
    }
    output::out(&output::one_line(line));
}

pub(super) fn line(name: &str, report: &LogOutReport) -> String {
    let revoked = match report.revoked.as_slice() {
        [] => String::new(),
        revoked => format!("; revoked: {}", revoked.join(", ")),
    };
    let client = if report.forgot_client { "; client registration deleted" } else { "" };
    match report.was_logged_in {
        true => format!("logged out of `{name}`{revoked}{client}"),
        false => format!("nobody was logged in to `{name}`{client}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_was_done() {
        let report = LogOutReport {
            was_logged_in: true,
            revoked: vec!["refresh token", "access token"],
            ..LogOutReport::default()
        };
        assert_eq!(line("a", &report), "logged out of `a`; revoked: refresh token, access token");
        assert_eq!(line("a", &LogOutReport::default()), "nobody was logged in to `a`");
        let report = LogOutReport { forgot_client: true, ..LogOutReport::default() };
        assert_eq!(line("a", &report), "nobody was logged in to `a`; client registration deleted");
    }
}
