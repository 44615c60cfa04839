//! A batch taken apart, and its answers put together.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::json::Raw;
use crate::server::Server;
use crate::server::client::client::Client;
use crate::server::client::in_flight::InFlight;
use crate::server::client::sink::MessageSink;
use crate::server::methods::{self, vendor};
use crate::wire::{Message, Notification, Request, Response, RpcError, encode};

/// Longer batches are refused.
const LIMIT: usize = 1000;

#[derive(Debug)]
pub(crate) enum Item {
    Request(Request),
    Notification(Notification),
    /// The answer to something the client was asked.
    Answer(Response),
    /// An element that is no message gets its error at once.
    Answered(String),
}

pub(crate) fn sort(items: &[Raw]) -> Result<Vec<Item>, RpcError> {
    if items.is_empty() || items.len() > LIMIT {
        return Err(RpcError::invalid_request(&format!("a batch has 1 to {LIMIT} messages")));
    }
    Ok(items.iter().filter_map(sort_one).collect())
}

fn sort_one(item: &Raw) -> Option<Item> {
    match Message::parse(item.get().as_bytes()) {
        Ok(Message::Request(request)) if request.method == "initialize" => {
            let error = RpcError::invalid_request("`initialize` cannot be part of a batch");
            Some(Item::Answered(encode::error(Some(&request.id), &error)))
        }
        Ok(Message::Request(request)) => Some(Item::Request(request)),
        Ok(Message::Notification(notification)) => Some(Item::Notification(notification)),
        Ok(Message::Response(response)) => Some(Item::Answer(response)),
        Err(fault) => Some(Item::Answered(match &fault.id {
            Some(id) => encode::error(Some(id), &fault.error),
            None => encode::error_with_null_id(&fault.error),
        })),
    }
}

/// Begins everything in a batch, in order, for a client of a session. What comes back are the answers to wait for.
pub(crate) fn begin(
    items: Vec<Item>,
    server: &Server,
    client: &Arc<Client>,
    in_flight: &InFlight,
    sink: &MessageSink,
) -> Vec<JoinHandle<Option<String>>> {
    let mut answers = Vec::new();
    for item in items {
        match item {
            Item::Answered(text) => answers.push(tokio::spawn(async move { Some(text) })),
            Item::Answer(response) => {
                if let Some(questions) = &client.questions {
                    questions.take(response);
                }
            }
            Item::Notification(notification) => {
                in_flight.take_notification(&notification);
                vendor::forward_session_notification(server, &notification, client);
            }
            Item::Request(request) => {
                let (server, client, sink) = (server.clone(), Arc::clone(client), sink.clone());
                // Begun here and not in the task, so that a cancellation later in the batch finds it.
                let running = in_flight.begin(&request.id);
                answers.push(tokio::spawn(async move {
                    let outcome = match &running {
                        Err(error) => Err(error.clone()),
                        Ok(running) => {
                            let cancel = running.cancel.clone();
                            methods::answer(&server, &client, &sink, &request, cancel, None).await?
                        }
                    };
                    Some(encode::outcome(&request.id, &outcome))
                }));
            }
        }
    }
    answers
}

/// All answers as one array; none if there is nothing to answer, because all of it was cancelled.
pub(crate) async fn gather(answers: Vec<JoinHandle<Option<String>>>) -> Option<String> {
    let mut texts = Vec::new();
    for answer in answers {
        if let Ok(Some(text)) = answer.await {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then(|| format!("[{}]", texts.join(",")))
}
