//! With several servers, a question says which of them asks.

use serde_json::{Value, json};

use super::{Client, ERAS, EVERYTHING};
use crate::support::config::Config;
use crate::support::programs::fake_backend;

fn message(question: &Value) -> &str {
    question["params"]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn with_several_servers_the_one_that_asks_is_named_and_a_single_one_is_not() {
    for era in ERAS {
        for modern in [true, false] {
            let asking = fake_backend(["--era", era, "--only", "ask"]);
            let one = Config::new().server("bank", &asking);
            let two =
                Config::new().server("bank", &asking).server("other", &fake_backend(["--era", era, "--only", "echo"]));
            let mut plain = String::new();
            for config in [one, two] {
                let mut client = Client::of(&config, modern, EVERYTHING).await;
                let answer = json!({"action": "accept", "content": {"colour": "red"}});
                let (questions, outcome) = client.converse("ask", json!({}), answer).await;
                assert!(outcome["result"]["isError"] != true, "{outcome}");
                let asked = message(&questions[0]).to_owned();
                if plain.is_empty() {
                    assert!(!asked.is_empty() && !asked.contains("bank"), "{asked}");
                    plain = asked;
                } else {
                    assert_eq!(asked, format!("bank asks: {plain}"), "{era} server, modern client: {modern}");
                }
            }
        }
    }
}
