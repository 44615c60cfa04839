//! A company's identity provider vouches for the local user, and nobody is sent to a page.

use serde_json::{Value, json};

use crate::support::authorization_server::AuthorizationServer;
use crate::support::log_ins::{opened, state, world_with};
use crate::support::protected_server::ProtectedServer;
use crate::support::proxy::Proxy;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ASSERTION: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

struct Company {
    provider: AuthorizationServer,
    authorization: AuthorizationServer,
    server: ProtectedServer,
}

async fn company() -> Company {
    let (provider, authorization) = (AuthorizationServer::start().await, AuthorizationServer::start().await);
    provider.register("at-the-provider", Some("secret-at-the-provider"));
    authorization.register("at-the-server", Some("secret-at-the-server"));
    let server = ProtectedServer::start(&authorization).await;
    Company { provider, authorization, server }
}

impl Company {
    fn world(&self) -> Proxy {
        let auth: Value = json!({
            "type": "enterprise",
            "idTokenFile": "id.jwt",
            "idpTokenUrl": format!("{}/token", self.provider.url),
            "idpClientId": "at-the-provider",
            "idpClientSecret": "secret-at-the-provider",
            "clientId": "at-the-server",
            "clientSecret": "secret-at-the-server",
        });
        world_with(&self.server.url, json!({"auth": auth})).file("id.jwt", "id-token-of-ann\n")
    }
}

#[tokio::test]
async fn both_steps_are_taken_and_the_id_token_goes_only_to_its_provider() {
    let company = company().await;
    // Some providers call it a bearer token.
    for token_type in ["N_A", "Bearer"] {
        company.provider.set(|settings| settings.exchanged_token_type = token_type);
        let world = company.world();
        world.run(["call", "echo"]).await.expect(0);
        assert_eq!(opened(&world), [""; 0]);
        let first = company.provider.seen().last(EXCHANGE);
        assert_eq!(first.get("subject_token"), Some("id-token-of-ann"));
        assert_eq!(first.get("audience"), Some(company.authorization.issuer().as_str()));
        assert_eq!(first.get("resource"), Some(company.server.url.as_str()));
        let second = company.authorization.seen().last(ASSERTION);
        assert_eq!(second.get("assertion"), Some(company.provider.newest("id-jag").as_str()));
        assert!(!format!("{second:?}").contains("id-token-of-ann"));
    }
}

#[tokio::test]
async fn another_kind_of_token_than_was_asked_for_is_not_passed_on() {
    let company = company().await;
    company.provider.set(|settings| settings.issued_token_type = "urn:ietf:params:oauth:token-type:access_token");
    let state = state(&company.world()).await;
    assert_ne!(state["status"], "ready", "{state}");
    assert_eq!(company.authorization.seen().count(ASSERTION), 0);
}

#[tokio::test]
async fn an_id_token_that_is_not_there_is_said_with_its_file() {
    let company = company().await;
    let world = company.world();
    std::fs::remove_file(world.directory.path().join("id.jwt")).expect("it is there");
    let state = state(&world).await;
    assert_ne!(state["status"], "ready", "{state}");
    assert!(state["error"].as_str().unwrap_or_default().contains("id.jwt"), "{state}");
    assert_eq!(company.provider.seen().count(EXCHANGE), 0);
}
