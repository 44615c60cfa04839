//! A description that was read: the tools of an API, and where the API is.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use url::Url;

use super::files::{is_json, parsed};
use proxy_config::{DescriptionPlace, OpenApiConfig};
use proxy_model::{Definition, ItemKind};
use proxy_openapi::{Api, ApiTool, Given, OtherFiles, Source};
use proxy_wire::http::Reach;

/// What the config says about an API.
#[derive(Clone, Debug)]
pub(crate) struct ApiSettings {
    pub(crate) openapi: OpenApiConfig,
    /// Whether it has `auth`.
    pub(crate) has_auth: bool,
}

/// The text of a description and where it comes from.
pub(super) struct DescriptionText<'a> {
    pub(super) text: &'a str,
    /// The name of the file, without its folder.
    pub(super) file: &'a str,
    pub(super) others: &'a dyn OtherFiles,
    pub(super) url: Option<&'a Url>,
}

/// An operation as a tool.
struct Operation {
    /// Its index in the API, which may have tools that cannot be used.
    tool: usize,
    definition: Arc<Definition>,
    /// Whether a response was not as the description says.
    is_broken_promise: AtomicBool,
}

pub(crate) struct ReadApi {
    api: Api,
    operations: Vec<Operation>,
    by_name: HashMap<String, usize>,
    /// What all requests begin with.
    pub(crate) base: Url,
    /// Where requests go, if the config does not say so.
    pub(crate) default_host: Option<String>,
    /// What an operator should know.
    pub(crate) remarks: Vec<String>,
}

impl ReadApi {
    /// Reads a description. The error is a clause for an operator.
    pub(super) fn read(description: &DescriptionText<'_>, settings: &ApiSettings) -> Result<Self, String> {
        let config = &settings.openapi;
        let headers: Vec<String> = config.headers.keys().cloned().collect();
        let configured = config.url.as_deref().and_then(|url| Url::parse(url).ok());
        let query: Vec<String> =
            configured.iter().flat_map(Url::query_pairs).map(|(name, _)| name.into_owned()).collect();
        let DescriptionText { text, file, others, url } = *description;
        let source = Source { file, others, url, headers: &headers, query: &query };
        let read = if is_json(text) { Api::from_json(text, source) } else { Api::from_value(&parsed(text)?, source) };
        let api = read.map_err(|error| error.to_string())?;
        let mut remarks = api.notes.clone();
        let mut default_host = None;
        let base = match configured {
            Some(url) => url,
            None => {
                let url = default_url(&api, config)?;
                let remark = format!("requests go to `{url}`, which the description names (`url` is not set)");
                // A file is the operator's own.
                if let DescriptionPlace::Url(_) = &config.description
                    && !is_same_host(config, &url)
                {
                    remarks.insert(0, remark.clone());
                }
                default_host = Some(remark);
                url
            }
        };
        let given = Given { headers, query, has_auth: settings.has_auth };
        if let Some(missing) = api.security.missing(&given) {
            remarks.push(missing);
        }
        Ok(ReadApi { default_host, ..Self::new(api, base, remarks) })
    }

    fn new(api: Api, base: Url, mut remarks: Vec<String>) -> Self {
        let mut operations = Vec::with_capacity(api.tools.len());
        let mut by_name = HashMap::with_capacity(api.tools.len());
        for (index, tool) in api.tools.iter().enumerate() {
            match Definition::parse(ItemKind::Tool, tool.definition.clone()) {
                Ok(definition) => {
                    let definition = Arc::new(definition);
                    by_name.insert(tool.name.clone(), operations.len());
                    operations.push(Operation { tool: index, definition, is_broken_promise: AtomicBool::new(false) });
                }
                Err(error) => remarks.push(format!("`{}` is left out: {error}", tool.name)),
            }
        }
        ReadApi { api, operations, by_name, base, default_host: None, remarks }
    }

    pub(crate) fn title(&self) -> &str {
        &self.api.title
    }

    pub(crate) fn version(&self) -> &str {
        &self.api.version
    }

    /// The version of OpenAPI in which the description is written, such as `3.1`.
    pub(crate) fn openapi_version(&self) -> &str {
        &self.api.openapi_version
    }

    pub(super) fn tool(&self, name: &str) -> Option<&ApiTool> {
        self.operation(name).map(|operation| &self.api.tools[operation.tool])
    }

    fn operation(&self, name: &str) -> Option<&Operation> {
        self.by_name.get(name).map(|index| &self.operations[*index])
    }

    /// The definitions of all tools. One whose responses are not as described promises nothing about them any more.
    pub(crate) fn definitions(&self) -> Vec<Arc<Definition>> {
        let listed = self.operations.iter().map(|operation| {
            if !operation.is_broken_promise.load(Ordering::Relaxed) {
                return Arc::clone(&operation.definition);
            }
            let without = self.api.tools[operation.tool].definition_without_output_schema();
            let changed = Definition::parse(ItemKind::Tool, without);
            changed.map_or_else(|_| Arc::clone(&operation.definition), Arc::new)
        });
        listed.collect()
    }

    /// Notes that a response was not as described. Returns whether it is the first of this tool.
    pub(super) fn note_broken_promise(&self, name: &str) -> bool {
        self.operation(name).is_some_and(|operation| !operation.is_broken_promise.swap(true, Ordering::Relaxed))
    }
}

/// Where a description says that its API is. Others write descriptions: this must not lead to the operator's own network,
/// unless the config names the same host for the description.
fn default_url(api: &Api, config: &OpenApiConfig) -> Result<Url, String> {
    let Some(url) = api.default_url.clone() else {
        return Err("it does not say where the API is (`servers`): set `url`".to_owned());
    };
    if !is_same_host(config, &url) {
        Reach::Public.check(&url).map_err(|error| format!("its `servers` cannot be used: {error}; set `url`"))?;
    }
    Ok(url)
}

/// Whether the config names this host for the description.
fn is_same_host(config: &OpenApiConfig, url: &Url) -> bool {
    match &config.description {
        DescriptionPlace::Url(from) => Url::parse(from).is_ok_and(|from| from.origin() == url.origin()),
        DescriptionPlace::File(_) => false,
    }
}
