//! The metadata that tell a client where to get a token (RFC 9728).

use serde_json::{Value, json};

use super::{config, serving};
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::issuer::Issuer;
use crate::support::proxy::HttpProxy;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

fn at(proxy: &HttpProxy, path: &str) -> HttpClient {
    HttpClient::new(&proxy.url.replace("/mcp", path), proxy.program.stderr.clone())
}

async fn resource(proxy: &HttpProxy, request: &HttpRequest) -> Value {
    let reply = at(proxy, WELL_KNOWN).send(request).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some("*")));
    serde_json::from_str::<Value>(&reply.text().await).expect("metadata are JSON")["resource"].clone()
}

#[tokio::test]
async fn on_this_machine_the_metadata_use_the_name_that_the_client_uses() {
    let issuer = Issuer::start().await;
    let proxy = serving(&config(&issuer, "", ", requiredScopes: [mcp]")).await;
    for path in [WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}/mcp")] {
        let reply = at(&proxy, &path).send(&HttpRequest::bare("GET")).await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let document: Value = serde_json::from_str(&reply.text().await).expect("metadata are JSON");
        assert_eq!(
            document,
            json!({"resource": proxy.url, "authorization_servers": [issuer.url], "scopes_supported": ["mcp"],
                "bearer_methods_supported": ["header"], "resource_name": "MCP proxy"})
        );
    }
    let port = proxy.client().host().rsplit_once(':').expect("a port").1.to_owned();
    for name in ["localhost", "127.0.0.1", "[::1]"] {
        let host = format!("{name}:{port}");
        let named = resource(&proxy, &HttpRequest::bare("GET").header("Host", &host)).await;
        assert_eq!(named, json!(format!("http://{host}/mcp")));
    }
    let foreign = HttpRequest::bare("GET").header("Host", "evil.example");
    assert_eq!(at(&proxy, WELL_KNOWN).send(&foreign).await.status, 403);
    // Any page may read them, after it has asked.
    let page = HttpRequest::bare("GET").header("Origin", "https://inspector.example");
    resource(&proxy, &page).await;
    let asked = HttpRequest::bare("OPTIONS")
        .header("Origin", "https://inspector.example")
        .header("Access-Control-Request-Headers", "mcp-protocol-version");
    let reply = at(&proxy, WELL_KNOWN).send(&asked).await;
    assert_eq!((reply.status, reply.header("access-control-allow-headers")), (204, Some("mcp-protocol-version")));
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-protected-resource/other", "/other"] {
        assert_eq!(at(&proxy, path).send(&HttpRequest::bare("GET")).await.status, 404, "{path}");
    }
    assert_eq!(at(&proxy, WELL_KNOWN).send(&HttpRequest::bare("POST")).await.status, 405);
}

#[tokio::test]
async fn a_public_url_is_what_the_config_says_whatever_a_request_says() {
    let issuer = Issuer::start().await;
    let public = "https://mcp.example.com/public/mcp";
    let config = config(&issuer, "", "").section(&format!("serve: {{publicUrl: '{public}'}}"));
    let proxy = serving(&config).await;
    let port = proxy.client().host().rsplit_once(':').expect("a port").1.to_owned();
    let lying = HttpRequest::bare("GET")
        .header("Host", &format!("localhost:{port}"))
        .header("X-Forwarded-Host", "evil.example")
        .header("Forwarded", "host=evil.example");
    assert_eq!(resource(&proxy, &lying).await, json!(public));
    assert_eq!(at(&proxy, &format!("{WELL_KNOWN}/public/mcp")).send(&lying).await.status, 200);
    let refused = proxy.client().send(&super::list()).await;
    let expected =
        r#"Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/public/mcp""#;
    assert_eq!(refused.header("www-authenticate"), Some(expected));
    assert_eq!(super::status(&proxy, &issuer.token_with("ann", json!({"aud": public}))).await, 200);
    assert_eq!(super::status(&proxy, &issuer.token_with("ann", json!({"aud": proxy.url}))).await, 401);
}
