//! Reads a description.

use std::sync::Arc;

use serde_json::Value;
use url::Url;

use crate::document::{Documents, Node, OtherFiles, read_json, read_value};
use crate::notes::Notes;
use crate::operation::{Arguments, FoundOperation, ParameterPlace, ToolNames, operations};
use crate::request::TakenNames;
use crate::schema::{Converter, Direction, Patterns};
use crate::security::Security;
use crate::servers::default_url;
use crate::tool::{ApiTool, ToolMaker};

/// The memory that the definitions of one description may take. What comes later is cut more.
const MAX_DEFINITIONS: usize = 48 << 20;

/// What a description offers.
#[derive(Debug)]
pub struct Api {
    pub title: String,
    pub version: String,
    /// The version of OpenAPI in which it is written, such as `3.1`.
    pub openapi_version: String,
    /// In the order of the description.
    pub tools: Vec<ApiTool>,
    /// Where the description says that the API is.
    pub default_url: Option<Url>,
    pub security: Security,
    /// What was left out, and why; for the operator.
    pub notes: Vec<String>,
}

/// Why a description cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    #[error("{0}")]
    Unreadable(String),
    #[error("this is no OpenAPI description: it has no `openapi: 3...`")]
    NotOpenApi,
    #[error(
        "this description is OpenAPI 2.0 (Swagger), which is not supported: convert it to 3.0, for example with \
         `npx swagger2openapi --outfile openapi.json FILE`"
    )]
    Swagger,
    #[error("OpenAPI {0} is not supported; 3.0 and 3.1 are")]
    Version(String),
}

/// Where a description comes from.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The name of the file, without its folder.
    pub file: &'a str,
    pub others: &'a dyn OtherFiles,
    /// The URL that it was fetched from.
    pub url: Option<&'a Url>,
    /// The names of headers that the config sets: they are no arguments.
    pub headers: &'a [String],
    /// The names in the query of the URL that the config sets, which are no arguments either.
    pub query: &'a [String],
}

impl Api {
    /// Reads a description in JSON.
    pub fn from_json(text: &str, source: Source<'_>) -> Result<Self, DescriptionError> {
        Self::of(read_json(text).map_err(DescriptionError::Unreadable)?, source)
    }

    /// Reads a description that was parsed, from YAML for example.
    pub fn from_value(value: &Value, source: Source<'_>) -> Result<Self, DescriptionError> {
        Self::of(read_value(value).map_err(DescriptionError::Unreadable)?, source)
    }

    fn of(root: Node, source: Source<'_>) -> Result<Self, DescriptionError> {
        let notes = Notes::default();
        let openapi_version = check_version(&root, &notes)?;
        let is_older = openapi_version == "3.0";
        let documents = Documents::new(source.file, root, source.others);
        let operations = operations(&documents, &notes);
        let security = Security::read(&documents, &operations);
        let root = documents.root().node;
        let info = root.get("info");
        let text = |name: &str| info.and_then(|info| info.text_of(name)).unwrap_or_default().to_owned();
        let tools = tools(&documents, &operations, is_older, &security, source, &notes);
        Ok(Api {
            title: text("title"),
            version: text("version"),
            openapi_version,
            tools,
            default_url: default_url(root, source.url),
            security,
            notes: notes.into_lines(),
        })
    }
}

/// The version of OpenAPI of a description: its first two numbers.
fn check_version(root: &Node, notes: &Notes) -> Result<String, DescriptionError> {
    if root.get("swagger").is_some() {
        return Err(DescriptionError::Swagger);
    }
    let version = match root.get("openapi") {
        Some(Node::Text(version) | Node::Number(version)) => version,
        _ => return Err(DescriptionError::NotOpenApi),
    };
    let mut numbers = version.split('.');
    match (numbers.next(), numbers.next()) {
        (Some("3"), Some(minor @ ("0" | "1"))) => Ok(format!("3.{minor}")),
        (Some("3"), Some(minor)) if minor.parse::<u8>().is_ok() => {
            notes.add(format!("OpenAPI {version} is read as 3.1; what is new in it is ignored"));
            Ok(format!("3.{minor}"))
        }
        _ => Err(DescriptionError::Version(version.to_string())),
    }
}

fn tools<'d>(
    documents: &'d Documents,
    found: &[FoundOperation<'d>],
    is_older: bool,
    security: &Security,
    source: Source<'_>,
    notes: &Notes,
) -> Vec<ApiTool> {
    let has_header = |name: &str| source.headers.iter().any(|header| header.eq_ignore_ascii_case(name));
    let mut query = security.names(ParameterPlace::Query);
    query.extend(source.query.iter().cloned());
    let taken = Arc::new(TakenNames { query, cookies: security.names(ParameterPlace::Cookie) });
    let patterns = Patterns::default();
    let mut maker = ToolMaker {
        documents,
        requests: Converter::new(documents, is_older, Direction::Request, &patterns, notes),
        responses: Converter::new(documents, is_older, Direction::Response, &patterns, notes),
        notes,
        room: MAX_DEFINITIONS,
        taken: Arc::clone(&taken),
    };
    let is_taken = |place: ParameterPlace, name: &str| match place {
        ParameterPlace::Path => false,
        ParameterPlace::Query => taken.query.contains(name),
        ParameterPlace::Header => security.sets(place, name) || has_header(name),
        // They are one header, which the config sets as a whole.
        ParameterPlace::Cookie => security.sets(place, name) || has_header("cookie"),
    };
    let mut names = ToolNames::default();
    let mut tools = Vec::new();
    for operation in found {
        let arguments = match Arguments::of(operation, documents, &maker.requests, &is_taken) {
            Ok(arguments) => arguments,
            Err(problem) => {
                notes.add(format!("{} is left out: {problem}", operation.label()));
                continue;
            }
        };
        let name = names.name(operation.place.node.text_of("operationId"), operation.method, operation.path);
        tools.push(maker.tool(name, operation, arguments));
    }
    tools
}
