//! `elicit_url()`: asks the client's user to open a URL.

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use url::{Host, Url};

use super::elicit::{answer_struct, check_message, check_unavailable, note_answer, require_askable, unavailable};
use proxy_base::foreign_text::visible;
use proxy_json::RawRef;
use proxy_model::{Question, QuestionKind};
use proxy_script::{Context, ScriptError};

#[starlark_module]
pub fn register_elicit_url(builder: &mut GlobalsBuilder) {
    /// Asks the client's user to open a URL. Use it for data that must not pass through the client, such as logins,
    /// payments and secrets. Returns a struct with `action` (`"accept"`, `"decline"` or `"cancel"`), an empty
    /// `content`, and `asked`, which is False if the client could not ask its user. `"accept"` means that the user agreed to open the URL, not that they completed the task there. `url`
    /// must use `https`, or `http` on this machine (`localhost`, `127.0.0.1`, `[::1]`), and must not contain a user
    /// name or password. `when_unavailable` works as in `elicit()`, for clients that do not support URL elicitation.
    /// Only while a call is handled.
    ///
    /// The handler stops here and runs again from the start when the answer arrives, as with `elicit()`.
    ///
    /// ```python
    /// def connect(args):
    ///     answer = elicit_url("Log in to the calendar", "https://calendar.example.com/login", when_unavailable = "reject")
    ///     return "go on in the browser" if answer.action == "accept" else error("not connected")
    /// ```
    fn elicit_url<'v>(
        message: &str,
        url: &str,
        #[starlark(require = named)] when_unavailable: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        check_unavailable(when_unavailable)?;
        check_message(message)?;
        let url = checked(url)?;
        require_askable("elicit_url", Context::of(eval)?)?;
        let question = Question {
            message: visible(message).into_owned(),
            schema: RawRef::EMPTY_OBJECT.to_owned(),
            reminders: 0,
            kind: QuestionKind::Url(url),
        };
        let answer = Context::of(eval)?.ask("elicit_url", question, || unavailable(when_unavailable))?;
        note_answer(&answer, Context::of(eval)?);
        answer_struct(&answer, eval.heap())
    }
}

/// The address as it is shown: in its ASCII form, so that nothing in it is invisible or looks like something else.
fn checked(text: &str) -> Result<String, ScriptError> {
    let wrong = |problem: &str| {
        ScriptError::new(format!("`url` {problem}"))
            .hint("as in `https://example.com/login`, or `http://localhost:8080/` for a page on this machine")
    };
    let url = Url::parse(text).map_err(|error| wrong(&format!("is not an address: {error}")))?;
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => return Err(wrong("uses `http` to another machine, so the page could be changed in transit")),
        other => return Err(wrong(&format!("is neither `https` nor `http`, but `{other}`"))),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a user name or a password, which can disguise the host"));
    }
    Ok(url.into())
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_or_of_this_machine() {
        for (given, shown) in [
            ("https://example.com/login?next=%2F", "https://example.com/login?next=%2F"),
            ("http://localhost:8080/", "http://localhost:8080/"),
            ("http://127.0.0.1/x", "http://127.0.0.1/x"),
            ("http://[::1]:1/", "http://[::1]:1/"),
            ("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example/"),
            ("https://example.com/a\u{202e}b", "https://example.com/a%E2%80%AEb"),
        ] {
            assert_eq!(checked(given).ok().as_deref(), Some(shown));
        }
        for (given, problem) in [
            ("http://example.com/", "uses `http` to another machine"),
            ("http://localhost.example.com/", "uses `http` to another machine"),
            ("javascript:alert(1)", "neither `https` nor `http`, but `javascript`"),
            ("file:///etc/passwd", "`file`"),
            ("https://bank.example@evil.example/", "a user name"),
            ("/login", "is not an address"),
            ("https://", "is not an address"),
        ] {
            let error = checked(given).unwrap_err();
            assert!(error.message.contains(problem), "{given}: {}", error.message);
        }
    }
}
