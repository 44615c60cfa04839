//! `subjectIssuer`: the issuer whose tokens a server with `tokenExchange` accepts. The tokens are sent to its token endpoint,
//! so the issuer is never guessed.

use indexmap::IndexMap;

use super::types::AuthConfig;
use crate::sections::auth::IssuerConfig;
use crate::sections::server::ServerConfig;
use proxy_base::diagnostic::{Diagnostic, nearest};

/// Fills in the only issuer where a server names none.
///
/// # Errors
/// One for each server whose subject issuer is missing or unknown.
pub(crate) fn resolve_subject_issuers(
    servers: &mut IndexMap<String, ServerConfig>,
    issuers: &[IssuerConfig],
) -> Vec<Diagnostic> {
    let issuers: Vec<&str> = issuers.iter().map(|issuer| issuer.issuer.as_str()).collect();
    let mut problems = Vec::new();
    for (name, server) in servers {
        let Some(AuthConfig::TokenExchange(exchange)) = &mut server.auth else { continue };
        let problem = match (&exchange.subject_issuer, issuers.as_slice()) {
            (_, []) => Diagnostic::error(format!(
                "`mcpServers.{name}.auth`: `tokenExchange` requires `auth.issuers`, which identify the callers"
            ))
            .hint("add the issuer of your users' tokens to `auth.issuers`"),
            (None, [only]) => {
                exchange.subject_issuer = Some((*only).to_owned());
                continue;
            }
            (None, several) => Diagnostic::error(format!(
                "`mcpServers.{name}.auth`: missing key `subjectIssuer`: choose the issuer whose tokens are sent to `tokenUrl`: {}",
                named(several)
            )),
            (Some(issuer), known) if known.contains(&issuer.as_str()) => continue,
            (Some(issuer), known) => {
                let problem = Diagnostic::error(format!(
                    "`mcpServers.{name}.auth.subjectIssuer`: `{issuer}` is not one of `auth.issuers`"
                ));
                problem.hint(match nearest(issuer, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known issuers: {}", named(known)),
                })
            }
        };
        problems.push(problem.at_known(server.auth_place.as_ref()));
    }
    problems
}

fn named(issuers: &[&str]) -> String {
    issuers.iter().map(|issuer| format!("`{issuer}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    fn text(more: &str, issuers: &str) -> String {
        format!(
            "mcpServers:\n  api:\n    url: https://h/mcp\n    auth: {{type: tokenExchange, tokenUrl: 'https://as/token', \
             clientId: proxy, clientSecret: s {more}}}\nauth: {{issuers: [{issuers}]}}\n"
        )
    }

    #[test]
    fn the_only_issuer_is_the_one_whose_tokens_are_exchanged() {
        let config = loaded(&text("", "'https://a'"));
        let Some(AuthConfig::TokenExchange(exchange)) = &config.servers["api"].auth else { panic!("another type") };
        assert_eq!(exchange.subject_issuer.as_deref(), Some("https://a"));
    }

    #[test]
    fn it_must_be_clear_whose_tokens_are_exchanged() {
        let several = "{issuer: 'https://a.example', prefix: 'a:'}, {issuer: 'https://b.example', prefix: 'b:'}";
        let found = errors(&text("", several));
        assert!(
            found[0].contains("missing key `subjectIssuer`") && found[0].contains("`https://b.example`"),
            "{found:?}"
        );
        loaded(&text(", subjectIssuer: 'https://b.example'", several));
        let found = errors(&text(", subjectIssuer: 'https://b.exampel'", several));
        assert!(found[0].contains("did you mean `https://b.example`?"), "{found:?}");
        let found = errors(&text(", subjectIssuer: 'https://elsewhere.test/x'", several));
        assert!(found[0].contains("known issuers: `https://a.example`, `https://b.example`"), "{found:?}");
        let found = errors(&text("", "").replace("auth: {issuers: []}\n", ""));
        assert!(found[0].starts_with("4:") && found[0].contains("requires `auth.issuers`"), "{found:?}");
    }
}
