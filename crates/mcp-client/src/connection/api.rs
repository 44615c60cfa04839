//! Connections to APIs. There is no handshake: what a server would say is in the description, and its host is not asked
//! before the first call.

use std::sync::Arc;

use serde_json::json;

use super::connector::{ConnectError, ConnectionPurpose, Connector};
use super::established::Connection;
use super::handshake::{HandshakeError, Negotiation};
use crate::transport::{ApiSettings, ApiTransport, Description, ServerClient, Transport};
use proxy_config::OpenApiConfig;
use proxy_model::{Abilities, ServerInfo};
use proxy_wire::Revision;
use proxy_wire::http::{HttpClient, HttpError};

impl Connector {
    /// Reads the description, and makes sure that there are credentials if the config demands any.
    pub(super) async fn connect_api(
        &self,
        config: &OpenApiConfig,
        purpose: ConnectionPurpose,
    ) -> Result<Arc<Connection>, ConnectError> {
        let settings = ApiSettings { openapi: config.clone(), has_auth: self.server.auth.is_some() };
        let description = self.environment().descriptions.of(&self.name, &settings).await?;
        self.log_in.authorization().await.map_err(HandshakeError::from)?;
        let client = self.api_client(&description, config).map_err(|error| ConnectError::Failed(error.to_string()))?;
        let negotiation = Negotiation {
            // The era in which one connection serves all clients.
            revision: Revision::LATEST,
            info: info(&self.name, &description),
            declared: Abilities::NONE,
        };
        let transport = ApiTransport::new(&self.name, description, client, Arc::clone(&purpose.signals));
        Ok(self.connection(Transport::Api(Box::new(transport)), negotiation, purpose))
    }

    fn api_client(&self, description: &Description, config: &OpenApiConfig) -> Result<ServerClient, HttpError> {
        let base = description.api().base.clone();
        let client =
            HttpClient::new(&self.environment().pool, base.as_str(), &config.headers, self.max_message_bytes())?;
        Ok(ServerClient::new(client, &self.log_in))
    }
}

/// What a server would say about itself.
fn info(name: &str, description: &Description) -> ServerInfo {
    let api = description.api();
    let title = if api.title().is_empty() { name } else { api.title() };
    ServerInfo {
        name: title.to_owned(),
        version: api.version().to_owned(),
        title: String::new(),
        instructions: String::new(),
        protocol_version: format!("OpenAPI {}", api.openapi_version()),
        capabilities: json!({"tools": {"listChanged": true}}),
        implementation: json!({"name": title, "version": api.version()}),
    }
}
