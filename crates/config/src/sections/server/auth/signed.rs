//! `auth: {type: signed}`: what it takes from `serve`.

use indexmap::IndexMap;

use super::types::AuthConfig;
use crate::sections::serve::Serve;
use crate::sections::server::ServerConfig;
use proxy_base::diagnostic::Diagnostic;

/// Fills in the key and the issuer.
///
/// # Errors
/// One for each server, if `serve` lacks one of them.
pub(crate) fn resolve_signed(servers: &mut IndexMap<String, ServerConfig>, serve: &Serve) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, server) in servers {
        let Some(AuthConfig::Signed(signed)) = &mut server.auth else { continue };
        let (missing, hint) = match (&serve.identity_key, &serve.public_url) {
            (Some(key), Some(url)) => {
                signed.key = key.clone();
                signed.issuer.clone_from(url);
                continue;
            }
            (None, _) => {
                ("serve.identityKey", "generate one with `openssl rand -base64 32`, the same for all replicas")
            }
            (_, None) => ("serve.publicUrl", "set it to the URL of this proxy: it is the issuer of what it signs"),
        };
        let text = format!("`mcpServers.{name}.auth`: `type: signed` requires `{missing}`");
        problems.push(Diagnostic::error(text).hint(hint).at_known(server.auth_place.as_ref()));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    const SERVER: &str = "mcpServers: {host: {url: 'https://host/mcp', auth: {type: signed}}}\n";
    const KEY: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn the_key_and_the_issuer_are_those_of_the_proxy() {
        let config = loaded(&format!("{SERVER}serve: {{identityKey: {KEY}, publicUrl: 'https://edge/mcp'}}\n"));
        let Some(AuthConfig::Signed(signed)) = &config.servers["host"].auth else { panic!("another type") };
        assert_eq!((signed.key.reveal(), signed.issuer.as_str()), (KEY, "https://edge/mcp"));
        assert!(!format!("{:?}", config.servers).contains(KEY));
    }

    #[test]
    fn what_is_missing_is_told() {
        for (serve, missing) in [
            ("", "serve.identityKey"),
            ("serve: {publicUrl: 'https://edge/mcp'}", "serve.identityKey"),
            ("serve: {identityKey: 0123456789abcdef0123456789abcdef}", "serve.publicUrl"),
        ] {
            let found = errors(&format!("{SERVER}{serve}"));
            assert!(found.len() == 1 && found[0].contains(missing), "{found:?}");
        }
        let more = errors("mcpServers: {host: {url: 'https://host/mcp', auth: {type: signed, scopes: [a]}}}\n");
        assert!(more[0].contains("has no other keys"), "{more:?}");
        let short = errors("serve: {identityKey: short}");
        assert!(short[0].contains("at least 32 bytes"), "{short:?}");
    }
}
