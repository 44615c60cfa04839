//! Traces: requests and the calls of servers that they lead to, as spans for an OTLP collector. Whether a request is traced
//! is decided when it begins; its spans are made of its finished record, by one task.

mod collector;
mod exporter;
mod propagation;
mod sampler;
mod settings;
mod spans;
mod tracer;

pub use settings::TraceSettings;
pub use tracer::{SentContext, Tracer};
