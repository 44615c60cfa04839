//! `per: person`: where people log in to their own accounts.

use indexmap::IndexMap;

use super::types::{AuthConfig, PersonalAccounts};
use crate::sections::auth::Authentication;
use crate::sections::serve::Serve;
use crate::sections::server::ServerConfig;
use proxy_base::diagnostic::Diagnostic;
use proxy_model::{Realm, Who};

/// The maximum length of the part of a tool's name that comes from the server's.
const MAX_NAME: usize = 48;

/// How a person can log in to an account of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInAdvice {
    /// What to do, as a clause: such as ``run `proxy login crm` ``.
    pub text: String,
    /// The page to open, if there is one for this person.
    pub url: Option<String>,
}

impl PersonalAccounts {
    /// The page on which people log in to a server. It is the same for everybody: it carries nothing that could be forwarded.
    pub fn page(&self, server: &str) -> Option<String> {
        let mut url = url::Url::parse(self.public_url.as_deref()?).ok()?;
        url.path_segments_mut().ok()?.pop_if_empty().extend(["connect", server]);
        Some(url.into())
    }

    /// The name of the tool that a server has for a person before the log-in: in letters that every client takes.
    pub fn tool_name(server: &str) -> String {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        let server: String = server.chars().map(plain).take(MAX_NAME).collect();
        format!("{server}_log_in")
    }

    /// Where browsers come back to from the authorization server of a server.
    pub fn page_redirect(&self, server: &str) -> Option<String> {
        self.page(server).map(|page| format!("{page}/callback"))
    }

    /// How this person logs in to a server.
    pub fn advice(&self, server: &str, who: &Who) -> LogInAdvice {
        let signs_in =
            matches!(&who.realm, Realm::Issuer(issuer) if self.signing_in.iter().any(|one| **one == **issuer));
        let command = format!("proxy login {}", shell_word(server));
        let page = if signs_in { self.page(server) } else { None };
        match page {
            Some(url) => {
                let text = format!("open {url} in a browser, sign in as {}", who.sub);
                LogInAdvice { text, url: Some(url) }
            }
            None if who.realm == Realm::Local => LogInAdvice { text: format!("run `{command}`"), url: None },
            None => {
                let text = format!("ask the operator to run `{command} --as-user {}`", shell_word(&who.sub));
                LogInAdvice { text, url: None }
            }
        }
    }
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.@:".contains(letter)) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Fills in where people sign in. Without issuers nobody does: the people of static tokens and the local user log in by
/// `proxy login`.
///
/// # Errors
/// One for each server, if people of an issuer could not log in.
pub(crate) fn resolve_personal_accounts(
    servers: &mut IndexMap<String, ServerConfig>,
    auth: &Authentication,
    serve: &Serve,
) -> Vec<Diagnostic> {
    let signing_in = auth.issuers.iter().filter(|issuer| issuer.sign_in.is_some());
    let signing_in: Vec<String> = signing_in.map(|issuer| issuer.issuer.clone()).collect();
    let mut problems = Vec::new();
    for (name, server) in servers {
        let Some(AuthConfig::OAuth(oauth)) = &mut server.auth else { continue };
        let Some(personal) = &mut oauth.personal else { continue };
        let (missing, hint) = match &serve.public_url {
            _ if auth.issuers.is_empty() => continue,
            Some(url) if !signing_in.is_empty() => {
                personal.public_url = Some(url.clone());
                personal.signing_in.clone_from(&signing_in);
                continue;
            }
            None => ("`serve.publicUrl`", "set it to the URL that clients use: people log in on pages below it"),
            Some(_) => (
                "an issuer with `signIn`",
                "add `signIn: {clientId: ...}` to one of `auth.issuers`: a client there, with which people sign in to the \
                 pages of the proxy",
            ),
        };
        let text = format!("`mcpServers.{name}.auth`: `per: person` requires {missing}");
        problems.push(Diagnostic::error(text).hint(hint).at_known(server.auth_place.as_ref()));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    const SERVER: &str =
        "mcpServers:\n  crm: {url: 'https://crm/mcp', auth: {type: oauth, per: person, about: invoices}}\n";
    const ISSUER: &str = "auth: {issuers: [{issuer: 'https://id', signIn: {clientId: pages}}]}\n";

    #[test]
    fn people_of_an_issuer_sign_in_below_the_public_url() {
        let config = loaded(&format!("{SERVER}{ISSUER}serve: {{publicUrl: 'https://edge/mcp'}}\n"));
        let Some(AuthConfig::OAuth(oauth)) = &config.servers["crm"].auth else { panic!("another type") };
        let expected = PersonalAccounts {
            about: "invoices".to_owned(),
            public_url: Some("https://edge/mcp".to_owned()),
            signing_in: vec!["https://id".to_owned()],
        };
        assert_eq!(oauth.personal, Some(expected));
        loaded(SERVER);
    }

    #[test]
    fn everybody_is_told_their_own_way() {
        let accounts = PersonalAccounts {
            public_url: Some("https://edge/mcp".to_owned()),
            signing_in: vec!["https://id".to_owned()],
            ..PersonalAccounts::default()
        };
        let advice = |realm: Realm, sub: &str| accounts.advice("my crm", &Who { realm, sub: sub.into() });
        let page = advice(Realm::Issuer("https://id".into()), "ann");
        assert_eq!(page.url.as_deref(), Some("https://edge/mcp/connect/my%20crm"));
        assert_eq!(page.text, "open https://edge/mcp/connect/my%20crm in a browser, sign in as ann");
        assert_eq!(advice(Realm::Local, "ann").text, "run `proxy login 'my crm'`");
        for realm in [Realm::Static, Realm::Issuer("https://other".into())] {
            let other = advice(realm, "ann's");
            assert_eq!(other.text, r"ask the operator to run `proxy login 'my crm' --as-user 'ann'\''s'`");
            assert_eq!(other.url, None);
        }
    }

    #[test]
    fn what_people_lack_to_log_in_is_told() {
        let found = errors(&format!("{SERVER}{ISSUER}"));
        assert!(found[0].starts_with("2:") && found[0].contains("requires `serve.publicUrl`"), "{found:?}");
        let found =
            errors(&format!("{SERVER}auth: {{issuers: ['https://id']}}\nserve: {{publicUrl: 'https://edge/mcp'}}\n"));
        assert!(found[0].contains("requires an issuer with `signIn`"), "{found:?}");
    }

    #[test]
    fn accounts_of_people_are_of_one_type_and_shared_by_nobody() {
        let found =
            |auth: &str| errors(&format!("mcpServers:\n  a: {{url: 'https://a/mcp', auth: {{{auth}}}}}\n")).join("\n");
        assert!(found("type: oauth, per: person, shared: true").contains("`shared` conflicts with `per: person`"));
        assert!(found("type: oauth, about: x").contains("`mcpServers.a.auth.about`: requires `per: person`"));
        assert!(found("type: signed, per: person").contains("requires `type: oauth`"));
        assert!(found("type: oauth, per: team").contains("`everyone`, `person`"));
        assert!(
            errors("mcpServers: {a: {command: x, auth: {type: oauth, per: person}}}")[0].contains("requires `url`")
        );
        let required = "mcpServers: {a: {url: 'https://a/mcp', required: true, auth: {type: oauth, per: person}}}";
        assert!(errors(required)[0].contains("`mcpServers.a.required`: has no effect"));
    }
}
