//! How often each published item was used, how often it failed, and how long it took.

use serde_json::{Value, json};

use super::api::ControlApi;
use proxy_telemetry::DurationSummary;
use proxy_wire::http::{HttpReply, SocketRequest};

impl ControlApi {
    pub(super) async fn operations(&self, request: &SocketRequest) -> HttpReply {
        let operations = self.gateway.calls().dispatcher.telemetry().operations();
        let reported = operations.iter().map(|(operation, stats)| {
            let mut row = json!(DurationSummary::of([stats.as_ref()].into_iter()));
            row["method"] = operation.method.into();
            row["name"] = operation.name.as_deref().into();
            row
        });
        let body = json!({"operations": reported.collect::<Vec<Value>>()});
        self.counted(body.to_string(), request).await
    }
}
