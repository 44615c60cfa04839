//! Two resources and a template.

use rmcp::ErrorData;
use rmcp::model::{CacheScope, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::fixtures::PNG;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";

pub fn all() -> Vec<Resource> {
    vec![
        Resource::new(TEXT, "Text").with_description("A text that stays.").with_mime_type("text/plain"),
        Resource::new(BINARY, "Binary").with_description("A picture that stays.").with_mime_type("image/png"),
        Resource::new(WATCHED, "Watched").with_description("To be subscribed to.").with_mime_type("text/plain"),
    ]
}

pub fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new("test://template/{id}/data", "Data by number");
    vec![template.with_description("Some data for every number.").with_mime_type("application/json")]
}

pub fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let contents = match uri {
        TEXT => plain("This is the content of the static text resource.", uri),
        WATCHED => plain("Watch me.", uri),
        BINARY => ResourceContents::blob(PNG, uri).with_mime_type("image/png"),
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let Some(id) = id else {
                return Err(ErrorData::resource_not_found("there is no such resource", Some(json!({"uri": uri}))));
            };
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
    };
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(60_000).with_cache_scope(CacheScope::Public))
}

fn plain(text: &str, uri: &str) -> ResourceContents {
    ResourceContents::text(text, uri).with_mime_type("text/plain")
}
