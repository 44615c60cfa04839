//! JSON-RPC batches: parses the messages, handles each of them, and joins the responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinHandle;

use crate::Server;
use crate::client::in_flight::InFlight;
use crate::client::sink::MessageSink;
use crate::client::state::{Client, ClientSession};
use crate::methods::{self, vendor};
use proxy_json::Raw;
use proxy_wire::{Id, Message, Method, Notification, Request, Response, RpcError, encode};

/// The maximum number of messages in a batch.
const MAX_MESSAGES: usize = 1000;

/// The maximum size of all responses to a batch together.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// One element of a batch.
#[derive(Debug)]
pub(crate) enum BatchItem {
    Request(Request),
    Notification(Notification),
    /// The response to a request of the proxy.
    Response(Response),
    /// The encoded error for an element that is not a valid message.
    Invalid(String),
}

pub(crate) fn parse(items: &[Raw]) -> Result<Vec<BatchItem>, RpcError> {
    if items.is_empty() || items.len() > MAX_MESSAGES {
        return Err(RpcError::invalid_request(&format!("a batch must contain 1 to {MAX_MESSAGES} messages")));
    }
    Ok(items.iter().map(parse_one).collect())
}

fn parse_one(item: &Raw) -> BatchItem {
    match Message::parse(item.get().as_bytes()) {
        Ok(Message::Request(request)) if request.kind == Method::Initialize => {
            let error = RpcError::invalid_request("`initialize` cannot be part of a batch");
            BatchItem::Invalid(encode::error(Some(&request.id), &error))
        }
        Ok(Message::Request(request)) => BatchItem::Request(request),
        Ok(Message::Notification(notification)) => BatchItem::Notification(notification),
        Ok(Message::Response(response)) => BatchItem::Response(response),
        Err(invalid) => BatchItem::Invalid(match &invalid.id {
            Some(id) => encode::error(Some(id), &invalid.error),
            None => encode::error_with_null_id(&invalid.error),
        }),
    }
}

/// Handles the elements of a batch in order, for the client of a session. Returns the tasks that produce the responses.
pub(crate) fn start(
    items: Vec<BatchItem>,
    server: &Server,
    client: &Arc<Client>,
    in_flight: &InFlight,
    sink: &MessageSink,
) -> Vec<JoinHandle<Option<String>>> {
    let mut responses = Vec::new();
    let kept = Arc::new(AtomicUsize::new(0));
    for item in items {
        match item {
            BatchItem::Invalid(text) => responses.push(tokio::spawn(async move { Some(text) })),
            BatchItem::Response(response) => {
                if let Some(ClientSession { questions, .. }) = client.session() {
                    questions.take(response);
                }
            }
            BatchItem::Notification(notification) => {
                in_flight.take_notification(&notification);
                vendor::forward_session_notification(server, &notification, client);
            }
            BatchItem::Request(request) => {
                let (server, client, sink, kept) =
                    (server.clone(), Arc::clone(client), sink.clone(), Arc::clone(&kept));
                // Registered here and not in the task, so that a later cancellation in the batch finds the request.
                let running = in_flight.begin(&request.id);
                responses.push(tokio::spawn(async move {
                    let outcome = match &running {
                        Err(error) => Err(error.clone()),
                        Ok(running) => {
                            let cancel = running.cancel.clone();
                            methods::answer(&server, &client, &sink, &request, cancel, None).await?
                        }
                    };
                    Some(fitting(&request.id, &outcome, &kept))
                }));
            }
        }
    }
    responses
}

/// The encoded response to one request of a batch, or an error if the other responses leave no room for it.
fn fitting(id: &Id, outcome: &Result<Raw, RpcError>, kept: &AtomicUsize) -> String {
    let text = encode::outcome(id, outcome);
    let add = |before: usize| Some(before + text.len()).filter(|after| before == 0 || *after <= MAX_RESPONSE_BYTES);
    if kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok() {
        return text;
    }
    let message = format!(
        "the response of {} bytes was dropped: the responses to a batch can have at most {MAX_RESPONSE_BYTES} bytes in \
         total; send this request on its own",
        text.len()
    );
    encode::error(Some(id), &RpcError::internal(&message))
}

/// Joins the responses to one array. Returns `None` if there are none, because the batch contains no requests or all of
/// them were cancelled.
pub(crate) async fn join(responses: Vec<JoinHandle<Option<String>>>) -> Option<String> {
    let mut texts = Vec::new();
    for response in responses {
        if let Ok(Some(text)) = response.await {
            texts.push(text);
        }
    }
    (!texts.is_empty()).then(|| format!("[{}]", texts.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_that_do_not_fit_beside_the_others_become_errors() {
        let id = Id::number(1);
        let large = || Ok(proxy_json::valid(format!("\"{}\"", "x".repeat(MAX_RESPONSE_BYTES / 2))).unwrap());
        let kept = AtomicUsize::new(0);
        let sizes = [large(), large(), Ok(proxy_json::valid("{}".to_owned()).unwrap())]
            .map(|outcome| fitting(&id, &outcome, &kept).len() > MAX_RESPONSE_BYTES / 2);
        assert_eq!(sizes, [true, false, false]);
        assert!(fitting(&id, &large(), &kept).contains("send this request on its own"));
        let whole = Ok(proxy_json::valid(format!("\"{}\"", "x".repeat(MAX_RESPONSE_BYTES))).unwrap());
        assert!(
            fitting(&id, &whole, &AtomicUsize::new(0)).len() > MAX_RESPONSE_BYTES,
            "one whole response always fits"
        );
    }
}
