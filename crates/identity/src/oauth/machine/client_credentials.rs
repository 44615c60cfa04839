//! The grant `client_credentials`: the proxy proves who it is by a secret or by a signature.

use std::path::Path;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::json;

use super::token::{NoToken, TokenRequest};
use crate::client_form::ClientAuth;
use crate::oauth::exchange::OAuthExchange;
use crate::oauth::terms::Grant;
use crate::oauth::unix_time::now;
use proxy_config::{ClientCredentialsConfig, ClientProof, SigningAlgorithm};
use proxy_model::Secret;

/// How long an assertion is valid, in seconds.
const ASSERTION_LIFETIME: u64 = 300;

pub(crate) async fn fetch(config: &ClientCredentialsConfig, request: TokenRequest<'_>) -> Result<Grant, NoToken> {
    let server = &request.discovered.authorization_server;
    let signed;
    let client = match &config.proof {
        ClientProof::Secret(secret) => server.secret_method().auth(&config.client_id, Some(secret)),
        ClientProof::PrivateKey { file, key_id, algorithm } => {
            let key = tokio::fs::read(file)
                .await
                .map_err(|error| NoToken::Refused(format!("cannot read `{}`: {error}", file.display())))?;
            signed = assertion(&config.client_id, &server.issuer, &key, *algorithm, key_id.as_deref())
                .ok_or_else(|| unusable(file, *algorithm))?;
            ClientAuth::Assertion(&signed)
        }
    };
    let scopes = request.scopes.join(" ");
    let mut fields = vec![("grant_type", "client_credentials")];
    if !scopes.is_empty() {
        fields.push(("scope", &scopes));
    }
    let exchange = OAuthExchange { fetcher: request.fetcher, reach: request.reach, server };
    Ok(exchange.token(client, request.resource.as_deref(), fields).await?)
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
