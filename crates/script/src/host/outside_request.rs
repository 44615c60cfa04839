//! The host of a handler that runs outside of any request.

use std::any::Any;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::{Clock, Effects, Host, LogLevel, NotedFact, Output, Questions, RequestScope, ToolFacts, ToolRefusal};
use crate::journal::JournalCursor;
use proxy_json::RawRef;
use proxy_model::{Question, RequestInfo};

impl Host {
    /// A host without a request: output goes to the log of the proxy, questions cannot be asked, there is no store, and
    /// the clock is the system's.
    pub fn outside_request(effects: Arc<dyn Effects>) -> Self {
        let nothing = Arc::new(OutsideRequest);
        Host {
            effects,
            output: nothing.clone(),
            questions: nothing.clone(),
            scope: nothing.clone(),
            clock: nothing,
            authorization: None,
            flow: None,
            mocks: None,
            namespace: "".into(),
            test: None,
        }
    }
}

struct OutsideRequest;

impl Output for OutsideRequest {
    fn log(&self, level: LogLevel, message: &str, fields: &Map<String, Value>) {
        level.record(message, fields);
    }

    fn print(&self, text: &str) {
        LogLevel::Info.record(text, &Map::new());
    }

    fn progress(&self, _: f64, _: Option<f64>, _: Option<&str>) {}

    fn notify(&self, _: &RawRef) {}
}

impl Questions for OutsideRequest {
    fn cursor(&self) -> Option<JournalCursor> {
        None
    }

    fn can_ask(&self, _: &Question) -> bool {
        false
    }

    fn asked(&self) -> u64 {
        0
    }
}

impl RequestScope for OutsideRequest {
    fn request(&self) -> Option<&RequestInfo> {
        None
    }

    fn store(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }

    fn admit(&self, _: ToolFacts<'_>, _: &Value) -> Result<Option<u64>, ToolRefusal> {
        Ok(None)
    }

    fn note(&self, _: NotedFact) {}
}

impl Clock for OutsideRequest {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
