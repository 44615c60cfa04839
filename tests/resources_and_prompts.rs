//! What servers have beside tools, through the proxy, in all four combinations of eras.

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::real_servers;

const ERAS: [&str; 2] = ["legacy", "modern"];

fn config(era: &str) -> Config {
    Config::new().server("fake", &fake_backend(["--era", era, "--resources", "--prompts"]))
}

/// A client of one era.
struct Client {
    proxy: StdioProxy,
    modern: bool,
}

impl Client {
    async fn of(config: &Config, modern: bool) -> Self {
        let mut proxy = Proxy::new(config).stdio();
        if !modern {
            proxy.client.initialize("2025-11-25").await.result();
        }
        Client { proxy, modern }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let params = params.to_string();
        let answer = match self.modern {
            true => self.proxy.client.modern(method, &params).await,
            false => self.proxy.client.request(method, &params).await,
        };
        serde_json::from_str(&answer.raw).expect("an answer is JSON")
    }

    async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }
}

#[tokio::test]
async fn resources_are_listed_and_read_in_every_combination_of_eras() {
    for era in ERAS {
        for modern in [false, true] {
            let mut client = Client::of(&config(era), modern).await;
            let listed = client.result("resources/list", json!({})).await;
            assert_eq!(listed["resources"][0]["uri"], "memo://greeting", "{listed}");
            let templates = client.result("resources/templates/list", json!({})).await;
            assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "memo://notes/{name}");
            let read = client.result("resources/read", json!({"uri": "memo://greeting"})).await;
            assert_eq!(read["contents"][0]["text"], "the text of memo://greeting");
            // Only the stateless era says how long a result may be kept.
            assert_eq!(read.get("ttlMs").is_some(), modern, "{read}");
            assert_eq!(read.get("resultType").is_some(), modern, "{read}");
        }
    }
}

#[tokio::test]
async fn a_uri_that_fits_a_template_reaches_the_server_that_offers_it() {
    let mut client = Client::of(&config("legacy"), false).await;
    let read = client.result("resources/read", json!({"uri": "memo://notes/today"})).await;
    assert_eq!(read["contents"][0]["uri"], "memo://notes/today");
}

#[tokio::test]
async fn a_resource_that_is_not_there_is_told_as_each_era_tells_it() {
    for (modern, code) in [(false, -32002), (true, -32602)] {
        let mut client = Client::of(&config("legacy"), modern).await;
        let answer = client.ask("resources/read", json!({"uri": "other://thing"})).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["error"]["data"]["uri"], "other://thing");
    }
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in_in_every_combination_of_eras() {
    for era in ERAS {
        for modern in [false, true] {
            let mut client = Client::of(&config(era), modern).await;
            let listed = client.result("prompts/list", json!({})).await;
            assert_eq!(listed["prompts"][0]["name"], "greet");
            let prompt = client.result("prompts/get", json!({"name": "greet", "arguments": {"who": "Ann"}})).await;
            assert_eq!(prompt["messages"][0]["content"]["text"], r#"greet with {"who":"Ann"}"#);
            let unknown = client.ask("prompts/get", json!({"name": "nope"})).await;
            assert_eq!(unknown["error"]["code"], -32602);
        }
    }
}

#[tokio::test]
async fn a_script_publishes_what_it_makes_and_wraps() {
    let script = r#"sessionInit:
  script: |
    def shout(call):
        def handler(args):
            result = call(args)
            return result["contents"][0]["text"].upper()
        return handler

    for name, backend in backends().items():
        for meta, call in backend.resources():
            publish_resource(meta, shout(call))
        for meta, call in backend.prompts():
            publish_prompt(meta.replace(name = name + "_" + meta.name), call)

    def note(args):
        return "note " + args["id"]

    def hello(args):
        return "Say hello to " + args.get("who", "everybody")

    publish_resource_template(resource_template_metadata("note://{id}", "note"), note)
    publish_prompt(prompt_metadata("hello", "Greets", [{"name": "who"}]), hello)
"#;
    let mut client = Client::of(&config("legacy").section(script), false).await;
    let read = client.result("resources/read", json!({"uri": "memo://greeting"})).await;
    assert_eq!(read["contents"][0], json!({"uri": "memo://greeting", "text": "THE TEXT OF MEMO://GREETING"}));
    let read = client.result("resources/read", json!({"uri": "note://7"})).await;
    assert_eq!(read["contents"][0], json!({"uri": "note://7", "text": "note 7"}));
    let prompt = client.result("prompts/get", json!({"name": "fake_greet", "arguments": {"who": "Bo"}})).await;
    assert_eq!(prompt["messages"][0]["content"]["text"], r#"greet with {"who":"Bo"}"#);
    let prompt = client.result("prompts/get", json!({"name": "hello"})).await;
    assert_eq!(prompt["messages"][0]["content"]["text"], "Say hello to everybody");
    let tools = client.result("tools/list", json!({})).await;
    assert_eq!(tools["tools"], json!([]), "what is not published does not exist");
}

#[tokio::test]
async fn a_handler_of_a_resource_that_fails_is_a_protocol_error_with_its_data() {
    let script = r#"sessionInit:
  script: |
    def broken(args):
        fail("no ink", data = {"left": 0})

    publish_resource(resource_metadata("note://1", "one"), broken)
"#;
    let mut client = Client::of(&config("legacy").section(script), false).await;
    let answer = client.ask("resources/read", json!({"uri": "note://1"})).await;
    assert_eq!(answer["error"]["code"], -32603);
    assert!(answer["error"]["message"].as_str().unwrap().starts_with("no ink"), "{answer}");
    assert_eq!(answer["error"]["data"], json!({"left": 0}));
}

#[tokio::test]
async fn the_same_resource_on_two_servers_is_the_first_ones() {
    let config = Config::new()
        .server("first", &fake_backend(["--era", "legacy", "--resources", "--prompts"]))
        .server("second", &fake_backend(["--era", "legacy", "--resources", "--prompts"]));
    let mut client = Client::of(&config, false).await;
    let listed = client.result("resources/list", json!({})).await;
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(2), "{listed}");
    let prompts = client.result("prompts/list", json!({})).await;
    let names: Vec<&str> =
        prompts["prompts"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["greet", "second_greet"]);
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn an_argument_of_a_prompt_is_completed_by_the_server_that_has_it() {
    let Some(everything) = real_servers::everything() else { return };
    let script = "sessionInit:\n  script: |\n    for name, backend in backends().items():\n        for meta, call in backend.prompts():\n            publish_prompt(meta.replace(name = \"team_\" + meta.name), call)\n";
    let config = Config::new().server("everything", &everything).section(script);
    for modern in [false, true] {
        let mut client = Client::of(&config, modern).await;
        client.proxy.client.stderr().line("ready: ").await;
        let asked = json!({
            "ref": {"type": "ref/prompt", "name": "team_completable-prompt"},
            "argument": {"name": "department", "value": "E"},
        });
        let result = loop {
            let answer = client.ask("completion/complete", asked.clone()).await;
            // The server may still be starting: then its prompt is not published yet.
            if answer["error"]["code"] != -32602 {
                break answer["result"].clone();
            }
        };
        assert_eq!(result["completion"]["values"], json!(["Engineering"]), "{result}");
    }
}

#[tokio::test]
async fn a_completion_has_at_most_a_hundred_values_and_says_that_there_are_more() {
    for (count, kept) in [(150, 100), (100, 100), (3, 3)] {
        for era in ERAS {
            let flags = ["--era", era, "--prompts", "--completions", &count.to_string()];
            let config = Config::new().server("fake", &fake_backend(flags));
            for modern in [false, true] {
                let mut client = Client::of(&config, modern).await;
                let asked =
                    json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}});
                let completion = client.result("completion/complete", asked).await["completion"].clone();
                assert_eq!(completion["values"].as_array().map(Vec::len), Some(kept), "{completion}");
                assert_eq!(completion["total"], count);
                assert_eq!(completion.get("hasMore"), (count > kept).then_some(&json!(true)));
            }
        }
    }
}

#[tokio::test]
async fn the_contents_of_a_renamed_resource_have_the_uri_that_was_asked_for() {
    let script = r#"
sessionInit:
  script: |
    for meta, call in backends()["fake"].resources():
        publish_resource(meta.replace(uri = "published://" + meta.name), call)
"#;
    let wrapped = r#"
sessionInit:
  script: |
    def reading(meta, call):
        return lambda args: call({"uri": meta.uri})

    for meta, call in backends()["fake"].resources():
        publish_resource(meta.replace(uri = "published://" + meta.name), reading(meta, call))
"#;
    for (era, modern, script) in
        [("legacy", false, script), ("modern", true, script), ("legacy", false, wrapped), ("modern", true, wrapped)]
    {
        let mut client = Client::of(&config(era).section(script), modern).await;
        let listed = client.result("resources/list", json!({})).await;
        let uri = listed["resources"][0]["uri"].as_str().expect("a URI").to_owned();
        assert!(uri.starts_with("published://"), "{listed}");
        let read = client.result("resources/read", json!({"uri": uri})).await;
        assert_eq!(read["contents"][0]["uri"], uri, "{read}");
        assert_eq!(read["contents"][0]["text"], "the text of memo://greeting");
    }
}
