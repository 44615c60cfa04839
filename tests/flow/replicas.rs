//! A secret on its way out at two replicas with one store: the stranger's text was read at one of them, in a connection that
//! is over, and one call at the other one does the rest. It is stopped in its middle.

use serde_json::{Value, json};

use super::shared_server::SharedServer;
use super::{LABELS, rules, text};
use crate::support::http_client::HttpClient;
use crate::support::message::Message;
use crate::support::proxy::{HttpProxy, Proxy};
use crate::support::redis::Redis;

/// Each person's clients are of other eras: the one that reads, and the one that is stopped.
const PEOPLE: [(&str, bool, bool); 4] =
    [("ann", false, false), ("bob", false, true), ("cid", true, false), ("dee", true, true)];

/// Somebody who has read nothing by a stranger.
const NEWCOMER: &str = "eve";

fn tokens() -> String {
    let names = PEOPLE.map(|(name, ..)| name);
    let tokens = names.iter().chain([&NEWCOMER]).map(|name| format!("{{token: secret-token-of-{name}, sub: {name}}}"));
    format!("auth: {{tokens: [{}]}}", tokens.collect::<Vec<_>>().join(", "))
}

struct Replicas {
    _redis: Redis,
    server: SharedServer,
    first: HttpProxy,
    second: HttpProxy,
}

impl Replicas {
    async fn start(sections: &[&str], script: &str) -> Option<Self> {
        let redis = Redis::start().await?;
        let server = SharedServer::start().await;
        let store = format!("store: {{url: '{}'}}", redis.url());
        let tokens = tokens();
        let config = server.config(&[sections, &[&tokens, &store]].concat());
        let replica = || Proxy::new(&config).file("policy.star", script).http();
        let first = replica().await;
        let second = replica().await;
        Some(Replicas { _redis: redis, server, first, second })
    }
}

/// A person at one proxy, with a client of one era.
struct Person {
    client: HttpClient,
    modern: bool,
}

impl Person {
    async fn at(proxy: &HttpProxy, name: &str, modern: bool) -> Self {
        let mut client = proxy.client().with_header("Authorization", &format!("Bearer secret-token-of-{name}"));
        if !modern {
            client.initialize("2025-11-25").await.result();
        }
        Person { client, modern }
    }

    async fn call(&mut self, (tool, arguments): (&str, Value)) -> Message {
        let arguments = arguments.to_string();
        if self.modern {
            self.client.modern_call(tool, &arguments).await
        } else {
            self.client.call(tool, &arguments).await
        }
    }

    async fn passes(&mut self, call: (&str, Value)) {
        let answer = self.call(call).await;
        assert!(answer.result().contains("content") && answer.value()["result"]["isError"] != true, "{}", answer.raw);
    }

    async fn is_stopped(&mut self, call: (&str, Value)) {
        let answer = self.call(call).await;
        assert_eq!(answer.value()["result"]["isError"], true, "{}", answer.raw);
        for part in ["send_mail` was not called: this conversation has read ", "fetch` (untrusted)", "vault` (secret)"]
        {
            assert!(answer.text().contains(part), "{part}: {}", answer.raw);
        }
    }

    async fn leaves(self) {
        if !self.modern {
            assert_eq!(self.client.delete().await, 204, "the end of the session");
        }
    }
}

/// The calls that a person makes. Their arguments name the person.
struct Calls {
    fetch: fn(&str) -> (&'static str, Value),
    /// Takes a note, reads the vault, and mails what was in it.
    report: fn(&str) -> (&'static str, Value),
    send_mail: fn(&str) -> (&'static str, Value),
}

async fn are_stopped_in_their_middle(replicas: &Replicas, calls: &Calls) {
    let server = &replicas.server;
    // Given somebody for whom all of it is fine
    Person::at(&replicas.second, NEWCOMER, false).await.passes((calls.report)(NEWCOMER)).await;
    assert_eq!(server.calls_with(NEWCOMER).await, ["note", "read_vault", "send_mail"]);
    for (name, reads_modern, reports_modern) in PEOPLE {
        // And somebody who has read a stranger's text at one replica, and has left
        let mut before = Person::at(&replicas.first, name, reads_modern).await;
        before.passes((calls.fetch)(name)).await;
        before.leaves().await;
        // When they do the same at the other replica
        let mut there = Person::at(&replicas.second, name, reports_modern).await;
        there.is_stopped((calls.report)(name)).await;
        // Then the mail is not sent, and what comes before it is done
        assert_eq!(server.calls_with(name).await, ["fetch", "note", "read_vault"], "{name}");
        // And neither is one that they send in a new connection to the first replica
        let mut again = Person::at(&replicas.first, name, !reads_modern).await;
        again.is_stopped((calls.send_mail)(name)).await;
        assert_eq!(server.calls_with(name).await, ["fetch", "note", "read_vault"], "{name}");
    }
}

#[tokio::test]
async fn a_composed_tool_is_stopped_in_its_middle_at_the_other_replica() {
    let script = r#"
tools = {meta.name: (meta, call) for meta, call in backends()["fake"].tools()}

def report(args):
    who = args["text"]
    tools["note"][1]({"text": "a note of " + who})
    secret = tools["read_vault"][1]({"text": "the key of " + who})
    return tools["send_mail"][1](unwrap(secret))

publish(metadata("report", "", {"type": "object"}, {}), report)
publish(*tools["fetch"])
publish(*tools["send_mail"])
"#;
    let rules = rules("deny").replace(LABELS, "  labels:\n  - {name: read_vault, server: fake, labels: [secret]}\n");
    let Some(replicas) = Replicas::start(&["sessionInit: {scriptFile: policy.star}", &rules], script).await else {
        return;
    };
    let calls = Calls {
        fetch: |name| ("fetch", text(&format!("a page for {name}"))),
        report: |name| ("report", text(name)),
        send_mail: |name| ("send_mail", text(&format!("the key of {name}"))),
    };
    are_stopped_in_their_middle(&replicas, &calls).await;
}

fn of_model(code: &str) -> (&'static str, Value) {
    ("execute_tool_script", json!({"script": code}))
}

#[tokio::test]
async fn a_script_of_a_model_is_stopped_in_its_middle_at_the_other_replica() {
    let sections = ["sessionInit: {preset: code-mode@1}", &rules("deny")];
    let Some(replicas) = Replicas::start(&sections, "").await else { return };
    let calls = Calls {
        fetch: |name| of_model(&format!("return fetch(text = 'a page for {name}')")),
        report: |name| {
            of_model(&format!(
                "note(text = 'a note of {name}')\nsecret = read_vault(text = 'the key of {name}')\n\
                 return send_mail(text = secret['text'])"
            ))
        },
        send_mail: |name| of_model(&format!("return send_mail(text = 'the key of {name}')")),
    };
    are_stopped_in_their_middle(&replicas, &calls).await;
}
