//! Traces: requests and the resulting server calls, as spans for an OTLP collector. The sampling decision is made when a
//! request begins; one task creates the spans from the finished record.

mod collector;
mod exporter;
mod propagation;
mod sampler;
mod settings;
mod spans;
mod tracer;

pub use settings::TraceSettings;
pub use tracer::{SentContext, Tracer};
