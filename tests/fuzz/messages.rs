use proptest::prelude::*;
use proxy_wire::{Message, batch, encode};
use serde_json::Value;

use super::damage::damaged;
use super::{fuzz, is_json};

/// A message that is accepted is JSON for serde_json too, and is the same message after it was encoded again.
#[test]
fn messages_survive_reading_and_writing() {
    fuzz(&damaged(include_str!("../corpus/fuzz/messages.txt")), |bytes| {
        let _ = batch(&bytes);
        let Ok(message) = Message::parse(&bytes) else { return Ok(()) };
        prop_assert!(is_json(&bytes), "accepted, but not JSON");
        let written = match &message {
            Message::Request(request) => {
                encode::request(&request.id, &request.method, request.params.as_deref().map(|params| params.get()))
            }
            Message::Notification(notification) => {
                encode::notification(&notification.method, notification.params.as_deref().map(|params| params.get()))
            }
            Message::Response(response) => match &response.id {
                Some(id) => encode::outcome(id, &response.outcome),
                None => return Ok(()),
            },
        };
        prop_assert!(!written.contains(['\n', '\r']), "one message is one line: {}", written);
        // A string with half a surrogate pair is JSON, though no text.
        let Ok(before) = serde_json::from_slice::<Value>(&bytes) else {
            prop_assert!(is_json(written.as_bytes()), "written, but not JSON: {}", written);
            return Ok(());
        };
        let after: Value = serde_json::from_str(&written).expect("a written message is JSON");
        for member in ["id", "method", "result"] {
            prop_assert_eq!(&before[member], &after[member]);
        }
        if before.get("params").is_some() {
            prop_assert_eq!(&before["params"], &after["params"]);
        }
        Ok(())
    });
}
