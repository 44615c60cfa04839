//! User realms: the static tokens are one, and each issuer is one. Scripts identify users by name only, so users of different
//! realms must not have the same name.

use super::{Authentication, IssuerConfig};
use proxy_base::diagnostic::{Diagnostic, Location};

pub(super) fn problems(auth: &Authentication) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (index, issuer) in auth.issuers.iter().enumerate() {
        let earlier = &auth.issuers[..index];
        if let Some(other) = earlier.iter().find(|other| other.issuer == issuer.issuer) {
            let text = format!("duplicate issuer `{}`, also at {}", issuer.issuer, line(other.place.as_ref()));
            found.push(at(issuer, Diagnostic::error(text).hint("remove one of them")));
            continue;
        }
        found.extend(name_clash(auth, issuer, earlier));
    }
    found
}

/// An error if users of an issuer could have the same name as a user of another realm.
fn name_clash(auth: &Authentication, issuer: &IssuerConfig, earlier: &[IssuerConfig]) -> Option<Diagnostic> {
    let hint = "set a `prefix` for each issuer, such as `corp:`; no prefix may begin with another";
    let url = &issuer.issuer;
    if let Some(token) = auth.tokens.first() {
        let line = line(token.place.as_ref());
        if issuer.prefix.is_empty() {
            let text = format!("a user of `{url}` could have the same name as a user of `auth.tokens` ({line})");
            return Some(at(issuer, Diagnostic::error(text).hint(hint)));
        }
        if let Some(token) = auth.tokens.iter().find(|token| token.sub.starts_with(&issuer.prefix)) {
            let text = format!("the token's `sub: {}` begins with the prefix of `{url}`", token.sub);
            let mut problem = Diagnostic::error(text).hint("choose another prefix, or another name for this user");
            problem.place = token.place.clone();
            return Some(problem);
        }
    }
    let begins =
        |other: &&IssuerConfig| other.prefix.starts_with(&issuer.prefix) || issuer.prefix.starts_with(&other.prefix);
    let other = earlier.iter().find(begins)?;
    let text = format!(
        "a user of `{url}` could have the same name as a user of `{}` ({})",
        other.issuer,
        line(other.place.as_ref())
    );
    Some(at(issuer, Diagnostic::error(text).hint(hint)))
}

fn at(issuer: &IssuerConfig, mut problem: Diagnostic) -> Diagnostic {
    problem.place = issuer.place.clone();
    problem
}

fn line(place: Option<&Location>) -> String {
    place.map_or_else(|| "another place".to_owned(), |place| format!("line {}", place.line()))
}
