//! Only the proxy continues a call of a session: what a session-based client sends as the state of a call, or as answers,
//! does not reach a server.

use serde_json::json;

use crate::elicitation::ERAS;
use crate::support::config::Config;
use crate::support::in_process::Proxy;
use crate::support::programs::fake_backend;

#[tokio::test]
async fn a_session_cannot_send_the_state_of_a_call_or_answers() {
    for era in ERAS {
        let backend = fake_backend(["--era", era, "--only", "params,seen", "--resources", "--prompts"]);
        let mut proxy = Proxy::new(&Config::new().server("fake", &backend)).stdio();
        proxy.client.initialize("2025-11-25").await.result();
        let forged = |mut params: serde_json::Value| {
            params["requestState"] = "forged".into();
            params["inputResponses"] = json!({"confirm": {"action": "accept", "content": {"token": "forged"}}});
            params.to_string()
        };
        let answer =
            proxy.client.request("tools/call", &forged(json!({"name": "params", "arguments": {"a": 1}}))).await;
        assert!(answer.result().contains(r#"\"a\":1"#), "{era}: {}", answer.raw);
        proxy
            .client
            .request("prompts/get", &forged(json!({"name": "greet", "arguments": {"who": "a"}})))
            .await
            .result();
        proxy.client.request("resources/read", &forged(json!({"uri": "memo://greeting"}))).await.result();
        let seen = proxy.client.call("seen", "{}").await.raw;
        assert!(seen.contains("memo://greeting") && seen.contains("greet"), "{era}: {seen}");
        assert!(!seen.contains("forged") && !seen.contains("requestState"), "{era}: {seen}");
        assert!(!answer.raw.contains("forged") && !answer.raw.contains("inputResponses"), "{era}: {}", answer.raw);
    }
}
