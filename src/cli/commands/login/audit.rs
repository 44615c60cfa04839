//! Tells a running proxy what a command has done with people's accounts: only the proxy writes its audit log.

use crate::cli::commands::instance;
use crate::cli::{output, query};
use proxy_base::diagnostic::Diagnostic;
use proxy_config::Config;
use proxy_model::operator_api::{AccountChange, AccountChangeKind};
use proxy_model::{Realm, Who};

/// A person's account at a server that the operator has connected or disconnected.
pub(super) fn change(server: &str, who: &Who, event: AccountChangeKind) -> AccountChange {
    let issuer = match &who.realm {
        Realm::Issuer(issuer) => issuer.to_string(),
        Realm::Anonymous | Realm::Local | Realm::Static => String::new(),
    };
    AccountChange { server: server.to_owned(), user: who.sub.to_string(), issuer, event }
}

/// Has a proxy write these changes that runs with this config: the one that runs longest, because the first holds the file.
pub(super) fn note(config: &Config, changes: &[AccountChange]) {
    if changes.is_empty() || config.audit.is_none() {
        return;
    }
    let mut running = config.path.as_deref().map(instance::serving).unwrap_or_default();
    running.sort_by_key(|instance| (instance.since, instance.pid));
    let is_written = running.iter().any(|instance| {
        // The first change tells whether this one has an audit log.
        changes.iter().all(|change| query::note_account(instance, change).is_ok_and(|noted| noted.audited))
    });
    if !is_written {
        let problem =
            Diagnostic::warning("the audit log has no line about this: only a running `proxy serve` writes it");
        output::diagnostics(
            &[problem.hint("run the command while the proxy runs, on its machine and with its config")],
        );
    }
}
