//! What a server asks for: the `Bearer` challenge of its `WWW-Authenticate` headers.

use proxy_config::is_scope;

/// The `Bearer` challenge of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where the metadata of the protected resource are.
    pub resource_metadata: Option<String>,
    pub scopes: Vec<String>,
    pub error: Option<String>,
}

impl Challenge {
    /// The `Bearer` challenge among the values of all `WWW-Authenticate` headers: the first that names its metadata,
    /// else the first.
    pub fn find<'a>(values: impl IntoIterator<Item = &'a String>) -> Option<Self> {
        let mut bearers = values
            .into_iter()
            .flat_map(|value| parse(value))
            .filter(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"))
            .map(Challenge::from)
            .collect::<Vec<_>>()
            .into_iter();
        let first = bearers.next()?;
        if first.resource_metadata.is_some() {
            return Some(first);
        }
        Some(bearers.find(|other| other.resource_metadata.is_some()).unwrap_or(first))
    }

    /// Whether a log-in is good and lacks permission.
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

impl From<AnyChallenge> for Challenge {
    fn from(challenge: AnyChallenge) -> Self {
        let parameter = |name: &str| {
            let found = challenge.parameters.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        let mut scopes: Vec<String> = Vec::new();
        for scope in parameter("scope").unwrap_or_default().split_ascii_whitespace() {
            // What is not a scope could not be asked for.
            if is_scope(scope) && !scopes.iter().any(|known| known == scope) {
                scopes.push(scope.to_owned());
            }
        }
        Challenge { resource_metadata: parameter("resource_metadata"), scopes, error: parameter("error") }
    }
}

/// A challenge of any scheme.
#[derive(Debug, PartialEq)]
struct AnyChallenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

/// The challenges of one header (RFC 9110, 11.6.1). The list has commas between challenges and between the parameters of
/// one: a word that is followed by `=` and a value is a parameter, any other begins a challenge. What is malformed ends the
/// list: what is behind it cannot be told apart.
fn parse(header: &str) -> Vec<AnyChallenge> {
    let mut challenges: Vec<AnyChallenge> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let Some((word, behind)) = token(rest) else { break };
        if let Some((value, behind)) = parameter_value(behind) {
            let Some(current) = challenges.last_mut() else { break };
            current.parameters.push((word.to_owned(), value));
            rest = behind;
        } else {
            challenges.push(AnyChallenge { scheme: word.to_owned(), parameters: Vec::new() });
            rest = skip_token68(behind);
        }
        let between = rest.trim_start_matches([' ', '\t']);
        let begins_first_parameter = rest.len() > between.len() && challenges.last().is_some_and(is_bare);
        if !(between.is_empty() || between.starts_with(',') || begins_first_parameter) {
            break;
        }
    }
    challenges
}

fn is_bare(challenge: &AnyChallenge) -> bool {
    challenge.parameters.is_empty()
}

/// A token at the beginning, and what is behind it.
fn token(text: &str) -> Option<(&str, &str)> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().position(|byte| !is_token(byte)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `= value` at the beginning, and what is behind it.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let space = [' ', '\t'];
    let value = text.trim_start_matches(space).strip_prefix('=')?.trim_start_matches(space);
    match value.strip_prefix('"') {
        Some(quoted) => quoted_string(quoted),
        None => token(value).map(|(value, behind)| (value.to_owned(), behind)),
    }
}

/// The rest of a quoted string whose first quote is read already.
fn quoted_string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// Behind a scheme: without its token68, such as the `YII=` of `Negotiate YII=`.
fn skip_token68(text: &str) -> &str {
    let begin = text.trim_start_matches([' ', '\t']);
    if begin.len() == text.len() {
        return text;
    }
    let is_token68 = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    let end = begin.bytes().position(|byte| !is_token68(byte)).unwrap_or(begin.len());
    let behind = begin[end..].trim_start_matches('=');
    let ends_element =
        behind.trim_start_matches([' ', '\t']).is_empty() || behind.trim_start_matches([' ', '\t']).starts_with(',');
    // Without padding and with a value it is a parameter.
    if end > 0 && ends_element { behind } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(values: &[&str]) -> Option<Challenge> {
        Challenge::find(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
    }

    fn scopes(value: &str) -> Vec<String> {
        find(&[value]).unwrap().scopes
    }

    #[test]
    fn a_challenge_names_its_metadata_its_scopes_and_its_error() {
        let challenge =
            find(&[r#"Bearer error="insufficient_scope", scope="a b", resource_metadata="https://h/m?a=1,2""#])
                .unwrap();
        assert_eq!(challenge.resource_metadata.as_deref(), Some("https://h/m?a=1,2"));
        assert_eq!(challenge.scopes, ["a", "b"]);
        assert!(challenge.is_insufficient_scope());
        assert_eq!(find(&["Bearer"]), Some(Challenge::default()));
        assert_eq!(find(&["bEARER realm=x,scope=a"]).unwrap().scopes, ["a"], "a scheme in any case, a token as value");
        assert_eq!(scopes("Bearer scope = \"a\""), ["a"], "space around the sign");
        assert_eq!(scopes(r#"Bearer scope="a a  b""#), ["a", "b"], "each once");
    }

    #[test]
    fn what_a_description_says_does_not_count() {
        let text = r#"Bearer error_description="needs scope=\"admin\", resource_metadata=https://evil", scope="read""#;
        let challenge = find(&[text]).unwrap();
        assert_eq!((challenge.scopes, challenge.resource_metadata), (vec!["read".to_owned()], None));
        assert_eq!(scopes(r#"Bearer error_description="scope=admin""#), [""; 0]);
        assert_eq!(scopes(r#"Bearer x_scope="admin""#), [""; 0]);
    }

    #[test]
    fn other_schemes_stand_beside_it() {
        let basic = r#"Basic realm="a, Bearer scope=\"x\"", charset="UTF-8""#;
        assert_eq!(find(&[basic]), None);
        assert_eq!(find(&[&format!(r#"{basic}, Bearer scope="b""#)]).unwrap().scopes, ["b"]);
        assert_eq!(scopes(r#"Negotiate YII=, Bearer scope="b", Digest realm=d, scope="c""#), ["b"]);
        assert_eq!(scopes(r#"Negotiate abc/+==,, ,Bearer scope="b""#), ["b"]);
        assert_eq!(scopes(r#"Bearer, Basic scope="c""#), [""; 0]);
        assert_eq!(find(&["DPoP algs=\"ES256\"", "Bearer scope=\"b\""]).unwrap().scopes, ["b"], "two headers");
    }

    #[test]
    fn the_challenge_that_names_its_metadata_is_the_best() {
        let found = find(&["Bearer scope=a", r#"Bearer resource_metadata="https://h/m", scope=b"#]).unwrap();
        assert_eq!((found.resource_metadata.as_deref(), found.scopes), (Some("https://h/m"), vec!["b".to_owned()]));
    }

    #[test]
    fn malformed_headers_give_what_is_before_the_fault() {
        assert_eq!(find(&[""]), None);
        assert_eq!(find(&["=x, Bearer scope=a"]), None);
        assert_eq!(scopes(r#"Bearer scope="a", realm="open"#), ["a"]);
        assert_eq!(scopes(r#"Bearer scope="a" realm="b""#), ["a"], "no comma between parameters");
        assert_eq!(scopes("Bearer scope=\"a \u{e9} \"\""), ["a"], "not a scope");
        for text in ["Bearer \"", "Bearer scope=", "Bearer ,,,", "Bearer \u{0}", "ä", "Bearer scope=\"\\"] {
            let _ = find(&[text]);
        }
    }
}
