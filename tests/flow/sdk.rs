//! Clients on the SDKs of others: the third call is denied with an error that they can read.

use serde_json::{Value, json};

use super::shared_server::SharedServer;
use super::{PASSTHROUGH, rules, text};
use crate::support::finished::Finished;
use crate::support::proxy::Proxy;
use crate::support::real_servers::{CALLING_CLIENTS, SDK_ERAS};

const TOKEN: &str = "secret-token-of-ann";
const TOKENS: &str = "auth: {tokens: [{token: secret-token-of-ann, sub: ann}]}";

#[tokio::test]
#[ignore = "clients of other people, which are installed first"]
async fn the_clients_of_the_sdks_read_why_the_third_call_is_denied_in_both_eras() {
    for client in CALLING_CLIENTS {
        for [era, revision] in SDK_ERAS {
            // given
            let server = SharedServer::start().await;
            let proxy = Proxy::new(&server.config(&[PASSTHROUGH, TOKENS, &rules("deny")])).http().await;
            let run = async |calls: Value| -> Option<Value> {
                let mut command = client()?;
                command.args([&proxy.url, era, &calls.to_string(), TOKEN]);
                Some(Finished::run(command).await.expect(0).json())
            };
            let call = |tool: &str| json!({"name": tool, "arguments": text("of ann")});
            // when
            let Some(seen) = run(json!([call("fetch"), call("read_vault"), call("send_mail")])).await else { return };
            // then
            assert_eq!(seen["revision"], revision, "{seen}");
            for read in [&seen["results"][0], &seen["results"][1]] {
                assert_eq!(read["structuredContent"], text("of ann"), "{seen}");
                assert!(read["isError"] != true, "{seen}");
            }
            let why =
                "`send_mail` was not called: this conversation has read `fetch` (untrusted), `read_vault` (secret)";
            let denied = &seen["results"][2];
            assert_eq!((&denied["isError"], &denied["content"][0]["text"]), (&json!(true), &json!(why)), "{seen}");
            // and a new connection of the same person changes nothing
            let Some(again) = run(json!([call("send_mail")])).await else { return };
            assert_eq!(again["results"][0]["content"][0]["text"], why, "{again}");
            assert_eq!(server.calls_with("of ann").await, ["fetch", "read_vault"]);
        }
    }
}
