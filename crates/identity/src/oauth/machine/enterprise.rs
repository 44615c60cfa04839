//! Enterprise-managed authorization: the company's identity provider exchanges an ID token for an assertion (ID-JAG), which
//! the MCP server's authorization server exchanges for an access token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use oauth2::ClientSecret;
use rmcp::transport::auth::enterprise::{
    EmaAuthorizationServer, EmaClientAuthentication, EmaError, EmaExchangeRequest, EmaExchangeStage,
};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;
use url::Url;

use super::token::{NoToken, TokenRequest};
use crate::oauth::exchange::normalized;
use crate::oauth::terms::{AuthMethod, Grant};
use proxy_config::{EnterpriseConfig, IdToken, RegisteredClient};
use proxy_model::Secret;
use proxy_wire::http::{Fetcher, Reach};

pub(crate) async fn fetch(config: &EnterpriseConfig, request: TokenRequest<'_>) -> Result<Grant, NoToken> {
    let id_token = read_id_token(&config.id_token).await?;
    let server = &request.discovered.authorization_server;
    // Its assertion is checked to be of the issuer whose ID token it is made from.
    let issuer = issuer_of(id_token.reveal())
        .ok_or_else(|| NoToken::Refused("the ID token is not a JWT with an `iss`".to_owned()))?;
    let idp = EmaAuthorizationServer::new(issuer, config.idp_token_url.clone(), config.idp_client.id.clone())
        .with_client_authentication(proof(&config.idp_client, AuthMethod::Basic));
    let resource_server =
        EmaAuthorizationServer::new(server.issuer.clone(), server.token_endpoint.clone(), config.client.id.clone())
            .with_client_authentication(proof(&config.client, server.secret_method()));
    let resource = request.resource.unwrap_or_else(|| request.server_url.to_owned());
    // The config names the identity provider, so it may be where the server could not send the proxy.
    let idp_reach = match Url::parse(&config.idp_token_url) {
        Ok(url) => Reach::of(&url).await,
        Err(_) => request.reach,
    };
    let at_idp = HttpClient { fetcher: request.fetcher, reach: idp_reach };
    let at_server = HttpClient { fetcher: request.fetcher, reach: request.reach };
    let exchange = EmaExchangeRequest::new_with_id_token(idp, resource_server, &resource, id_token.reveal())
        .with_scopes(request.scopes);
    let token = exchange.exchange(&at_idp, &at_server).await.map_err(problem)?;
    let mut scopes: Vec<String> = token.scopes.into_iter().collect();
    scopes.sort();
    Ok(Grant {
        access_token: Secret::new(token.access_token.secret()),
        refresh_token: None,
        expires_in: token.expires_in,
        scopes: Some(scopes),
    })
}

/// Sends what rmcp asks for.
struct HttpClient<'a> {
    fetcher: &'a Fetcher,
    reach: Reach,
}

impl OAuthHttpClient for HttpClient<'_> {
    /// Its redirect policy is not needed: what is posted follows none.
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let mut response = self.fetcher.fetch(self.reach, request.request).await?;
            if let Ok(document) = serde_json::from_slice(response.body()) {
                *response.body_mut() = normalized(&document).to_string().into_bytes();
            }
            Ok(response)
        })
    }
}

async fn read_id_token(token: &IdToken) -> Result<Secret, NoToken> {
    match token {
        IdToken::Text(text) => Ok(text.clone()),
        IdToken::File(file) => match tokio::fs::read_to_string(file).await {
            Ok(text) => Ok(Secret::new(text.trim())),
            Err(error) => Err(NoToken::Refused(format!("cannot read the ID token in `{}`: {error}", file.display()))),
        },
    }
}

fn issuer_of(id_token: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(id_token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    claims.get("iss")?.as_str().map(str::to_owned)
}

fn proof(client: &RegisteredClient, method: AuthMethod) -> EmaClientAuthentication {
    match &client.secret {
        None => EmaClientAuthentication::None,
        Some(secret) => {
            let secret = ClientSecret::new(secret.reveal().to_owned());
            match method {
                AuthMethod::Post => EmaClientAuthentication::ClientSecretPost(secret),
                _ => EmaClientAuthentication::ClientSecretBasic(secret),
            }
        }
    }
}

/// Its errors hold codes and no text of others.
fn problem(error: EmaError) -> NoToken {
    let place = |stage: EmaExchangeStage| match stage {
        EmaExchangeStage::IdentityProvider => "the identity provider",
        _ => "the authorization server",
    };
    match error {
        EmaError::RequestFailed(stage) => NoToken::Later(format!("no response from {}", place(stage))),
        EmaError::OAuthRejected { stage, status, .. } if status >= 500 => {
            NoToken::Later(format!("{} answered with HTTP {status}", place(stage)))
        }
        EmaError::OAuthRejected { stage, code, .. } => NoToken::Refused(format!("{} says `{code}`", place(stage))),
        EmaError::InvalidGrant(EmaExchangeStage::IdentityProvider) => {
            NoToken::Refused("the identity provider says `invalid_grant`: the ID token may have expired".to_owned())
        }
        EmaError::InvalidGrant(stage) => NoToken::Refused(format!("{} says `invalid_grant`", place(stage))),
        EmaError::InsufficientUserAuthentication(stage) => {
            NoToken::Refused(format!("{} says `insufficient_user_authentication`", place(stage)))
        }
        EmaError::InvalidResponse { stage, message } => {
            NoToken::Refused(format!("{} sent an invalid response: {message}", place(stage)))
        }
        EmaError::InvalidRequest(message) => NoToken::Refused(message.to_owned()),
        _ => NoToken::Refused("the exchange of the ID token failed".to_owned()),
    }
}
