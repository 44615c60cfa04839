//! Tools from an OpenAPI description: reads the description, lists its operations as MCP tools, makes an HTTP request of a
//! tool call, and a tool result of the response. All of this is pure: it opens no file and no connection, and knows nothing
//! of servers or configs.

mod api;
mod credential;
mod document;
mod notes;
mod operation;
mod possible_keys;
mod request;
mod response;
mod schema;
mod security;
mod servers;
mod tool;
mod unique_names;

pub use api::{Api, DescriptionError, Source};
pub use credential::{Credential, Given};
pub use document::OtherFiles;
pub use request::ApiRequest;
pub use response::{ApiResponse, ApiResult};
pub use security::Security;
pub use tool::ApiTool;

#[cfg(test)]
mod tests;
