//! `auth.type`, and the keys that only one type has.

use crate::syntax::reader::{Fields, ValueReader};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum AuthKind {
    OAuth,
    ClientCredentials,
    Enterprise,
    TokenExchange,
    Signed,
    /// Would show the client's token to the server.
    Passthrough,
}

pub(super) const KINDS: [(&str, AuthKind); 8] = [
    ("oauth", AuthKind::OAuth),
    ("clientCredentials", AuthKind::ClientCredentials),
    ("enterprise", AuthKind::Enterprise),
    ("tokenExchange", AuthKind::TokenExchange),
    ("signed", AuthKind::Signed),
    ("passthrough", AuthKind::Passthrough),
    ("bearer", AuthKind::Passthrough),
    ("forward", AuthKind::Passthrough),
];

/// The keys that not every type has, with their readers.
#[derive(Default)]
pub(super) struct OwnKeys<'a> {
    found: Vec<(AuthKind, ValueReader<'a>)>,
}

impl<'a> OwnKeys<'a> {
    pub(super) fn read<T>(
        &mut self,
        fields: &mut Fields<'a>,
        kind: AuthKind,
        key: &'static str,
        read: impl FnOnce(&ValueReader<'a>) -> Option<T>,
    ) -> Option<T> {
        let reader = fields.get(key)?;
        let value = read(&reader);
        self.found.push((kind, reader));
        value
    }

    /// Reports keys that have no effect with this type.
    pub(super) fn refuse_others(&self, kind: AuthKind) {
        for (owner, reader) in self.found.iter().filter(|(owner, _)| *owner != kind) {
            let name = KINDS.iter().find(|(_, kind)| kind == owner).map_or("", |(name, _)| name);
            reader.report(reader.problem(&format!("requires `type: {name}`")).at(reader.place()));
        }
    }
}
