//! A client of the proxy that follows resources, in either era and over either transport, the same to a test.

use serde_json::{Value, json};

use super::http_client::{HttpClient, HttpReply};
use super::http_request::HttpRequest;
use super::message::Message;
use super::modern::{modern_meta, with_meta};
use super::proxy::{HttpProxy, StdioProxy};

pub const UPDATED: &str = "notifications/resources/updated";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The two eras.
pub const ERAS: [bool; 2] = [false, true];

/// On a pipe of its own.
pub struct StdioFollower {
    pub proxy: StdioProxy,
    modern: bool,
}

impl StdioFollower {
    pub async fn start(proxy: impl Into<StdioProxy>, modern: bool) -> Self {
        let mut proxy = proxy.into();
        if !modern {
            proxy.client.initialize("2025-11-25").await.result();
        }
        Self { proxy, modern }
    }

    pub async fn call(&mut self, tool: &str, arguments: Value) -> Message {
        match self.modern {
            true => self.proxy.client.modern_call(tool, &arguments.to_string()).await,
            false => self.proxy.client.call(tool, &arguments.to_string()).await,
        }
    }

    /// Follows these; which of them the proxy accepted.
    pub async fn follow(&mut self, uris: &[&str]) -> Vec<String> {
        let client = &mut self.proxy.client;
        if self.modern {
            let params = json!({"notifications": {"resourceSubscriptions": uris}}).to_string();
            client.begin("subscriptions/listen", &with_meta(&params, &modern_meta())).await;
            return accepted(&client.expect_notification(ACKNOWLEDGED).await);
        }
        let mut accepted = Vec::new();
        for uri in uris {
            let answer = client.request("resources/subscribe", &json!({ "uri": uri }).to_string()).await;
            if answer.member("result").is_some() {
                accepted.push((*uri).to_owned());
            }
        }
        accepted
    }

    /// The next resource that was updated.
    pub async fn updated(&mut self) -> String {
        uri(&self.proxy.client.expect_notification(UPDATED).await)
    }
}

/// Over HTTP, beside others.
pub struct HttpFollower {
    pub client: HttpClient,
    /// The standalone stream of a session, or the stream of the last listen.
    pub stream: Option<HttpReply>,
    modern: bool,
    listens: u32,
}

impl HttpFollower {
    pub async fn of(proxy: &HttpProxy, modern: bool) -> Self {
        Self::with(proxy.client(), modern).await
    }

    /// The same for a client that is somebody.
    pub async fn with(mut client: HttpClient, modern: bool) -> Self {
        let mut stream = None;
        if !modern {
            client.initialize("2025-11-25").await.result();
            stream = Some(client.get_stream().await);
        }
        Self { client, stream, modern, listens: 0 }
    }

    pub async fn call(&mut self, tool: &str, arguments: Value) -> Message {
        match self.modern {
            true => self.client.modern_call(tool, &arguments.to_string()).await,
            false => self.client.call(tool, &arguments.to_string()).await,
        }
    }

    pub async fn follow(&mut self, uris: &[&str]) -> Vec<String> {
        if self.modern {
            self.listens += 1;
            let id = format!(r#""listen-{}""#, self.listens);
            let params = json!({"notifications": {"resourceSubscriptions": uris}}).to_string();
            let mut stream = self.client.send(&HttpRequest::modern(&id, "subscriptions/listen", &params)).await;
            let first = stream.next_message().await.expect("the stream opens with the acknowledgment");
            assert_eq!(first.method().as_deref(), Some(ACKNOWLEDGED), "{}", first.raw);
            assert_eq!(first.value()["params"]["_meta"][SUBSCRIPTION_ID].to_string(), id);
            self.stream = Some(stream);
            return accepted(&first);
        }
        let mut accepted = Vec::new();
        for uri in uris {
            let answer = self.client.request("resources/subscribe", &json!({ "uri": uri }).to_string()).await;
            if answer.member("result").is_some() {
                accepted.push((*uri).to_owned());
            }
        }
        accepted
    }

    pub async fn updated(&mut self) -> String {
        let stream = self.stream.as_mut().expect("a stream is open");
        loop {
            let message = stream.next_message().await.expect("the stream goes on");
            if message.method().as_deref() == Some(UPDATED) {
                let id = &message.value()["params"]["_meta"][SUBSCRIPTION_ID];
                let expected = if self.modern { json!(format!("listen-{}", self.listens)) } else { Value::Null };
                assert_eq!(*id, expected, "{}", message.raw);
                return uri(&message);
            }
        }
    }
}

fn uri(message: &Message) -> String {
    message.value()["params"]["uri"].as_str().expect("an update names what it is about").to_owned()
}

fn accepted(acknowledgment: &Message) -> Vec<String> {
    let accepted = acknowledgment.value()["params"]["notifications"]["resourceSubscriptions"].clone();
    serde_json::from_value(accepted).unwrap_or_default()
}
