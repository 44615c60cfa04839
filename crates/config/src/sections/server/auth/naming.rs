//! How the names of servers with an account for each person are made unique. What such a server lists depends on who has
//! logged in. If its names did too, a tool would be that of one account today and that of another tomorrow. So the config
//! alone decides.

use indexmap::IndexMap;

use crate::sections::server::ServerConfig;

/// How `conflictResolution: auto` names the tools and prompts of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// In the order of the config.
    #[default]
    InOrder,
    /// After those of all other servers, because they come and go with log-ins.
    Last,
    /// Always with the prefix: another server may have the same ones.
    Prefixed,
}

impl Naming {
    /// The word that scripts see.
    pub fn as_str(self) -> &'static str {
        match self {
            Naming::InOrder => "order",
            Naming::Last => "last",
            Naming::Prefixed => "prefix",
        }
    }
}

/// The naming of each server that does not take part in the order of the config.
pub fn namings(servers: &IndexMap<String, ServerConfig>) -> IndexMap<String, Naming> {
    let personal: Vec<&String> =
        enabled(servers).filter(|(_, server)| server.personal().is_some()).map(|(name, _)| name).collect();
    let naming = |name: &str| match personal.len() {
        1 if with_same_url(servers, name).is_empty() => Naming::Last,
        _ => Naming::Prefixed,
    };
    personal.iter().map(|name| ((*name).clone(), naming(name))).collect()
}

/// The other servers with the URL of this one: other accounts, and probably the same tools.
pub fn with_same_url<'a>(servers: &'a IndexMap<String, ServerConfig>, name: &str) -> Vec<&'a str> {
    let Some(url) = servers.get(name).and_then(url_of) else { return Vec::new() };
    let same = enabled(servers).filter(|(other, server)| *other != name && url_of(server) == Some(url));
    same.map(|(other, _)| other.as_str()).collect()
}

fn enabled(servers: &IndexMap<String, ServerConfig>) -> impl Iterator<Item = (&String, &ServerConfig)> {
    servers.iter().filter(|(_, server)| !server.disabled)
}

fn url_of(server: &ServerConfig) -> Option<&str> {
    server.transport.url().map(|url| url.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::loaded;

    fn found(servers: &str) -> Vec<(String, Naming)> {
        namings(&loaded(&format!("mcpServers: {{{servers}}}\n")).servers).into_iter().collect()
    }

    fn naming(name: &str, naming: Naming) -> (String, Naming) {
        (name.to_owned(), naming)
    }

    #[test]
    fn the_only_server_with_personal_accounts_comes_last() {
        let found =
            found("wiki: {url: 'https://wiki/mcp'}, crm: {url: 'https://crm/mcp', auth: {type: oauth, per: person}}");
        assert_eq!(found, [naming("crm", Naming::Last)]);
    }

    #[test]
    fn several_servers_with_personal_accounts_have_prefixes() {
        let both = found(
            "a: {url: 'https://a/', auth: {type: oauth, per: person}}, b: {url: 'https://b/', auth: {type: oauth, per: person}}, \
             c: {url: 'https://c/'}",
        );
        assert_eq!(both, [naming("a", Naming::Prefixed), naming("b", Naming::Prefixed)]);
        let one_is_off = found(
            "a: {url: 'https://a/', auth: {type: oauth, per: person}}, \
             b: {url: 'https://b/', disabled: true, auth: {type: oauth, per: person}}",
        );
        assert_eq!(one_is_off, [naming("a", Naming::Last)]);
    }

    #[test]
    fn a_personal_account_beside_a_shared_one_at_the_same_url_has_a_prefix() {
        let found =
            found("all: {url: 'https://h/mcp/'}, own: {url: 'https://h/mcp', auth: {type: oauth, per: person}}");
        assert_eq!(found, [naming("own", Naming::Prefixed)]);
    }
}
