//! The redirect of the browser: the redirect URI with the parameters from the authorization server.

use url::Url;

/// The redirect that a login waits for.
#[derive(Clone)]
pub(crate) struct Redirect {
    uri: String,
    /// The `state` that was sent only to the authorization server of this login.
    state: String,
}

impl Redirect {
    /// The redirect of this authorization request. `None` if the request has no `state`.
    pub(crate) fn of(redirect_uri: &str, authorization_url: &str) -> Option<Self> {
        let url = Url::parse(authorization_url).ok()?;
        // The authorization endpoint may have its own query parameters before those of the request.
        let state = url.query_pairs().filter(|(name, _)| name == "state").last()?.1.into_owned();
        Some(Redirect { uri: redirect_uri.to_owned(), state })
    }

    /// Checks that a URL is the answer to this login. The error says which check failed.
    pub(crate) fn check(&self, url: &str) -> Result<(), String> {
        let is_ours = url.strip_prefix(&self.uri).is_some_and(|rest| rest.is_empty() || rest.starts_with('?'));
        if !is_ours {
            return Err(format!(
                "this is not the address that the browser is redirected to, which begins with `{}`",
                self.uri
            ));
        }
        match only(url, "state") {
            Some(state) if state == self.state => Ok(()),
            Some(_) => Err("its `state` belongs to another login".to_owned()),
            None => Err("it has no `state`, so it may belong to another login".to_owned()),
        }
    }
}

/// The value of a parameter that occurs exactly once.
fn only(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let mut values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let value = values.next()?;
    values.next().is_none().then_some(value).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_another_log_in_is_told_from_this_one() {
        let redirect =
            Redirect::of("http://127.0.0.1:7/callback", "https://as/authorize?state=own&state=x%20y").unwrap();
        assert_eq!(redirect.check("http://127.0.0.1:7/callback?code=1&state=x+y"), Ok(()));
        assert_eq!(redirect.check("http://127.0.0.1:7/callback?error=access_denied&state=x%20y"), Ok(()));
        for (url, part) in [
            ("http://127.0.0.1:7/callback?code=1&state=z", "another login"),
            ("http://127.0.0.1:7/callback?code=1", "no `state`"),
            ("http://127.0.0.1:7/callback?code=1&state=x+y&state=x+y", "no `state`"),
            ("http://127.0.0.1:7/callback", "no `state`"),
            ("http://127.0.0.1:7/callbacks?state=x+y", "not the address"),
            ("http://127.0.0.1:71/callback?state=x+y", "not the address"),
            ("https://as/authorize?a=1&state=x%20y", "not the address"),
            ("", "not the address"),
        ] {
            let problem = redirect.check(url).unwrap_err();
            assert!(problem.contains(part), "{url}: {problem}");
        }
        assert!(Redirect::of("http://127.0.0.1:7/callback", "https://as/authorize?a=1").is_none());
    }
}
