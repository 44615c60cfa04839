//! Clients of every revision get what their revision has, and lose no more than that.

use crate::support::config::Config;
use crate::support::in_process::{Proxy, StdioProxy};
use crate::support::message::{Message, member};
use crate::support::programs::fake_backend;
use crate::support::temp_dir::TempDir;

const ERAS: [&str; 2] = ["legacy", "modern"];
const SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn fake(flags: &[&str]) -> StdioProxy {
    let config = Config::new().server("fake", &fake_backend(flags.iter().copied()));
    Proxy::new(&config.section("sessionInit: {preset: passthrough}")).stdio()
}

/// Asks as a client of that revision. Another handshake on the same pipe starts over.
async fn ask(proxy: &mut StdioProxy, revision: &str, method: &str, params: &str) -> Message {
    if revision == "2026-07-28" {
        return proxy.client.modern(method, params).await;
    }
    let agreed = proxy.client.initialize(revision).await.value();
    assert_eq!(agreed["result"]["protocolVersion"], revision);
    proxy.client.request(method, params).await
}

async fn content(proxy: &mut StdioProxy, revision: &str, result: &str) -> String {
    let params = format!(r#"{{"name":"raw","arguments":{{"result":{result}}}}}"#);
    let result = ask(proxy, revision, "tools/call", &params).await.result();
    member(&result, "content").expect("a tool has content")
}

const TEXT: &str = r#"{ "type":"text", "n":1.10, "text":"\u0061udio" }"#;
const AUDIO: &str = r#"{"type":"audio","data":"QQ==","mimeType":"audio/wav","_meta":{"v/k":1.0}}"#;
const LINK: &str = r#"{"type":"resource_link","uri":"memo://x","name":"x","title":"The x","icons":[{"src":"data:,"}],"description":"About x"}"#;
const FUTURE: &str = r#"{"type":"hologram","depth":1e400}"#;

#[tokio::test]
async fn blocks_that_a_revision_lacks_are_told_with_those_it_has() {
    let audio = r#"{"type":"resource","resource":{"uri":"embedded:audio/1","mimeType":"audio/wav","blob":"QQ=="},"_meta":{"v/k":1.0}}"#;
    let link = r#"{"type":"text","text":"The x: memo://x\nAbout x"}"#;
    for era in ERAS {
        let mut proxy = fake(&["--era", era]);
        let kind = if era == "modern" { r#","resultType":"complete""# } else { "" };
        let sent = format!(r#"{{"content":[{TEXT},{AUDIO},{LINK},{FUTURE}]{kind}}}"#);
        for (revision, expected) in [
            ("2024-11-05", [TEXT, audio, link, FUTURE]),
            ("2025-03-26", [TEXT, AUDIO, link, FUTURE]),
            ("2025-06-18", [TEXT, AUDIO, LINK, FUTURE]),
            ("2025-11-25", [TEXT, AUDIO, LINK, FUTURE]),
            ("2026-07-28", [TEXT, AUDIO, LINK, FUTURE]),
        ] {
            let told = content(&mut proxy, revision, &sent).await;
            assert_eq!(told, format!("[{}]", expected.join(",")), "{revision}, {era} server");
        }
    }
}

#[tokio::test]
async fn blocks_in_the_messages_of_a_prompt_are_told_likewise() {
    let script = r#"sessionInit:
  script: |
    sound = {"type": "audio", "data": "QQ==", "mimeType": "audio/wav"}

    def listen(args):
        return {"messages": [{"role": "user", "content": sound}]}

    publish_prompt(prompt_metadata("listen", "Plays", []), listen)
"#;
    let mut proxy = Proxy::new(&Config::new().section(script)).stdio();
    for (revision, kind) in [("2024-11-05", "resource"), ("2025-03-26", "audio"), ("2026-07-28", "audio")] {
        let told = ask(&mut proxy, revision, "prompts/get", r#"{"name":"listen"}"#).await.value();
        assert_eq!(told["result"]["messages"][0]["content"]["type"], kind, "{told}");
    }
}

#[tokio::test]
async fn tools_are_listed_as_each_revision_defines_them() {
    let head =
        r#"{"name":"odd","x-own":{"n":1.10},"title":"Odd","icons":[{"src":"data:,"}],"inputSchema":{"type":"object"}"#;
    let execution = r#","execution":{"taskSupport":"optional"}"#;
    let schema = r#","outputSchema":{"type":"array","items":{"type":"number"}}"#;
    let meta = r#","_meta":{"v/k":1e2}"#;
    let directory = TempDir::new();
    let path = directory.write("tools.json", &format!("[{head}{execution}{schema}{meta}}}]"));
    for era in ERAS {
        // Said in either era; it means something in one of them only.
        let tasks = r#""tasks":{"requests":{"tools":{"call":{}}}}"#;
        let path = path.to_str().expect("a temporary path is text");
        let mut proxy = fake(&["--era", era, "--tools", path, "--capabilities", tasks]);
        for (revision, expected) in [
            ("2026-07-28", format!("{head}{schema}{meta}}}")),
            ("2025-11-25", format!("{head}{}{meta}}}", if era == "legacy" { execution } else { "" })),
            ("2025-06-18", format!("{head}{meta}}}")),
            ("2025-03-26", format!(r#"{head}{meta},"annotations":{{"title":"Odd"}}}}"#)),
            ("2024-11-05", format!("{head}{meta}}}")),
        ] {
            let listed = ask(&mut proxy, revision, "tools/list", "{}").await.result();
            assert_eq!(member(&listed, "tools"), Some(format!("[{expected}]")), "{revision}, {era} server");
        }
    }
}

#[tokio::test]
async fn structured_content_that_is_no_object_is_text_before_the_stateless_era() {
    for era in ERAS {
        let mut proxy = fake(&["--era", era]);
        let kind = if era == "modern" { r#","resultType":"complete""# } else { "" };
        let sent = format!(r#"{{"content":[],"structuredContent":[1.10, 2]{kind}}}"#);
        let params = format!(r#"{{"name":"raw","arguments":{{"result":{sent}}}}}"#);
        for revision in SESSIONS {
            let told = ask(&mut proxy, revision, "tools/call", &params).await.result();
            assert_eq!(told, r#"{"content":[{"type":"text","text":"[1.10, 2]"}]}"#, "{revision}");
        }
        let told = ask(&mut proxy, "2026-07-28", "tools/call", &params).await;
        assert_eq!(told.structured(), "[1.10, 2]");
    }
}

#[tokio::test]
async fn what_only_the_stateless_era_has_is_taken_off_for_sessions() {
    let mut proxy = fake(&["--era", "modern", "--resources"]);
    for revision in SESSIONS {
        let read = ask(&mut proxy, revision, "resources/read", r#"{"uri":"memo://greeting"}"#).await.value();
        let mut members: Vec<&String> = read["result"].as_object().expect("it is an object").keys().collect();
        members.sort();
        assert_eq!(members, ["contents"], "{revision}");
    }
}

#[tokio::test]
async fn a_result_of_a_type_nobody_knows_is_an_error() {
    for era in ERAS {
        let mut proxy = fake(&["--era", era]);
        let params = r#"{"name":"raw","arguments":{"result":{"resultType":"prophecy","content":[]}}}"#;
        for revision in ["2025-11-25", "2026-07-28"] {
            let told = ask(&mut proxy, revision, "tools/call", params).await;
            assert_eq!(told.error_code(), -32603, "{revision}");
            assert!(told.error_message().contains("prophecy"), "{}", told.raw);
        }
    }
}
