//! Errors of a server, told with the codes that each era has.

use serde_json::json;

use crate::support::config::Config;
use crate::support::http_client::HttpClient;
use crate::support::http_request::HttpRequest;
use crate::support::in_process::{HttpProxy, Proxy};
use crate::support::message::{self, Message};
use crate::support::modern::{VERSION, meta_members};
use crate::support::programs::fake_backend;

const ERAS: [&str; 2] = ["legacy", "modern"];

async fn proxy(era: &str) -> HttpProxy {
    let config = Config::new().server("fake", &fake_backend(["--era", era, "--only", "rpc_error"]));
    Proxy::new(&config.section("sessionInit: {preset: passthrough}")).http().await
}

/// Calls the tool that answers with this error, as a stateless client with these capabilities.
async fn stateless(client: &HttpClient, capabilities: &str, error: &str) -> (u16, Message) {
    let meta = format!("{{{}}}", meta_members(VERSION, capabilities));
    let call = message::call("rpc_error", error);
    let reply = client.send(&HttpRequest::modern_with_meta("1", "tools/call", &call, &meta)).await;
    (reply.status, reply.response().await)
}

#[tokio::test]
async fn a_capability_the_client_did_not_declare_is_asked_of_it() {
    let error = r#"{"code":-32021,"message":"I must ask","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}"#;
    for era in ERAS {
        let proxy = proxy(era).await;
        let mut client = proxy.client();
        for capabilities in ["{}", r#"{"elicitation":{"form":{}}}"#] {
            // The first call with these may start a process. What takes long is answered with 200 before its outcome.
            stateless(&client, capabilities, r#"{"code":1,"message":"any"}"#).await;
            let (status, told) = stateless(&client, capabilities, error).await;
            assert_eq!((status, told.member("error").as_deref()), (400, Some(error)));
        }
        // It has what is wanted, so the fault is not the client's.
        let (status, told) = stateless(&client, r#"{"elicitation":{"url":{}}}"#, error).await;
        assert_eq!((status, told.error_code()), (200, -32603));
        assert_eq!(told.value()["error"]["data"]["code"], -32021);
        let (status, told) = stateless(&client, "{}", r#"{"code":-32021,"message":"something"}"#).await;
        assert_eq!((status, told.error_code()), (200, -32603), "it names nothing that could be declared");

        client.initialize("2025-11-25").await.result();
        let told = client.call("rpc_error", error).await;
        assert_eq!(told.value()["result"]["isError"], true);
        assert!(told.text().contains("`elicitation.url`") && told.text().contains("I must ask"), "{}", told.raw);
    }
}

#[tokio::test]
async fn codes_that_an_era_reserves_are_internal_errors_there_with_the_original_beside_them() {
    for era in ERAS {
        let proxy = proxy(era).await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        for code in [-32023, -32050, -32099] {
            let error = json!({"code": code, "message": "odd", "data": {"n": 1}}).to_string();
            let (status, told) = stateless(&client, "{}", &error).await;
            assert_eq!((status, told.error_code()), (200, -32603));
            assert_eq!(told.value()["error"]["data"], json!({"code": code, "data": {"n": 1}}));
            assert_eq!(client.call("rpc_error", &error).await.member("error"), Some(error));
        }
        for code in [-32000, -32019, -32100, 7] {
            let error = json!({"code": code, "message": "own"}).to_string();
            assert_eq!(stateless(&client, "{}", &error).await.1.member("error"), Some(error.clone()));
            assert_eq!(client.call("rpc_error", &error).await.member("error"), Some(error));
        }
    }
}

#[tokio::test]
async fn errors_about_the_proxy_s_own_leg_reach_nobody() {
    for era in ERAS {
        let proxy = proxy(era).await;
        let mut client = proxy.client();
        client.initialize("2025-11-25").await.result();
        for code in [-32020, -32022] {
            let error = json!({"code": code, "message": "leg"}).to_string();
            assert_eq!(stateless(&client, "{}", &error).await.1.error_code(), -32603, "{code}");
            assert_eq!(client.call("rpc_error", &error).await.error_code(), -32603, "{code}");
        }
    }
}
