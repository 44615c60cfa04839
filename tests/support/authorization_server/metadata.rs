//! RFC 8414 and OpenID Connect discovery.

use axum::body::Body;
use http::Response;
use serde_json::json;

use super::{AuthorizationServer, MetadataPlace, Registration};
use crate::support::listener;

impl AuthorizationServer {
    pub(super) fn metadata(&self, path: &str) -> Response<Body> {
        let settings = self.settings();
        let tenant = settings.issuer_path;
        let place = match settings.place {
            MetadataPlace::OAuth => format!("/.well-known/oauth-authorization-server{tenant}"),
            MetadataPlace::OpenIdInserted => format!("/.well-known/openid-configuration{tenant}"),
            MetadataPlace::OpenIdAppended => format!("{tenant}/.well-known/openid-configuration"),
            MetadataPlace::Absent => return listener::text(404, "not found"),
        };
        if path != place {
            return listener::text(404, "not found");
        }
        let base = self.issuer();
        let issuer = self.claimed_issuer();
        let endpoint = settings.authorization_endpoint.unwrap_or_else(|| format!("{base}/authorize"));
        let methods = match settings.registration {
            Registration::Public => vec!["none"],
            Registration::Basic => vec!["client_secret_basic"],
            Registration::Post => vec!["client_secret_post"],
            _ => vec!["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
        };
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": endpoint,
            "token_endpoint": format!("{base}/token"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "token_endpoint_auth_methods_supported": methods,
            "client_id_metadata_document_supported": settings.client_documents,
        });
        let more = [
            ("registration_endpoint", settings.registration != Registration::Absent, json!(format!("{base}/register"))),
            ("revocation_endpoint", settings.revocation, json!(format!("{base}/revoke"))),
            ("code_challenge_methods_supported", settings.declares_pkce, json!(["S256"])),
            ("authorization_response_iss_parameter_supported", settings.declares_issuer_parameter, json!(true)),
            ("scopes_supported", settings.scopes_supported.is_some(), json!(settings.scopes_supported)),
        ];
        for (key, present, value) in more {
            if present {
                document[key] = value;
            }
        }
        listener::json(200, &document)
    }
}
