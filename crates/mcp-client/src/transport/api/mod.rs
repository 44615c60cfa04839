//! An HTTP API with an OpenAPI description as if it were an MCP server: its operations are tools, and a call of one is an
//! HTTP request.

mod api_transport;
mod description;
mod descriptions;
mod fetch;
mod files;
mod read_api;

pub(crate) use api_transport::ApiTransport;
pub(crate) use description::Description;
pub use description::{DescriptionFacts, read_description};
pub use descriptions::Descriptions;
pub(crate) use read_api::ApiSettings;
