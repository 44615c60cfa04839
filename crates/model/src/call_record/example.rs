//! The record of a call, for tests of its readers.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{CallOutcome, CallRecord, CallSource, RecordedItem, ReplayFacts};
use crate::{ItemKind, Principal};

impl CallRecord {
    /// A successful call of the tool `t` by an anonymous client, with nothing else known of it.
    pub fn example() -> Self {
        CallRecord {
            id: "1".to_owned(),
            call: None,
            began: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            method: "tools/call".into(),
            request_id: None,
            protocol: None,
            item: Some(RecordedItem { kind: ItemKind::Tool, name: "t".to_owned(), origin: None, definition: None }),
            principal: Principal::anonymous(),
            client: Arc::default(),
            source: CallSource::Http,
            session: None,
            peer: None,
            policy: None,
            outcome: CallOutcome::Ok,
            refusal: None,
            flow: Vec::new(),
            params: None,
            result: None,
            server_calls: Vec::new(),
            more_server_calls: 0,
            handler: None,
            events: Vec::new(),
            replay: ReplayFacts::default(),
            kept: None,
            trace: None,
        }
    }
}
