//! The spans of a request and of the resulting server calls, following the semantic conventions for MCP. The conventions
//! are still in development, so their names are defined here and not taken from a library. A test shows each span's
//! attributes.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};

use proxy_json::Object;
use proxy_model::{
    CallOutcome, CallPeer, CallRecord, CallSource, RecordedEvent, RecordedEventKind, RequestTrace, ServerAddress,
    ServerCallRecord, TraceContext,
};

/// The maximum length of a text that a client, a server or a script chooses, in characters.
const MAX_TEXT: usize = 1000;
/// The flag of W3C for a sampled trace.
const SAMPLED: u32 = 1;

/// The spans of a request; none if it is not traced.
pub(super) fn spans_of(record: &CallRecord) -> Vec<Span> {
    let Some(trace) = &record.trace else { return Vec::new() };
    let handler = handler_span(record, trace);
    let calls = record.server_calls.iter().filter_map(|call| call_span(record, trace, call));
    std::iter::once(request_span(record, trace)).chain(handler).chain(calls).collect()
}

fn request_span(record: &CallRecord, trace: &RequestTrace) -> Span {
    let item = record.item.as_ref();
    let mut attributes = Attributes::default();
    attributes.operation(&record.method, item.map(|item| item.name.as_str()));
    attributes.add("jsonrpc.request.id", record.request_id.as_deref());
    attributes.add("mcp.protocol.version", record.protocol);
    attributes.add("mcp.session.id", record.session.as_deref());
    let (transport, protocol) = match record.source {
        CallSource::Stdio => ("pipe", None),
        CallSource::Http => ("tcp", Some("http")),
        CallSource::Control | CallSource::Console => ("unix", Some("http")),
    };
    attributes.add("network.transport", Some(transport));
    attributes.add("network.protocol.name", protocol);
    if let Some(CallPeer::Address(address)) = record.peer {
        attributes.add("client.address", Some(&address.to_string()));
    }
    attributes.outcome(&record.outcome);
    let server = item.and_then(|item| item.origin.as_ref()).map(|(server, _)| server.as_ref());
    attributes.add("mcp.server.name", server);
    attributes.add("mcp.proxy.published_name", published_name(record));
    attributes.add("mcp.proxy.profile", record.principal.profile().map(|profile| &**profile));
    attributes.add("mcp.proxy.policy", record.policy.as_ref().map(|digest| format!("sha256:{digest}")).as_deref());
    Span {
        trace_id: trace.id.0.to_vec(),
        span_id: trace.span.0.to_vec(),
        trace_state: trace.state.clone().unwrap_or_default(),
        parent_span_id: trace.parent.map(|parent| parent.0.to_vec()).unwrap_or_default(),
        flags: SAMPLED,
        // A name that is not published may be any text.
        name: span_name(&record.method, published_name(record)),
        kind: SpanKind::Server as i32,
        attributes: attributes.0,
        events: record.events.iter().filter_map(event).collect(),
        links: trace.link.map(link).into_iter().collect(),
        status: status(&record.outcome, SpanKind::Server),
        ..timed(record.began, record.duration)
    }
}

/// The run of the script between the request and the servers; `None` if the item is not wrapped.
fn handler_span(record: &CallRecord, trace: &RequestTrace) -> Option<Span> {
    let handler = record.handler.as_ref()?;
    let mut attributes = Attributes::default();
    attributes.add("mcp.proxy.handler", handler.at.as_deref());
    attributes.add("mcp.proxy.published_name", published_name(record));
    Some(Span {
        trace_id: trace.id.0.to_vec(),
        span_id: handler.span?.0.to_vec(),
        trace_state: trace.state.clone().unwrap_or_default(),
        parent_span_id: trace.span.0.to_vec(),
        flags: SAMPLED,
        name: handler.at.as_ref().map_or_else(|| "handler".to_owned(), |at| format!("handler {at}")),
        kind: SpanKind::Internal as i32,
        attributes: attributes.0,
        ..timed(handler.began, handler.duration)
    })
}

/// What happened, without the texts of questions and log lines: they may contain anything.
fn event(event: &RecordedEvent) -> Option<Event> {
    let name = match &event.kind {
        RecordedEventKind::Logged { .. } => return None,
        kind => kind.as_str(),
    };
    Some(Event { time_unix_nano: unix_nanoseconds(event.at), name: name.to_owned(), ..Event::default() })
}

fn call_span(record: &CallRecord, trace: &RequestTrace, call: &ServerCallRecord) -> Option<Span> {
    let span = call.span?;
    let params = Object::of(&call.params).ok();
    let member = |key| params.as_ref().and_then(|params| params.string(key));
    let target = if call.method == "resources/read" { member("uri") } else { member("name") };
    let mut attributes = Attributes::default();
    attributes.operation(&call.method, target.as_deref());
    attributes.outcome(&call.outcome);
    if !call.is_local {
        attributes.network(call.address.as_deref());
    }
    attributes.add("mcp.server.name", Some(&call.server));
    attributes.add("mcp.proxy.published_name", published_name(record));
    // A local tool gets no request.
    let kind = if call.is_local { SpanKind::Internal } else { SpanKind::Client };
    Some(Span {
        trace_id: trace.id.0.to_vec(),
        span_id: span.0.to_vec(),
        trace_state: trace.state.clone().unwrap_or_default(),
        // With a handler, only the handler calls servers.
        parent_span_id: record.handler.as_ref().and_then(|handler| handler.span).unwrap_or(trace.span).0.to_vec(),
        flags: SAMPLED,
        name: span_name(&call.method, target.as_deref()),
        kind: kind as i32,
        attributes: attributes.0,
        status: status(&call.outcome, kind),
        ..timed(call.began, call.duration)
    })
}

/// The name of the item, if something of that name is published.
fn published_name(record: &CallRecord) -> Option<&str> {
    record.item.as_ref().filter(|item| item.definition.is_some()).map(|item| item.name.as_str())
}

/// The method, and the name of the tool or prompt. A URI has too many values for a name.
fn span_name(method: &str, target: Option<&str>) -> String {
    match target.filter(|_| matches!(method, "tools/call" | "prompts/get")) {
        Some(target) => cut(&format!("{method} {target}")).into_owned(),
        None => cut(method).into_owned(),
    }
}

/// A span with nothing but its times.
fn timed(began: SystemTime, duration: Duration) -> Span {
    Span {
        start_time_unix_nano: unix_nanoseconds(began),
        end_time_unix_nano: unix_nanoseconds(began + duration),
        ..Span::default()
    }
}

fn unix_nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn link(context: TraceContext) -> Link {
    Link {
        trace_id: context.trace.0.to_vec(),
        span_id: context.span.0.to_vec(),
        flags: u32::from(context.sampled),
        ..Link::default()
    }
}

/// For a client request, only failures of the proxy or its servers count as errors; for a server call, every error does.
fn status(outcome: &CallOutcome, kind: SpanKind) -> Option<Status> {
    let is_error = match outcome {
        CallOutcome::Ok | CallOutcome::Asked | CallOutcome::Cancelled => false,
        CallOutcome::Error { code, .. } => {
            kind != SpanKind::Server || *code == -32603 || (-32099..=-32000).contains(code)
        }
        CallOutcome::ToolError | CallOutcome::Timeout { .. } | CallOutcome::Failed { .. } => true,
    };
    let message = cut(outcome.message().unwrap_or_default()).into_owned();
    is_error.then_some(Status { message, code: StatusCode::Error as i32 })
}

#[derive(Default)]
struct Attributes(Vec<KeyValue>);

impl Attributes {
    fn add(&mut self, key: &str, value: Option<&str>) {
        self.0.extend(value.map(|value| text(key, value)));
    }

    /// The method and what it is about.
    fn operation(&mut self, method: &str, target: Option<&str>) {
        self.add("mcp.method.name", Some(method));
        let key = match method {
            "tools/call" => "gen_ai.tool.name",
            "prompts/get" => "gen_ai.prompt.name",
            "resources/read" => "mcp.resource.uri",
            _ => return,
        };
        self.add(key, target);
        if key == "gen_ai.tool.name" {
            self.add("gen_ai.operation.name", Some("execute_tool"));
        }
    }

    /// How a server is reached: over HTTP, or through the pipes of a process.
    fn network(&mut self, address: Option<&ServerAddress>) {
        self.add("network.transport", Some(if address.is_some() { "tcp" } else { "pipe" }));
        let Some(address) = address else { return };
        self.add("network.protocol.name", Some("http"));
        self.add("server.address", Some(&address.host));
        let port = |port: u16| AnyValue { value: Some(Value::IntValue(port.into())) };
        let port = address.port.map(|number| KeyValue { value: Some(port(number)), ..text("server.port", "") });
        self.0.extend(port);
    }

    fn outcome(&mut self, outcome: &CallOutcome) {
        self.add("error.type", outcome.error_type().as_deref());
        if let CallOutcome::Error { code, .. } = outcome {
            self.add("rpc.response.status_code", Some(&code.to_string()));
        }
    }
}

/// An attribute with a text.
pub(super) fn text(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(cut(value).into_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use proxy_json::raw;
    use proxy_model::{
        Definition, HandlerRecord, ItemKind, Principal, RecordedEvent, RecordedEventKind, RecordedItem, SpanId, TraceId,
    };

    /// A traced call of a tool that calls one server.
    pub(in crate::traces) fn record() -> Arc<CallRecord> {
        let definition =
            Definition::parse(ItemKind::Tool, raw(&serde_json::json!({"name": "new_issue", "inputSchema": {}})));
        Arc::new(CallRecord {
            began: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
            duration: Duration::from_millis(2),
            request_id: Some("7".to_owned()),
            protocol: Some("2025-11-25"),
            item: Some(RecordedItem {
                kind: ItemKind::Tool,
                name: "new_issue".to_owned(),
                origin: Some(("github".into(), "create_issue".into())),
                definition: definition.ok().map(Arc::new),
            }),
            principal: Principal::named("ann"),
            session: Some("5e55".into()),
            peer: Some(CallPeer::Address([127, 0, 0, 1].into())),
            policy: Some("00".into()),
            handler: Some(HandlerRecord {
                at: Some("policy.star:12".to_owned()),
                began: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
                duration: Duration::from_millis(2),
                span: Some(SpanId([4; 8])),
            }),
            events: vec![
                RecordedEvent {
                    at: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
                    kind: RecordedEventKind::RateLimited,
                },
                RecordedEvent {
                    at: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
                    kind: RecordedEventKind::Logged { level: "info", message: "a secret".to_owned() },
                },
            ],
            server_calls: vec![ServerCallRecord {
                server: "github".into(),
                method: "tools/call".into(),
                began: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
                duration: Duration::from_millis(1),
                params: raw(&serde_json::json!({"name": "create_issue"})),
                result: None,
                outcome: CallOutcome::Error { code: -32602, message: "no title".to_owned() },
                is_local: false,
                address: Some(Arc::new(ServerAddress { host: "api.example".to_owned(), port: Some(443) })),
                span: Some(SpanId([3; 8])),
            }],
            trace: Some(Arc::new(RequestTrace {
                id: TraceId([1; 16]),
                span: SpanId([2; 8]),
                parent: Some(SpanId([9; 8])),
                state: None,
                link: None,
            })),
            ..CallRecord::example()
        })
    }

    fn attributes(span: &Span) -> Vec<(&str, &str)> {
        let value = |pair: &KeyValue| match pair.value.as_ref().and_then(|value| value.value.as_ref()) {
            Some(Value::StringValue(text)) => text.clone().leak() as &str,
            Some(Value::IntValue(number)) => number.to_string().leak(),
            other => panic!("{other:?}"),
        };
        span.attributes.iter().map(|pair| (pair.key.as_str(), value(pair))).collect()
    }

    #[test]
    fn the_names_of_the_conventions_are_pinned() {
        let spans = spans_of(&record());
        let [request, handler, call] = spans.as_slice() else { panic!("{spans:?}") };
        assert_eq!((request.name.as_str(), request.kind()), ("tools/call new_issue", SpanKind::Server));
        assert_eq!(
            attributes(request),
            [
                ("mcp.method.name", "tools/call"),
                ("gen_ai.tool.name", "new_issue"),
                ("gen_ai.operation.name", "execute_tool"),
                ("jsonrpc.request.id", "7"),
                ("mcp.protocol.version", "2025-11-25"),
                ("mcp.session.id", "5e55"),
                ("network.transport", "tcp"),
                ("network.protocol.name", "http"),
                ("client.address", "127.0.0.1"),
                ("mcp.server.name", "github"),
                ("mcp.proxy.published_name", "new_issue"),
                ("mcp.proxy.policy", "sha256:00"),
            ]
        );
        assert_eq!((handler.name.as_str(), handler.kind()), ("handler policy.star:12", SpanKind::Internal));
        assert_eq!(
            attributes(handler),
            [("mcp.proxy.handler", "policy.star:12"), ("mcp.proxy.published_name", "new_issue")]
        );
        let events: Vec<&str> = request.events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(events, ["rate limited"], "the log is not part of a trace");
        assert_eq!((call.name.as_str(), call.kind()), ("tools/call create_issue", SpanKind::Client));
        assert_eq!(
            attributes(call),
            [
                ("mcp.method.name", "tools/call"),
                ("gen_ai.tool.name", "create_issue"),
                ("gen_ai.operation.name", "execute_tool"),
                ("error.type", "-32602"),
                ("rpc.response.status_code", "-32602"),
                ("network.transport", "tcp"),
                ("network.protocol.name", "http"),
                ("server.address", "api.example"),
                ("server.port", "443"),
                ("mcp.server.name", "github"),
                ("mcp.proxy.published_name", "new_issue"),
            ]
        );
        assert_eq!((request.start_time_unix_nano, request.end_time_unix_nano), (1_000_000_000, 1_002_000_000));
        assert_eq!((&request.parent_span_id, &handler.parent_span_id), (&vec![9; 8], &vec![2; 8]));
        assert_eq!((&handler.span_id, &call.parent_span_id), (&vec![4; 8], &vec![4; 8]));
        assert_eq!((&call.trace_id, &call.span_id), (&vec![1; 16], &vec![3; 8]));
        assert_eq!(
            (request.status.as_ref(), call.status.as_ref().map(|status| status.message.as_str())),
            (None, Some("no title"))
        );
    }

    #[test]
    fn what_is_an_error_depends_on_the_side() {
        let error = |code| CallOutcome::Error { code, message: "m".to_owned() };
        let failed = CallOutcome::Failed { message: "down".to_owned() };
        for (outcome, of_request, of_call) in [
            (CallOutcome::Ok, false, false),
            (CallOutcome::Asked, false, false),
            (CallOutcome::Cancelled, false, false),
            (CallOutcome::ToolError, true, true),
            (failed, true, true),
            (error(-32603), true, true),
            (error(-32000), true, true),
            (error(-32099), true, true),
            (error(-32100), false, true),
            (error(-32602), false, true),
            (error(7), false, true),
        ] {
            let is_error = |kind| status(&outcome, kind).is_some();
            assert_eq!((is_error(SpanKind::Server), is_error(SpanKind::Client)), (of_request, of_call), "{outcome:?}");
        }
    }

    #[test]
    fn texts_of_others_are_no_names_and_are_cut() {
        let mut unknown = CallRecord::clone(&record());
        unknown.item = unknown.item.map(|item| RecordedItem { name: "x".repeat(5000), definition: None, ..item });
        let span = &spans_of(&unknown)[0];
        assert_eq!(span.name, "tools/call");
        let (_, name) = attributes(span)[1];
        assert_eq!(name.chars().count(), MAX_TEXT + 1);
    }
}
