//! Says which redirect URIs a client must have that was registered by hand, where people log in on pages.

use proxy_base::diagnostic::Diagnostic;
use proxy_config::{AuthConfig, Config, ServerConfig};

/// A remark for each server with an account for each person and a client of the config.
pub(super) fn remarks(config: &Config) -> Vec<Diagnostic> {
    let servers = config.servers.iter().filter(|(_, server)| !server.disabled);
    servers.filter_map(|(name, server)| remark(name, server)).collect()
}

fn remark(name: &str, server: &ServerConfig) -> Option<Diagnostic> {
    let Some(AuthConfig::OAuth(oauth)) = &server.auth else { return None };
    oauth.client.as_ref()?;
    let page = oauth.personal.as_ref()?.page_redirect(name)?;
    let port = if oauth.redirect_port == 0 { String::new() } else { format!(":{}", oauth.redirect_port) };
    let remark = Diagnostic::remark(format!(
        "`mcpServers.{name}.auth`: the client needs the redirect URIs `{page}` and `http://127.0.0.1{port}/callback`"
    ));
    Some(remark.at_known(server.auth_place.as_ref()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_client_that_was_registered_by_hand_needs_both_places() {
        let text = "mcpServers: {crm: {url: 'https://crm/mcp', auth: {type: oauth, per: person, issuer: 'https://as', clientId: me}}}\n\
                    auth: {issuers: [{issuer: 'https://id', signIn: {clientId: pages}}]}\n\
                    serve: {publicUrl: 'https://edge/mcp'}\n";
        let found = |text: &str| {
            let (config, _) = proxy_config::load_text(Path::new("proxy.yaml"), text, &|_| None).unwrap();
            remarks(&config).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let told = found(text);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].contains("`https://edge/mcp/connect/crm/callback` and `http://127.0.0.1/callback`"),
            "{told:?}"
        );
        assert!(found(&text.replace("per: person, ", "")).is_empty());
    }
}
