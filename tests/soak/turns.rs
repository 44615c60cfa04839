//! A call that never ended would still hold one of its server's turns. So all of them are taken at once, by calls that are
//! answered only when the last one is there.

use std::time::{Duration, Instant};

use futures::future::join_all;

use super::world::{SERVERS, TURNS};
use crate::support::http_client::HttpClient;
use crate::support::message::{self, Message};
use crate::support::patience::LONG_PATIENCE;
use crate::support::proxy::{HttpProxy, StdioProxy};

fn together() -> String {
    format!(r#"{{"n":{TURNS}}}"#)
}

fn is_right(answer: &Message) {
    assert_eq!(answer.structured(), together());
}

pub async fn all_are_free_on_pipe(proxy: &mut StdioProxy) {
    for server in SERVERS {
        proxy.client.call_until_it_works(&format!("{server}_echo"), "{}").await;
        let mut calls = Vec::new();
        for _ in 0..TURNS {
            let params = message::call(&format!("{server}_reorder"), &together());
            calls.push(proxy.client.begin("tools/call", &params).await);
        }
        for call in calls {
            is_right(&proxy.client.response(&call).await);
        }
    }
    let answers = proxy.client.unclaimed().filter(|message| message.is_response());
    assert_eq!(answers.count(), 0, "something was answered twice");
}

pub async fn all_are_free_over_http(proxy: &HttpProxy) {
    for server in SERVERS {
        works(proxy.client(), &format!("{server}_echo")).await;
        let calls = (0..TURNS).map(|_| async {
            let mut client = proxy.client();
            is_right(&client.modern_call(&format!("{server}_reorder"), &together()).await);
        });
        join_all(calls).await;
    }
}

/// A server that was killed last may not be back yet.
async fn works(mut client: HttpClient, tool: &str) {
    let deadline = Instant::now() + LONG_PATIENCE;
    loop {
        let answer = client.modern_call(tool, "{}").await;
        if answer.value()["result"]["isError"] == false || answer.value()["result"]["isError"].is_null() {
            return;
        }
        assert!(Instant::now() < deadline, "{}", answer.raw);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
