use serde_json::{Value, json};
use url::Url;

use super::*;
use crate::oauth::LogInError;
use crate::oauth::tests::fake::{Fake, resource_metadata, server_metadata};
use proxy_wire::http::{Fetcher, Reach};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";

async fn discover(fake: &Fake, challenge: Option<&Challenge>, issuer: Option<&str>) -> Result<Discovered, LogInError> {
    let (fetcher, server) = (Fetcher::default(), Url::parse(&fake.url()).unwrap());
    let discovery = Discovery { fetcher: &fetcher, reach: Reach::Loopback, server: &server, issuer, endpoints: None };
    discovery.run(challenge).await
}

/// A server that has these documents.
async fn serving(documents: impl Fn(&str) -> Vec<(&'static str, Value)>) -> Fake {
    let fake = Fake::start().await;
    let documents = documents(&fake.origin);
    fake.answers(move |asked| {
        let found = documents.iter().find(|(path, _)| asked.line == format!("GET {path}"));
        found.map_or((404, Value::Null), |(_, document)| (200, document.clone()))
    });
    fake
}

fn at(url: &str) -> Challenge {
    Challenge { resource_metadata: Some(url.to_owned()), ..Challenge::default() }
}

#[tokio::test]
async fn metadata_are_asked_for_where_the_server_says() {
    let fake = serving(|origin| {
        vec![
            ("/elsewhere.json", resource_metadata(origin)),
            ("/.well-known/oauth-authorization-server", server_metadata(origin)),
        ]
    })
    .await;
    let found = discover(&fake, Some(&at("/elsewhere.json")), None).await.unwrap();
    assert_eq!(found.resource.as_deref(), Some(fake.origin.as_str()), "byte for byte, without a slash");
    assert_eq!(found.scopes, ["read"]);
    assert_eq!(found.authorization_server.issuer, fake.origin);
    assert_eq!(fake.lines(), ["GET /elsewhere.json", "GET /.well-known/oauth-authorization-server"]);
}

#[tokio::test]
async fn else_at_the_path_of_the_server_and_then_at_its_root() {
    let fake = serving(|origin| {
        let server = Value::String(format!("{origin}/tenant"));
        let metadata = |issuer: &Value| {
            let mut metadata = server_metadata(origin);
            metadata["issuer"] = issuer.clone();
            metadata
        };
        vec![
            (RESOURCE, json!({"resource": origin, "authorization_servers": [server]})),
            ("/tenant/.well-known/openid-configuration", metadata(&server)),
            (OAUTH, server_metadata(origin)),
        ]
    })
    .await;
    discover(&fake, None, None).await.unwrap();
    assert_eq!(
        fake.lines(),
        [
            "GET /.well-known/oauth-protected-resource/mcp",
            "GET /.well-known/oauth-protected-resource",
            "GET /.well-known/oauth-authorization-server/tenant",
            "GET /.well-known/openid-configuration/tenant",
            "GET /tenant/.well-known/openid-configuration",
        ],
        "never the root document of an issuer with a path"
    );
}

#[tokio::test]
async fn metadata_of_another_resource_stop_everything() {
    for resource in
        ["https://other.example/mcp", "{}/mcp/deeper", "{}/other", "{}/mc", "{}#part", "http://127.0.0.1:1/mcp"]
    {
        let fake = serving(|origin| {
            let resource = resource.replace("{}", origin);
            let metadata = json!({"resource": resource, "authorization_servers": [origin]});
            vec![("/.well-known/oauth-protected-resource/mcp", metadata), (RESOURCE, resource_metadata(origin))]
        })
        .await;
        let error = discover(&fake, None, None).await.unwrap_err();
        assert!(matches!(&error, LogInError::Metadata(text) if text.contains("another resource")), "{error}");
        assert_eq!(fake.lines().len(), 1, "{resource}: nothing else is asked");
    }
    for resource in ["{}", "{}/", "{}/mcp", "{}/mcp?a=b"] {
        let fake = serving(|origin| {
            let resource = resource.replace("{}", origin);
            vec![
                (RESOURCE, json!({"resource": resource, "authorization_servers": [origin]})),
                (OAUTH, server_metadata(origin)),
            ]
        })
        .await;
        assert!(discover(&fake, None, None).await.is_ok(), "{resource}");
    }
}

#[tokio::test]
async fn metadata_of_another_issuer_are_not_used() {
    let with_issuer = |issuer: String| {
        serving(move |origin| {
            let mut metadata = server_metadata(origin);
            metadata["issuer"] = Value::String(issuer.replace("{}", origin));
            vec![(RESOURCE, resource_metadata(origin)), (OAUTH, metadata)]
        })
    };
    for other in ["https://evil.example", "{}/tenant", "{}//"] {
        let error = discover(&with_issuer(other.to_owned()).await, None, None).await.unwrap_err();
        assert!(error.to_string().contains("another issuer"), "{error}");
    }
    assert!(discover(&with_issuer("{}/".to_owned()).await, None, None).await.is_ok(), "the slash of a root");
}

#[tokio::test]
async fn an_older_server_has_its_authorization_server_at_its_origin() {
    let fake = serving(|origin| vec![(OAUTH, server_metadata(origin))]).await;
    let found = discover(&fake, None, None).await.unwrap();
    assert_eq!(found.resource, None);
    let nothing = Fake::start().await;
    let error = discover(&nothing, None, None).await.unwrap_err();
    assert!(error.to_string().contains("no authorization server metadata"), "no endpoint is guessed: {error}");
}

#[tokio::test]
async fn an_error_of_one_place_does_not_end_the_search() {
    let fake = Fake::start().await;
    let origin = fake.origin.clone();
    fake.answers(move |asked| match asked.line.as_str() {
        "GET /.well-known/oauth-protected-resource/mcp" => (200, resource_metadata(&origin)),
        "GET /.well-known/oauth-authorization-server" => (503, Value::Null),
        "GET /.well-known/openid-configuration" => (200, server_metadata(&origin)),
        _ => (404, Value::Null),
    });
    assert!(discover(&fake, None, None).await.is_ok());
    fake.answers(|_| (503, Value::Null));
    let error = discover(&fake, None, None).await.unwrap_err();
    assert!(matches!(error, LogInError::Unreachable(_)), "nobody can say what the server names: {error}");
}

#[tokio::test]
async fn a_configured_issuer_is_the_only_one() {
    let other = serving(|origin| vec![(OAUTH, server_metadata(origin))]).await;
    let fake = serving(|origin| vec![(RESOURCE, resource_metadata(origin)), (OAUTH, server_metadata(origin))]).await;
    let error = discover(&fake, None, Some(&other.origin)).await.unwrap_err().to_string();
    assert!(error.contains(&fake.origin) && error.contains(&other.origin), "{error}");
    assert!(other.lines().is_empty(), "it is not even asked");
    assert!(discover(&fake, None, Some(&format!("{}/", fake.origin))).await.is_ok(), "the slash of a root");
    let without = Fake::start().await;
    let found = discover(&without, None, Some(&other.origin)).await.unwrap();
    assert_eq!(found.authorization_server.issuer, other.origin);
}

#[tokio::test]
async fn endpoints_must_be_where_tokens_may_go() {
    for endpoint in ["http://as.example/token", "javascript:alert(1)", "https://169.254.169.254/token", "/token"] {
        let fake = serving(|origin| {
            let mut metadata = server_metadata(origin);
            metadata["authorization_endpoint"] = Value::String(endpoint.to_owned());
            vec![(RESOURCE, resource_metadata(origin)), (OAUTH, metadata)]
        })
        .await;
        let error = discover(&fake, None, None).await.unwrap_err();
        assert!(error.to_string().contains("cannot be used"), "{endpoint}: {error}");
    }
    let fake = Fake::start().await;
    let error = discover(&fake, Some(&at("http://169.254.169.254/latest")), None).await.unwrap_err();
    assert!(error.to_string().contains("not fetched"), "{error}");
    assert!(fake.lines().is_empty());
}
