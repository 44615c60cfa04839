//! Checks the redirect from the authorization server. Anyone who can open a URL in the user's browser can forge a redirect,
//! so everything about it is checked.

use subtle::ConstantTimeEq;
use url::Url;

use crate::oauth::LogInError;
use proxy_base::foreign_text::quoted;
use proxy_model::Secret;

/// What is expected of a redirect.
pub(crate) struct ExpectedRedirect<'a> {
    pub(crate) redirect_uri: &'a str,
    pub(crate) state: &'a str,
    pub(crate) issuer: &'a str,
    /// Whether the issuer has promised to name itself (RFC 9207).
    pub(crate) names_itself: bool,
}

impl ExpectedRedirect<'_> {
    /// The code of a redirect that passes every check.
    pub(crate) fn code(&self, callback: &str) -> Result<Secret, LogInError> {
        let refuse = |why: &str| LogInError::Callback(format!("the redirect was refused: {why}"));
        let url = Url::parse(callback.trim()).map_err(|_| refuse("it is not a URL"))?;
        let place = |url: &Url| (url.origin(), url.path().to_owned());
        if !Url::parse(self.redirect_uri).is_ok_and(|expected| place(&expected) == place(&url)) {
            return Err(refuse(&format!("it does not lead to `{}`", self.redirect_uri)));
        }
        let parameter = |name: &str| {
            let mut found = url.query_pairs().filter(|(known, _)| known == name).map(|(_, value)| value.into_owned());
            let first = found.next();
            if found.next().is_some() { Err(refuse(&format!("it has `{name}` twice"))) } else { Ok(first) }
        };
        let state = parameter("state")?.ok_or_else(|| refuse("it has no `state`"))?;
        if !bool::from(state.as_bytes().ct_eq(self.state.as_bytes())) {
            return Err(refuse("its `state` is not that of this authorization"));
        }
        // Before anything else is believed, also an error (RFC 9207, 2.4): its text could be another server's.
        match parameter("iss")? {
            Some(issuer) if issuer != self.issuer => {
                let (found, expected) = (quoted(&issuer), quoted(self.issuer));
                return Err(LogInError::Refused(format!(
                    "the authorization was refused: the redirect has `iss` {found}, but it began at {expected}"
                )));
            }
            None if self.names_itself => {
                let expected = quoted(self.issuer);
                return Err(LogInError::Refused(format!(
                    "the authorization was refused: the redirect has no `iss`, but {expected} promises one"
                )));
            }
            _ => {}
        }
        if let Some(error) = parameter("error")? {
            let description =
                parameter("error_description")?.map_or_else(String::new, |text| format!(" ({})", quoted(&text)));
            let issuer = quoted(self.issuer);
            return Err(LogInError::Refused(format!(
                "{issuer} refused the authorization: {}{description}",
                quoted(&error)
            )));
        }
        parameter("code")?.filter(|code| !code.is_empty()).map(Secret::new).ok_or_else(|| refuse("it has no `code`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIRECT: &str = "http://127.0.0.1:7/callback";

    fn code(names_itself: bool, callback: &str) -> Result<String, LogInError> {
        let expected = ExpectedRedirect { redirect_uri: REDIRECT, state: "s1", issuer: "https://as", names_itself };
        expected.code(callback).map(|code| code.reveal().to_owned())
    }

    fn refusal(names_itself: bool, query: &str) -> String {
        code(names_itself, &format!("{REDIRECT}?{query}")).unwrap_err().to_string()
    }

    #[test]
    fn the_awaited_redirect_has_a_code() {
        assert_eq!(code(false, &format!("{REDIRECT}?code=a%26b&state=s1")).unwrap(), "a&b");
        assert_eq!(code(true, &format!(" {REDIRECT}?iss=https%3A%2F%2Fas&state=s1&code=c\n")).unwrap(), "c");
        assert_eq!(code(false, &format!("{REDIRECT}?iss=https%3A%2F%2Fas&state=s1&code=c")).unwrap(), "c");
    }

    #[test]
    fn every_check_says_which_one_it_was() {
        assert!(refusal(false, "code=c&state=s2").contains("`state` is not that"));
        assert!(refusal(false, "code=c").contains("no `state`"));
        assert!(refusal(false, "code=c&state=s1&state=s1").contains("twice"));
        assert!(refusal(false, "state=s1").contains("no `code`"));
        assert!(refusal(false, "state=s1&code=").contains("no `code`"));
        assert!(refusal(true, "state=s1&code=c").contains("no `iss`"));
        for other in ["https://evil", "https://as/", "HTTPS://as", ""] {
            let query = format!("state=s1&code=c&iss={other}");
            assert!(refusal(false, &query).contains("has `iss`"), "{other}: no normalisation");
        }
        for elsewhere in
            ["http://127.0.0.1:8/callback", "http://127.0.0.1:7/other", "https://127.0.0.1:7/callback", "c"]
        {
            assert!(code(false, &format!("{elsewhere}?code=c&state=s1")).is_err(), "{elsewhere}");
        }
    }

    #[test]
    fn an_error_is_shown_if_it_comes_from_the_right_server() {
        let shown = refusal(false, "state=s1&error=access_denied&error_description=no%1b%5B2J");
        assert_eq!(shown, r"`https://as` refused the authorization: `access_denied` (`no\u{1b}[2J`)");
        let other = refusal(false, "state=s1&error=access_denied&error_description=call+555&iss=https://evil");
        assert!(!other.contains("555") && other.contains("has `iss`"), "{other}");
        let forged = refusal(false, "state=guess&error=access_denied&error_description=call+555");
        assert!(!forged.contains("555"), "{forged}");
    }
}
