//! The grant `client_credentials`: the proxy proves who it is by a secret or by a signature.

use std::path::Path;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rmcp::transport::auth::{AuthError, ClientCredentialsConfig as RmcpConfig};
use serde_json::json;

use super::token::{NoToken, TokenRequest};
use crate::oauth::exchange::{OAuthExchange, Rewrite};
use crate::oauth::terms::Grant;
use crate::oauth::unix_time::now;
use proxy_config::{ClientCredentialsConfig, ClientProof, SigningAlgorithm};
use proxy_model::Secret;

/// How long an assertion is valid, in seconds.
const ASSERTION_LIFETIME: u64 = 300;

pub(crate) async fn fetch(config: &ClientCredentialsConfig, request: TokenRequest<'_>) -> Result<Grant, NoToken> {
    match &config.proof {
        ClientProof::Secret(secret) => by_secret(&config.client_id, secret, request).await,
        ClientProof::PrivateKey { file, key_id, algorithm } => {
            let key = tokio::fs::read(file)
                .await
                .map_err(|error| NoToken::Refused(format!("cannot read `{}`: {error}", file.display())))?;
            let issuer = &request.discovered.authorization_server.issuer;
            let signed = assertion(&config.client_id, issuer, &key, *algorithm, key_id.as_deref());
            by_signature(signed.ok_or_else(|| unusable(file, *algorithm))?, request).await
        }
    }
}

async fn by_secret(client_id: &str, secret: &Secret, request: TokenRequest<'_>) -> Result<Grant, NoToken> {
    let server = &request.discovered.authorization_server;
    // It wants one in any case; what is sent is that of the rewriting.
    let resource = Some(request.resource.clone().unwrap_or_else(|| request.server_url.to_owned()));
    let config = RmcpConfig::ClientSecret {
        client_id: client_id.to_owned(),
        client_secret: secret.reveal().to_owned(),
        scopes: request.scopes,
        resource,
    };
    let rewrite = Rewrite { resource: request.resource, secrets: vec![secret.clone()], ..Rewrite::default() };
    let exchange = OAuthExchange::new(request.fetcher, request.reach, rewrite);
    let mut manager = exchange.bare_manager(request.server_url, server, server.secret_method()).await?;
    let unusable = |error: AuthError| NoToken::Refused(error.to_string());
    manager.configure_client_credentials(&config).map_err(unusable)?;
    Ok(exchange.granted(&server.issuer, manager.exchange_client_credentials(&config).await)?)
}

/// rmcp's assertion does not say which key has signed it, and its future cannot leave its thread.
async fn by_signature(assertion: Secret, request: TokenRequest<'_>) -> Result<Grant, NoToken> {
    let scopes = request.scopes.join(" ");
    let mut fields = vec![
        ("grant_type", "client_credentials"),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        // The client is who has signed it: there is no `client_id` (RFC 7523, 3).
        ("client_assertion", assertion.reveal()),
    ];
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    fields.extend(request.resource.as_deref().map(|resource| ("resource", resource)));
    let rewrite =
        Rewrite { resource: request.resource.clone(), secrets: vec![assertion.clone()], ..Rewrite::default() };
    let exchange = OAuthExchange::new(request.fetcher, request.reach, rewrite);
    Ok(exchange.post(&request.discovered.authorization_server, &fields).await?)
}

/// An assertion of who the client is (RFC 7523, with the issuer as audience).
fn assertion(
    client_id: &str,
    issuer: &str,
    key: &[u8],
    algorithm: SigningAlgorithm,
    key_id: Option<&str>,
) -> Option<Secret> {
    let mut header = Header::new(algorithm_of(algorithm));
    header.kid = key_id.map(str::to_owned);
    header.typ = Some("client-authentication+jwt".to_owned());
    let issued = now();
    let claims = json!({
        "iss": client_id, "sub": client_id, "aud": issuer,
        "iat": issued, "exp": issued + ASSERTION_LIFETIME, "jti": uuid::Uuid::new_v4().to_string(),
    });
    let key = EncodingKey::from_rsa_pem(key).or_else(|_| EncodingKey::from_ec_pem(key)).ok()?;
    jsonwebtoken::encode(&header, &claims, &key).ok().map(Secret::new)
}

fn unusable(file: &Path, algorithm: SigningAlgorithm) -> NoToken {
    let kind = match algorithm {
        SigningAlgorithm::Rs256 | SigningAlgorithm::Rs384 | SigningAlgorithm::Rs512 => "an RSA key",
        SigningAlgorithm::Es256 => "an EC key on P-256 in PKCS#8",
        SigningAlgorithm::Es384 => "an EC key on P-384 in PKCS#8",
    };
    NoToken::Refused(format!("cannot sign with `{}`: expected {kind} as PEM", file.display()))
}

fn algorithm_of(algorithm: SigningAlgorithm) -> Algorithm {
    match algorithm {
        SigningAlgorithm::Rs256 => Algorithm::RS256,
        SigningAlgorithm::Rs384 => Algorithm::RS384,
        SigningAlgorithm::Rs512 => Algorithm::RS512,
        SigningAlgorithm::Es256 => Algorithm::ES256,
        SigningAlgorithm::Es384 => Algorithm::ES384,
    }
}
