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
    found: Vec<(Vec<AuthKind>, ValueReader<'a>)>,
}

impl<'a> OwnKeys<'a> {
    pub(super) fn read<T>(
        &mut self,
        fields: &mut Fields<'a>,
        kind: AuthKind,
        key: &'static str,
        read: impl FnOnce(&ValueReader<'a>) -> Option<T>,
    ) -> Option<T> {
        self.read_shared(fields, &[kind], key, read)
    }

    /// Reads a key that several types have.
    pub(super) fn read_shared<T>(
        &mut self,
        fields: &mut Fields<'a>,
        kinds: &[AuthKind],
        key: &'static str,
        read: impl FnOnce(&ValueReader<'a>) -> Option<T>,
    ) -> Option<T> {
        let reader = fields.get(key)?;
        let value = read(&reader);
        self.found.push((kinds.to_vec(), reader));
        value
    }

    /// Reports keys that have no effect with this type.
    pub(super) fn refuse_others(&self, kind: AuthKind) {
        for (owners, reader) in self.found.iter().filter(|(owners, _)| !owners.contains(&kind)) {
            let names: Vec<String> = owners.iter().map(|owner| format!("`{}`", name_of(*owner))).collect();
            let types = match names.as_slice() {
                [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                names => names.concat(),
            };
            let types = types.replacen('`', "`type: ", 1);
            reader.report(reader.problem(&format!("requires {types}")).at(reader.place()));
        }
    }
}

fn name_of(kind: AuthKind) -> &'static str {
    KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name)
}
