//! A client of the TypeScript SDK before a server where everybody has an account of their own, in both eras.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::ChildStdout;

use super::World;
use crate::support::browser::Browser;
use crate::support::program::Program;
use crate::support::real_servers;

/// The revision that each era speaks.
const ERAS: [[&str; 2]; 2] = [["legacy", "2025-11-25"], ["2026-07-28", "2026-07-28"]];

struct SdkClient {
    program: Program,
    output: Lines<BufReader<ChildStdout>>,
}

impl SdkClient {
    /// Of Ann, with this capability.
    fn start(world: &World, era: &str, elicitation: &Value) -> Option<Self> {
        let mut command = real_servers::client_of_a_person()?;
        let token = world.issuer.token_with("ann", json!({"aud": world.url}));
        command.args([&world.url, era, &token, &elicitation.to_string()]);
        let (program, _, output) = Program::start(command);
        Some(SdkClient { program, output: BufReader::new(output).lines() })
    }

    async fn line(&mut self) -> String {
        let line = self.output.next_line().await.expect("text");
        line.unwrap_or_else(|| panic!("it has ended: {}", self.program.stderr.text()))
    }

    async fn report(&mut self) -> Value {
        let line = self.line().await;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

#[tokio::test]
#[ignore = "packages of other people, which are installed first"]
async fn the_typescript_sdk_is_asked_and_goes_on_after_the_log_in() {
    for [era, revision] in ERAS {
        // given
        let world = World::start().await;
        let Some(mut client) = SdkClient::start(&world, era, &json!({"form": {}, "url": {}})) else { return };
        // when
        assert_eq!(client.line().await, format!("visit {}", world.page()));
        world.connect(&Browser::of("ann")).await;
        // then
        let report = client.report().await;
        assert_eq!(report["revision"], revision, "{report}");
        assert_eq!(report["before"], json!(["crm_log_in"]));
        let told = report["told"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(told.contains("you are logged in at `crm`: "), "{report}");
        assert_eq!(report["answer"]["structuredContent"], json!({"n": 1}), "{report}");
        assert_eq!(report["completed"], json!(usize::from(era == "legacy")), "{report}");
    }
}

#[tokio::test]
#[ignore = "packages of other people, which are installed first"]
async fn the_typescript_sdk_that_opens_no_pages_is_told_where_to_log_in() {
    for [era, revision] in ERAS {
        let world = World::start().await;
        let Some(mut client) = SdkClient::start(&world, era, &json!({"form": {}})) else { return };
        let report = client.report().await;
        assert_eq!(report["revision"], revision, "{report}");
        let told = &report["told"];
        assert_eq!(told["isError"], true, "{report}");
        assert_eq!(told["_meta"]["proxy/logIn"], json!({"server": "crm", "url": world.page()}), "{report}");
        let text = told["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(&format!("open {} in a browser, sign in as ann", world.page())), "{report}");
    }
}
