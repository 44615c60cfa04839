//! `auth.tokens`: bearer tokens and the users they identify.

use std::collections::HashSet;

use serde_json::{Map, Value};

use proxy_base::diagnostic::Location;
use proxy_json::canonical;
use proxy_model::{Principal, Secret};

use crate::sections::oauth_values::read_scope;
use crate::syntax::reader::ValueReader;

/// The minimum length of a token.
const MIN_CHARACTERS: usize = 16;

#[derive(Clone, Debug)]
pub struct Token {
    pub token: Secret,
    pub sub: String,
    pub email: String,
    pub name: String,
    pub groups: Vec<String>,
    /// Additional information about the user for scripts.
    pub claims: Map<String, Value>,
    /// The token's scopes, checked against `auth.scopes`.
    pub scopes: Vec<String>,
    /// Its location in the config file.
    pub place: Option<Location>,
}

/// Its location does not count: a reload that moves a token changes nothing.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.token == other.token && self.principal() == other.principal()
    }
}

impl Token {
    /// The user who has this token.
    pub fn principal(&self) -> Principal {
        Principal::named(&self.sub).with(|user| {
            user.email = self.email.as_str().into();
            user.name = self.name.as_str().into();
            user.groups = self.groups.clone().into();
            user.claims = canonical(&Value::Object(self.claims.clone())).into();
            user.scopes = self.scopes.clone().into();
        })
    }
}

pub(super) fn read_token(reader: &ValueReader, seen: &mut HashSet<Secret>) -> Option<Token> {
    let mut fields = reader.fields()?;
    let token = fields.get("token");
    let sub = fields.get("sub");
    let email = fields.read("email", ValueReader::string).unwrap_or_default();
    let name = fields.read("name", ValueReader::string).unwrap_or_default();
    let claims = fields.read("claims", ValueReader::json_object).unwrap_or_default();
    let groups = fields.read("groups", |groups| groups.list(ValueReader::word)).unwrap_or_default();
    let scopes = fields.read("scopes", |scopes| scopes.list(read_scope)).unwrap_or_default();
    fields.finish();
    let Some(token) = token else { return reader.fail("missing key `token` (the bearer token that the client sends)") };
    let Some(sub) = sub else { return reader.fail("missing key `sub` (the user that the token identifies)") };
    let (secret, sub) = (token.secret(), sub.word());
    let secret = secret?;
    if secret.reveal().is_empty() {
        return token.fail("must not be empty");
    }
    if secret.reveal().chars().count() < MIN_CHARACTERS && !token.is_unread() {
        return token.fail(&format!(
            "must have at least {MIN_CHARACTERS} characters, or it can be guessed (`openssl rand -base64 32` generates one)"
        ));
    }
    if !seen.insert(secret.clone()) {
        return token.fail("duplicate token");
    }
    Some(Token { token: secret, sub: sub?, email, name, groups, claims, scopes, place: Some(reader.place()) })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::testing::{errors, loaded};

    #[test]
    fn a_token_stands_for_somebody() {
        let config = loaded(
            "auth: {tokens: [{token: '${TOKEN}', sub: ann, email: a@b.c, name: Ann, groups: [ops], \
             claims: {team: red}}]}",
        );
        let token = &config.auth.tokens[0];
        assert_eq!(token.token.reveal(), "s3cret-from-environment");
        assert_eq!((token.sub.as_str(), token.email.as_str()), ("ann", "a@b.c"));
        assert_eq!(token.groups, ["ops"]);
        assert_eq!((token.name.as_str(), &token.claims["team"]), ("Ann", &Value::from("red")));
    }

    #[test]
    fn empty_and_repeated_tokens_are_refused_without_showing_them() {
        let found = errors(
            "auth:\n  tokens:\n  - {token: s3cret-of-length-1, sub: a}\n  - {token: s3cret-of-length-1, sub: b}\n  - {token: '${EMPTY}', sub: c}\n  \
             - {token: s3cret-of-length-2, sub: ''}\n  - {sub: d}\n  - {token: s3cret-of-length-3}\n  - s3cret-of-length-4\n",
        );
        assert_eq!(
            found,
            [
                "4:13 `auth.tokens[1].token`: duplicate token",
                "5:13 `auth.tokens[2].token`: must not be empty",
                "6:38 `auth.tokens[3].sub`: must not be empty",
                "7:5 `auth.tokens[4]`: missing key `token` (the bearer token that the client sends)",
                "8:5 `auth.tokens[5]`: missing key `sub` (the user that the token identifies)",
                "9:5 `auth.tokens[6]`: expected a map of keys and values, found `******************`",
            ]
        );
    }

    #[test]
    fn a_token_that_can_be_guessed_is_refused_with_the_cure() {
        let found = errors("auth: {tokens: [{token: fifteen-letters, sub: a}, {token: exactly-16-long-, sub: b}]}");
        let [error] = found.as_slice() else { panic!("{found:?}") };
        let expected =
            "`auth.tokens[0].token`: must have at least 16 characters, or it can be guessed (`openssl rand -base64 32`";
        assert!(error.contains(expected) && !error.contains("fifteen"), "{error}");
    }
}
