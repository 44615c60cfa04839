//! `auth.scopes`: the scopes that items require.

use crate::sections::oauth_values::read_scope;
use crate::syntax::reader::ValueReader;
use proxy_model::{ItemKind, ScopeRule};

pub(super) fn read_rule(reader: &ValueReader) -> Option<ScopeRule> {
    let mut fields = reader.fields()?;
    let kinds = [("tools", ItemKind::Tool), ("prompts", ItemKind::Prompt), ("resources", ItemKind::Resource)];
    let named = kinds.map(|(key, kind)| fields.get(key).map(|pattern| (read_pattern(&pattern), kind)));
    let scopes = fields.get("scopes");
    let read = scopes.as_ref().and_then(|scopes| scopes.list(read_scope));
    fields.finish();
    let mut named = named.into_iter().flatten();
    let Some((pattern, kind)) = named.next() else {
        return reader.fail("missing key `tools`, `prompts` or `resources`");
    };
    if named.next().is_some() {
        return reader.fail("has several of `tools`, `prompts` and `resources`: write a rule for each");
    }
    if scopes.is_none_or(|scopes| scopes.is_empty()) {
        return reader.fail("missing key `scopes` (the scopes that these items require)");
    }
    Some(ScopeRule { kind, pattern: pattern?, scopes: read? })
}

/// A name or a glob.
fn read_pattern(reader: &ValueReader) -> Option<glob::Pattern> {
    let text = reader.word()?;
    glob::Pattern::new(&text).map_or_else(|_| reader.expected("a name or a glob such as `delete_*`"), Some)
}
