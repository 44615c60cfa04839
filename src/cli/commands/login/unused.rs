//! Log-ins that the config has no use for, in `proxy login --list` and `proxy logout --unused`.

use serde_json::{Value, json};

use proxy_config::Config;
use proxy_identity::oauth::{LogIns, UnusedLogIn, WhyUnused};

/// Those of a config. None if they cannot be read, which the lines of its servers tell.
pub(super) async fn of(log_ins: &LogIns, config: &Config) -> Vec<UnusedLogIn> {
    log_ins.left(config).await.unwrap_or_default().unused
}

pub(super) fn row(unused: &UnusedLogIn) -> Vec<String> {
    let scopes = unused.scopes.join(" ");
    let words: [&str; 9] = [&unused.entry, unused.person(), "unused", "oauth", &unused.issuer, "", &scopes, "", ""];
    let mut cells: Vec<String> = words.into_iter().map(str::to_owned).collect();
    cells.push(to_do(unused));
    cells
}

pub(super) fn json(unused: &UnusedLogIn) -> Value {
    let person = unused.who.as_ref().map(|who| &*who.sub);
    json!({
        "server": unused.entry,
        "person": person,
        "status": "unused",
        "type": "oauth",
        "url": unused.url,
        "issuer": unused.issuer,
        "scopes": unused.scopes,
        "whatToDo": to_do(unused),
    })
}

fn to_do(unused: &UnusedLogIn) -> String {
    format!("{}: `proxy logout {} --unused` ends it", why(unused), unused.entry)
}

/// Why the config has no use for it.
pub(super) fn why(unused: &UnusedLogIn) -> String {
    match &unused.why {
        WhyUnused::NoServer => format!("the config does not log in to {} like this", unused.url),
        WhyUnused::NoIssuer(issuer) => format!("the config has no issuer {issuer}"),
        WhyUnused::NoUser => format!("the config has no token for {}", unused.person()),
    }
}
