//! `auth.tokens`: who a bearer token stands for.

use std::collections::HashSet;

use crate::model::Secret;

use super::reader::Reader;

#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub token: Secret,
    pub sub: String,
    pub email: String,
    pub groups: Vec<String>,
}

pub(super) fn read_auth(reader: &Reader) -> Option<Vec<Token>> {
    let mut fields = reader.fields()?;
    let mut seen = HashSet::new();
    let tokens = fields.read("tokens", |tokens| tokens.list(|item| read_token(item, &mut seen)));
    fields.finish();
    tokens
}

fn read_token(reader: &Reader, seen: &mut HashSet<Secret>) -> Option<Token> {
    let mut fields = reader.fields()?;
    let token = fields.get("token");
    let sub = fields.get("sub");
    let email = fields.read("email", Reader::string).unwrap_or_default();
    let groups = fields.read("groups", |groups| groups.list(Reader::word)).unwrap_or_default();
    fields.finish();
    let Some(token) = token else { return reader.fail("needs `token`, what the client sends") };
    let Some(sub) = sub else { return reader.fail("needs `sub`, who the token stands for") };
    let (secret, sub) = (token.secret(), sub.word());
    let secret = secret?;
    if secret.reveal().is_empty() {
        return token.fail("must not be empty: anybody could send it");
    }
    if !seen.insert(secret.clone()) {
        return token.fail("this token is listed already");
    }
    Some(Token { token: secret, sub: sub?, email, groups })
}
