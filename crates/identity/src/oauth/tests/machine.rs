//! Log-ins without a person.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderValue;
use serde_json::{Value, json};

use super::fake::{Fake, StateFolder, resource_metadata, server_metadata};
use proxy_config::{
    AuthConfig, ClientCredentialsConfig, ClientProof, EnterpriseConfig, IdToken, RegisteredClient, ResourceChoice,
    ServerConfig, SigningAlgorithm,
};
use proxy_model::{AuthorizationRefusal, Credentials, Remedy, Secret};

/// An EC key on P-256, made for this test.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgyw/kBTtd79VPEYY7
CTzi/3FNP4yyi2D0kncEqoj+/1GhRANCAATSufMeW3JOQZv9nqnqRGHra/+lL+N1
N51PsdYi6CPAUm1NPMUlAHoABGrkZqoJzOk+WsbhItAg013tyo5zNNQa
-----END PRIVATE KEY-----
";

fn client(proof: ClientProof) -> AuthConfig {
    AuthConfig::ClientCredentials(ClientCredentialsConfig {
        issuer: None,
        endpoints: None,
        client_id: "jobs".into(),
        proof,
        scopes: vec!["run".into()],
        resource: ResourceChoice::Auto,
    })
}

fn credentials(fake: &Fake, auth: AuthConfig) -> Arc<dyn Credentials> {
    let server = ServerConfig { auth: Some(auth), ..fake.server(None) };
    StateFolder::new().log_ins().credentials("jobs", &server).unwrap()
}

/// An authorization server with these methods that gives a new token at each request.
async fn granting(methods: Value, expires_in: u64) -> Fake {
    let fake = Fake::start().await;
    let (origin, given) = (fake.origin.clone(), std::sync::atomic::AtomicU64::new(0));
    fake.answers(move |asked| match asked.line.as_str() {
        "GET /.well-known/oauth-protected-resource/mcp" => (200, resource_metadata(&origin)),
        "GET /.well-known/oauth-authorization-server" => {
            let mut metadata = server_metadata(&origin);
            metadata["token_endpoint_auth_methods_supported"] = methods.clone();
            metadata["code_challenge_methods_supported"] = Value::Null;
            metadata["authorization_endpoint"] = Value::Null;
            (200, metadata)
        }
        "POST /token" => {
            let number = given.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            (200, json!({"access_token": format!("access-{number}"), "token_type": "bearer", "expires_in": expires_in}))
        }
        _ => (404, Value::Null),
    });
    fake
}

async fn token(credentials: &Arc<dyn Credentials>) -> HeaderValue {
    credentials.authorization().await.unwrap().unwrap()
}

#[tokio::test]
async fn the_proxy_logs_in_with_its_secret_as_the_server_allows() {
    let secret = || client(ClientProof::Secret(Secret::new("s3cret")));
    let basic = granting(json!(["client_secret_basic", "client_secret_post"]), 3600).await;
    let credentials = self::credentials(&basic, secret());
    assert_eq!(token(&credentials).await, "Bearer access-1");
    assert_eq!(token(&credentials).await, "Bearer access-1");
    let asked = basic.asked_for("POST /token").remove(0);
    assert_eq!(asked.authorization, Some(format!("Basic {}", STANDARD.encode("jobs:s3cret"))));
    let form = asked.form();
    assert_eq!((form["grant_type"].as_str(), form["scope"].as_str()), ("client_credentials", "run"));
    assert_eq!(form["resource"], basic.origin);
    let post = granting(json!(["client_secret_post"]), 3600).await;
    token(&self::credentials(&post, secret())).await;
    let asked = post.asked_for("POST /token").remove(0);
    assert_eq!((asked.authorization.as_deref(), asked.form()["client_secret"].as_str()), (None, "s3cret"));
}

#[tokio::test]
async fn the_proxy_logs_in_with_a_signature_that_says_which_key_made_it() {
    let (fake, folder) = (granting(json!(["private_key_jwt"]), 3600).await, StateFolder::new());
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("key.pem");
    std::fs::write(&file, KEY).unwrap();
    let proof = |algorithm| ClientProof::PrivateKey { file: file.clone(), key_id: Some("k1".into()), algorithm };
    assert_eq!(token(&credentials(&fake, client(proof(SigningAlgorithm::Es256)))).await, "Bearer access-1");
    let form = fake.asked_for("POST /token").remove(0).form();
    assert!(!form.contains_key("client_id"));
    let parts: Vec<Value> = form["client_assertion"]
        .split('.')
        .take(2)
        .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap())
        .collect();
    assert_eq!((&parts[0]["alg"], &parts[0]["kid"]), (&json!("ES256"), &json!("k1")));
    assert_eq!((&parts[1]["iss"], &parts[1]["sub"]), (&json!("jobs"), &json!("jobs")));
    assert_eq!(parts[1]["aud"], fake.origin);
    assert!(parts[1]["exp"].as_u64().unwrap() - parts[1]["iat"].as_u64().unwrap() <= 300);

    let error = credentials(&fake, client(proof(SigningAlgorithm::Rs256))).authorization().await.unwrap_err();
    assert!(error.to_string().contains("expected an RSA key as PEM"), "{error}");
}

#[tokio::test]
async fn a_token_is_fetched_ahead_of_its_end_and_after_a_refusal() {
    let fake = granting(json!(["client_secret_basic"]), 0).await;
    let credentials = self::credentials(&fake, client(ClientProof::Secret(Secret::new("s3cret"))));
    assert_eq!(token(&credentials).await, "Bearer access-1");
    assert_eq!(token(&credentials).await, "Bearer access-2", "it has expired already");

    let fake = granting(json!(["client_secret_basic"]), 3600).await;
    let credentials = self::credentials(&fake, client(ClientProof::Secret(Secret::new("s3cret"))));
    token(&credentials).await;
    let refusal = |status, challenge: &str, shown| AuthorizationRefusal {
        status,
        challenges: vec![challenge.to_owned()],
        shown: Some(HeaderValue::from_static(shown)),
        is_repeated: false,
    };
    assert_eq!(credentials.refused(refusal(401, "Bearer", "Bearer access-1")).await, Remedy::Retry);
    assert_eq!(token(&credentials).await, "Bearer access-2");
    let second = AuthorizationRefusal { is_repeated: true, ..refusal(401, "Bearer", "Bearer access-2") };
    assert!(matches!(credentials.refused(second).await, Remedy::LogIn(_)));
    let lacking = r#"Bearer error="insufficient_scope", scope="admin""#;
    let remedy = credentials.refused(refusal(403, lacking, "Bearer access-2")).await;
    assert_eq!(remedy, Remedy::MoreScopes("needs `admin`: add it to `mcpServers.jobs.auth.scopes`".to_owned()));
}

#[tokio::test]
async fn a_client_that_is_refused_waits_for_somebody_and_an_outage_does_not() {
    let fake = granting(json!(["client_secret_basic"]), 3600).await;
    let origin = fake.origin.clone();
    let metadata = move |asked: &super::fake::Asked| match asked.line.as_str() {
        "GET /.well-known/oauth-authorization-server" => (200, server_metadata(&origin)),
        _ => (404, Value::Null),
    };
    let other = metadata.clone();
    fake.answers(move |asked| match asked.line.as_str() {
        "POST /token" => (401, json!({"error": "invalid_client"})),
        _ => metadata(asked),
    });
    let auth = || client(ClientProof::Secret(Secret::new("s3cret")));
    let error = credentials(&fake, auth()).authorization().await.unwrap_err().to_string();
    assert!(error.contains("`invalid_client`") && !error.contains("s3cret"), "{error}");
    fake.answers(move |asked| match asked.line.as_str() {
        "POST /token" => (503, Value::Null),
        _ => other(asked),
    });
    let credentials = credentials(&fake, auth());
    assert_eq!(credentials.authorization().await, Ok(None));
    let refusal =
        AuthorizationRefusal { status: 401, challenges: vec!["Bearer".into()], shown: None, is_repeated: false };
    assert!(matches!(credentials.refused(refusal).await, Remedy::Later(_)));
}

fn jwt(typ: &str, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2lnbmF0dXJl", part(&json!({"alg": "ES256", "typ": typ})), part(claims))
}

/// An identity provider whose assertion has these members beside its own.
async fn provider(issuer: &str, resource: &str, change: Value) -> Fake {
    let idp = Fake::start().await;
    let (origin, issuer, resource) = (idp.origin.clone(), issuer.to_owned(), resource.to_owned());
    idp.answers(move |_| {
        let now = crate::oauth::unix_time::now();
        let claims = json!({"iss": origin, "sub": "ann", "aud": issuer, "client_id": "c", "jti": "1", "exp": now + 60,
            "iat": now, "resource": resource, "scope": "read"});
        let mut answer = json!({"access_token": jwt("oauth-id-jag+jwt", &claims),
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A", "scope": "read"});
        for (name, value) in change.as_object().unwrap() {
            answer[name] = value.clone();
        }
        (200, answer)
    });
    idp
}

fn enterprise(idp: &Fake) -> AuthConfig {
    let secret = |text: &str| Some(Secret::new(text));
    AuthConfig::Enterprise(EnterpriseConfig {
        id_token: IdToken::Text(Secret::new(jwt("JWT", &json!({"iss": idp.origin, "sub": "ann"})))),
        idp_token_url: format!("{}/token", idp.origin),
        idp_client: RegisteredClient { id: "i".into(), secret: secret("idp-secret") },
        issuer: None,
        client: RegisteredClient { id: "c".into(), secret: secret("as-secret") },
        scopes: vec!["read".into(), "write".into()],
        resource: ResourceChoice::Auto,
    })
}

#[tokio::test]
async fn a_company_vouches_for_its_user_in_two_steps() {
    for change in [json!({}), json!({"token_type": "Bearer"})] {
        let fake = granting(json!(["client_secret_basic"]), 3600).await;
        let idp = provider(&fake.origin, &fake.origin, change).await;
        assert_eq!(token(&credentials(&fake, enterprise(&idp))).await, "Bearer access-1");
        let first = idp.asked().remove(0);
        assert_eq!(first.authorization, Some(format!("Basic {}", STANDARD.encode("i:idp-secret"))));
        let form = first.form();
        assert_eq!((&form["audience"], &form["resource"]), (&fake.origin, &fake.origin));
        assert_eq!(form["subject_token_type"], "urn:ietf:params:oauth:token-type:id_token");
        let second = fake.asked_for("POST /token").remove(0);
        assert_eq!(second.authorization, Some(format!("Basic {}", STANDARD.encode("c:as-secret"))));
        let form = second.form();
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
        assert!(!form.contains_key("resource") && !form.contains_key("scope"), "only the assertion has authority");
    }
}

#[tokio::test]
async fn an_answer_of_another_type_is_not_shown_to_the_authorization_server() {
    let fake = granting(json!(["client_secret_basic"]), 3600).await;
    let change = json!({"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"});
    let idp = provider(&fake.origin, &fake.origin, change).await;
    let error = credentials(&fake, enterprise(&idp)).authorization().await.unwrap_err().to_string();
    assert!(error.contains("the identity provider sent an invalid response"), "{error}");
    assert!(fake.asked_for("POST /token").is_empty());
}
