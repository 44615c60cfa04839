//! Who may read a result: whoever asked for it, as long as they may still know its tool.

use serde_json::json;

use super::{LIMIT, TOKENS, holder, is_error, page_of, paged, session, session_of, world};
use crate::support::http_client::HttpClient;
use crate::support::patience::within;

/// What all get who may not read a result.
fn not_kept(id: &str) -> String {
    format!("`{id}` is not kept: results are kept 30 min for whoever asked; call the tool again")
}

async fn read(client: &mut HttpClient, id: &str) -> (bool, String) {
    let answer = client.call("read_result", &page_of(id, 2)).await;
    (!is_error(&answer), answer.text())
}

async fn modern_read(client: &mut HttpClient, id: &str) -> (bool, String) {
    let answer = client.modern_call("read_result", &page_of(id, 2)).await;
    (!is_error(&answer), answer.text())
}

#[tokio::test]
async fn a_result_is_the_person_s_in_every_session_and_era_and_nobody_else_s() {
    let proxy = world(&format!("{LIMIT}\n{TOKENS}")).http().await;
    let mut ann = session_of(&proxy, "secret-token-of-a").await;
    let (id, _) = paged(&ann.call("export", "{}").await);
    assert!(read(&mut ann, &id).await.0);
    assert!(read(&mut session_of(&proxy, "secret-token-of-a").await, &id).await.0);
    assert!(modern_read(&mut holder(&proxy, "secret-token-of-a"), &id).await.0);
    let mut bob = session_of(&proxy, "secret-token-of-b").await;
    assert_eq!(read(&mut bob, &id).await, (false, not_kept(&id)));
    assert_eq!(modern_read(&mut holder(&proxy, "secret-token-of-b"), &id).await, (false, not_kept(&id)));
    let uri = json!({"uri": format!("result://{id}?page=2")}).to_string();
    assert_eq!(bob.request("resources/read", &uri).await.error_message(), "resource not found");
}

#[tokio::test]
async fn without_tokens_a_session_keeps_to_itself_and_an_id_is_the_right_of_requests_without_one() {
    let proxy = world(LIMIT).http().await;
    let (mut one, mut other) = (session(&proxy).await, session(&proxy).await);
    let (id, _) = paged(&one.call("export", "{}").await);
    assert!(read(&mut one, &id).await.0);
    assert_eq!(read(&mut other, &id).await, (false, not_kept(&id)));
    assert_eq!(modern_read(&mut other, &id).await, (false, not_kept(&id)));

    let (id, _) = paged(&one.modern_call("export", "{}").await);
    assert!(modern_read(&mut other, &id).await.0);
    assert_eq!(read(&mut one, &id).await, (false, not_kept(&id)), "a session has an owner");
}

#[tokio::test]
async fn a_tool_that_policies_hide_meanwhile_takes_its_results_with_it() {
    let all = "permit(principal, action, resource);\n";
    let optimized = "optimizer: {enabled: true, listBelow: 0, embedding: {provider: none}}";
    for sections in ["", optimized] {
        let sections = format!("{LIMIT}\n{TOKENS}\ncedar: {{policies: [policies/*.cedar]}}\n{sections}");
        let proxy = world(&sections).file("policies/a.cedar", all).http().await;
        let mut ann = session_of(&proxy, "secret-token-of-a").await;
        let export = json!({"tool_name": "export", "parameters": {}}).to_string();
        let answer = if sections.contains("optimizer") {
            ann.call("call_tool", &export).await
        } else {
            ann.call("export", "{}").await
        };
        let (id, _) = paged(&answer);
        // Nobody is asked about `read_result` itself.
        assert!(ann.request("tools/list", "{}").await.tool_names().contains(&"read_result".to_owned()));
        assert!(read(&mut ann, &id).await.0);
        let hidden = format!("{all}forbid(principal, action, resource) when {{ resource.name == \"export\" }};\n");
        proxy.world.directory.write("policies/a.cedar", &hidden);
        let gone = async {
            loop {
                let (is_read, text) = read(&mut ann, &id).await;
                if !is_read {
                    break text;
                }
            }
        };
        assert_eq!(within("the new policies", &proxy.program.stderr, gone).await, not_kept(&id));
        assert!(ann.request("tools/list", "{}").await.tool_names().contains(&"read_result".to_owned()));
    }
}

#[tokio::test]
async fn a_tool_that_policies_deny_some_may_be_named_like_ours() {
    let policies = "permit(principal, action, resource);\n\
                    forbid(principal, action, resource) when { resource.name == \"read_result\" } unless { principal == Client::\"ann\" };\n";
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object", "properties": {}}});
    let tools = json!([tool("read_result"), tool("export")]).to_string();
    let sections = format!("{LIMIT}\n{TOKENS}\ncedar: {{policies: [policies/*.cedar]}}");
    let proxy = world(&sections).file("policies/a.cedar", policies).file("tools.json", &tools).http().await;
    let mut bob = session_of(&proxy, "secret-token-of-b").await;
    let names = bob.request("tools/list", "{}").await.tool_names();
    assert_eq!(names.last().map(String::as_str), Some("proxy_read_result"), "{names:?}");
    assert!(!names.contains(&"read_result".to_owned()));
    let (id, _) = paged(&bob.call("export", "{}").await);
    let denied = bob.call("read_result", &page_of(&id, 2)).await;
    assert_eq!(denied.error_message(), "unknown tool: read_result");
}

#[tokio::test]
async fn scopes_of_the_tool_behind_are_needed_for_its_pages() {
    let sections = format!(
        "{LIMIT}\nauth: {{tokens: [{{token: secret-token-of-a, sub: ann, scopes: [export]}}, {{token: secret-token-of-c, sub: ann}}], \
         scopes: [{{tools: export, scopes: [export]}}]}}"
    );
    let optimized = "optimizer: {enabled: true, listBelow: 0, embedding: {provider: none}}";
    // Models sometimes put the name among the tool's own arguments, and send these as JSON text.
    let inner = json!({"tool_name": "export"});
    for (more, tool, arguments) in [
        ("", "export", json!({})),
        (optimized, "call_tool", json!({"tool_name": "export", "parameters": {}})),
        (optimized, "call_tool", json!({"parameters": inner})),
        (optimized, "call_tool", json!({"parameters": inner.to_string()})),
    ] {
        let proxy = world(&format!("{sections}\n{more}")).http().await;
        let mut with = session_of(&proxy, "secret-token-of-a").await;
        let mut without = session_of(&proxy, "secret-token-of-c").await;
        let (id, _) = paged(&with.call(tool, &arguments.to_string()).await);
        let (is_read, text) = read(&mut without, &id).await;
        assert!(!is_read && text.contains("scope"), "{arguments}: {text}");
        assert!(read(&mut with, &id).await.0, "{arguments}");
    }
}

#[tokio::test]
async fn what_a_script_of_a_model_returned_is_for_whoever_may_do_the_same() {
    // given: the script may have called anything, and nobody knows any more what
    let sections = format!(
        "{LIMIT}\ncodeMode: {{enabled: true}}\nauth: {{tokens: [{{token: secret-token-of-a, sub: ann, scopes: [export]}}, \
         {{token: secret-token-of-c, sub: ann}}], scopes: [{{tools: export, scopes: [export]}}]}}"
    );
    let proxy = world(&sections).http().await;
    let mut with = session_of(&proxy, "secret-token-of-a").await;
    let script = json!({"script": "return export()"}).to_string();
    let (id, _) = paged(&with.call("execute_tool_script", &script).await);
    // when: the same person has a token that allows less
    let mut without = session_of(&proxy, "secret-token-of-c").await;
    // then
    assert_eq!(read(&mut without, &id).await, (false, not_kept(&id)));
    assert!(read(&mut with, &id).await.0);
}
