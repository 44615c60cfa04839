//! A batch taken apart, and its answers put together.

use tokio::task::JoinHandle;

use crate::json::Raw;
use crate::wire::{Message, Notification, Request, RpcError, encode};

/// Longer batches are refused.
const LIMIT: usize = 1000;

#[derive(Debug)]
pub(super) enum Item {
    Request(Request),
    Notification(Notification),
    /// An element that is no message gets its error at once.
    Answered(String),
}

pub(super) fn sort(items: &[Raw]) -> Result<Vec<Item>, RpcError> {
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
        Ok(Message::Response(_)) => None,
        Err(fault) => Some(Item::Answered(match &fault.id {
            Some(id) => encode::error(Some(id), &fault.error),
            None => encode::error_with_null_id(&fault.error),
        })),
    }
}

/// All answers as one array, without those that were cancelled.
pub(super) async fn gather(answers: Vec<JoinHandle<Option<String>>>) -> String {
    let mut texts = Vec::new();
    for answer in answers {
        if let Ok(Some(text)) = answer.await {
            texts.push(text);
        }
    }
    format!("[{}]", texts.join(","))
}
