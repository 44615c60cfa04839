//! The definition of a tool for one operation.

use std::sync::{Arc, OnceLock};

use http::HeaderValue;
use proxy_json::{Raw, Schema};
use serde_json::Value;

use crate::document::{Documents, Node, Place};
use crate::notes::Notes;
use crate::operation::{Arguments, FoundOperation, MAX_MEDIA_TYPES, Media, media_of};
use crate::request::{ApiRequest, Plan, TakenNames, build};
use crate::response::ApiResult;
use crate::schema::{Converter, Definitions, Root, Written, key, separate, shortened};

/// The maximum size of an input schema. What is deeper allows anything.
const MAX_INPUT: usize = 64 << 10;
/// Larger output schemas are left out: they cost more than they tell.
const MAX_OUTPUT: usize = 16 << 10;
const MAX_DESCRIPTION: usize = 8 << 10;
/// How many tags an operation has for scripts, and their length.
const MAX_TAGS: usize = 100;
const MAX_TAG: usize = 200;

/// One operation of an API as a tool.
#[derive(Debug)]
pub struct ApiTool {
    pub name: String,
    /// The definition, as MCP lists it.
    pub definition: Raw,
    /// Whether the definition has an `outputSchema`.
    pub has_output_schema: bool,
    plan: Plan,
    /// The output schema, compiled for the first result.
    output: OnceLock<Option<Box<Schema>>>,
}

impl ApiTool {
    /// The request for these arguments, a JSON object. Fails with a text for the caller.
    pub fn request(&self, arguments: &proxy_json::RawRef) -> Result<ApiRequest, String> {
        build(&self.plan, arguments)
    }

    /// Why a result is not what the description promises; `None` if it is, or if nothing is promised.
    pub fn output_mismatch(&self, result: &ApiResult) -> Option<String> {
        if !self.has_output_schema || result.is_error {
            return None;
        }
        let Some(structured) = &result.structured else { return Some("the response is not JSON".to_owned()) };
        let schema = self.output.get_or_init(|| {
            let schema: Value = serde_json::from_str(self.definition.member("outputSchema")?.get()).ok()?;
            Schema::compile(&schema).ok().map(Box::new)
        });
        let value: Value = serde_json::from_str(structured.get()).ok()?;
        schema.as_ref()?.check(&value).err().map(|mismatch| mismatch.to_string())
    }

    /// The definition without its `outputSchema`, for an API that does not keep what it promises.
    pub fn definition_without_output_schema(&self) -> Raw {
        match proxy_json::Object::of(&self.definition) {
            Ok(object) => object.edit().remove("outputSchema").finish_raw(),
            Err(_) => Raw::clone(&self.definition),
        }
    }
}

/// Whether structured content is the value itself.
enum Form {
    Object,
    Other,
}

/// Makes the tools of one description.
pub(crate) struct ToolMaker<'d> {
    pub(crate) documents: &'d Documents,
    pub(crate) requests: Converter<'d>,
    pub(crate) responses: Converter<'d>,
    pub(crate) notes: &'d Notes,
    /// How much of the memory for all definitions is left.
    pub(crate) room: usize,
    pub(crate) taken: Arc<TakenNames>,
}

impl<'d> ToolMaker<'d> {
    pub(crate) fn tool(&mut self, name: String, operation: &FoundOperation<'d>, arguments: Arguments<'d>) -> ApiTool {
        let node = operation.place.node;
        let mut text = String::with_capacity(1024);
        text.push('{');
        key(&mut text, "name");
        proxy_json::push_quoted(&mut text, &name);
        let summary = node.text_of("summary").map(str::trim).filter(|summary| !summary.is_empty());
        let description = node.text_of("description").map(str::trim).filter(|text| !text.is_empty());
        if let Some(title) = summary {
            key(&mut text, "title");
            proxy_json::push_quoted(&mut text, &shortened(title, 200));
        }
        key(&mut text, "description");
        let label = operation.label();
        let described = description.or(summary).unwrap_or(&label);
        proxy_json::push_quoted(&mut text, &shortened(described, MAX_DESCRIPTION));
        key(&mut text, "inputSchema");
        let (input, is_lossy) = self.input_schema(&arguments);
        text.push_str(&input);
        let output = self.output_schema(operation);
        if let Some(output) = &output {
            key(&mut text, "outputSchema");
            text.push_str(output);
        }
        key(&mut text, "annotations");
        text.push_str(annotations(operation.method));
        key(&mut text, "_meta");
        push_meta(&mut text, operation, is_lossy);
        text.push('}');
        self.room = self.room.saturating_sub(text.len());
        let plan = Plan {
            method: operation.method.parse().unwrap_or_default(),
            template: crate::operation::PathTemplate::parse(operation.path),
            arguments: arguments.list,
            body: arguments.body,
            accept: self.accept(operation),
            taken: Arc::clone(&self.taken),
        };
        let definition = proxy_json::valid(text).unwrap_or_else(|error| {
            self.notes.add(format!("{label}: its definition cannot be written: {error}"));
            proxy_json::RawRef::EMPTY_OBJECT.to_owned()
        });
        ApiTool { name, definition, has_output_schema: output.is_some(), plan, output: OnceLock::new() }
    }

    /// The schema of the arguments, and whether something was cut off.
    fn input_schema(&mut self, arguments: &Arguments<'d>) -> (String, bool) {
        // All tools together must not fill the memory.
        let max = if self.room > MAX_INPUT { MAX_INPUT } else { 4 << 10 };
        for levels in [None, Some(6), Some(4), Some(3), Some(2), Some(1), Some(0)] {
            let written = self.written_arguments(arguments, levels);
            let room = max.saturating_sub(written.text.len());
            let definitions =
                if written.text.len() > max { None } else { self.requests.definitions(&written.parts, room) };
            if let Some(definitions) = definitions {
                let is_cut = written.is_cut || definitions.is_cut;
                return (joined(written.text, &definitions), is_cut);
            }
        }
        // Not even the names of the arguments fit.
        ("{\"type\":\"object\"}".to_owned(), true)
    }

    /// The schema without its `$defs`.
    fn written_arguments(&mut self, arguments: &Arguments<'d>, levels: Option<usize>) -> Written {
        let mut out = Written { text: "{\"type\":\"object\"".to_owned(), ..Written::default() };
        if !arguments.list.is_empty() {
            key(&mut out.text, "properties");
            out.text.push('{');
            for (argument, schema) in arguments.list.iter().zip(&arguments.schemas) {
                key(&mut out.text, &argument.name);
                let root = Root { description: schema.description, levels };
                match (schema.text_of, schema.schema, schema.description) {
                    (Some(media), _, description) => push_text(&mut out.text, media, description),
                    (None, Some(place), _) => self.add(&mut out, place, root),
                    (None, None, Some(description)) => {
                        out.text.push('{');
                        key(&mut out.text, "description");
                        proxy_json::push_quoted(&mut out.text, &shortened(description, MAX_DESCRIPTION));
                        out.text.push('}');
                    }
                    (None, None, None) => out.text.push_str("{}"),
                }
            }
            out.text.push('}');
        }
        let required: Vec<&str> =
            arguments.list.iter().filter(|argument| argument.required).map(|argument| argument.name.as_str()).collect();
        if !required.is_empty() {
            key(&mut out.text, "required");
            out.text.push('[');
            for name in required {
                separate(&mut out.text);
                proxy_json::push_quoted(&mut out.text, name);
            }
            out.text.push(']');
        }
        key(&mut out.text, "additionalProperties");
        match arguments.others {
            Some(others) => self.add(&mut out, others, Root { description: None, levels }),
            None => out.text.push_str("false"),
        }
        out.text.push('}');
        out
    }

    fn add(&mut self, out: &mut Written, place: Place<'d>, root: Root<'_>) {
        let written = self.requests.write(place, root);
        out.text.push_str(&written.text);
        out.parts.extend_from_slice(&written.parts);
        out.is_cut |= written.is_cut;
    }

    /// The schema of the structured content, if all successful responses have the same.
    fn output_schema(&mut self, operation: &FoundOperation<'d>) -> Option<String> {
        if self.room < MAX_INPUT {
            return None;
        }
        let responses = operation.place.get("responses")?;
        let mut successful = responses.node.map()?.iter().filter(|(status, _)| status.starts_with('2'));
        let (_, only) = successful.next()?;
        if successful.next().is_some() {
            return None;
        }
        let response = self.documents.object(responses.at(only)).ok()?;
        let content = response.get("content")?;
        let mut medias = content.node.map()?.iter().take(MAX_MEDIA_TYPES);
        let (media, node) = medias.next()?;
        if media_of(media) != Media::Json || medias.any(|(media, _)| media_of(media) != Media::Json) {
            return None;
        }
        let schema = content.at(node).get("schema")?;
        let written = self.responses.write(schema, Root::default());
        if written.text.len() > MAX_OUTPUT {
            return None;
        }
        let definitions = self.responses.definitions(&written.parts, MAX_OUTPUT - written.text.len())?;
        if definitions.is_cut {
            return None;
        }
        let has_type = written.text.contains("\"type\":") && schema.node.get("type").is_some();
        match self.form(schema, &mut 100)? {
            Form::Object if has_type => Some(joined(written.text.clone(), &definitions)),
            Form::Object if written.text == "{}" => None,
            // MCP wants this in the outermost schema, and not behind a reference.
            Form::Object => Some(joined(written.text.replacen('{', "{\"type\":\"object\",", 1), &definitions)),
            Form::Other => {
                let text = format!(
                    "{{\"type\":\"object\",\"properties\":{{\"result\":{}}},\"required\":[\"result\"]}}",
                    written.text
                );
                Some(joined(text, &definitions))
            }
        }
    }

    /// What kind of value a schema allows; `None` if that is not sure. Values that are no objects are wrapped in one.
    fn form(&self, schema: Place<'d>, left: &mut usize) -> Option<Form> {
        *left = left.checked_sub(1)?;
        let schema = self.documents.object(schema).ok()?;
        let node = schema.node;
        if node.is_true("nullable") {
            return None;
        }
        match node.get("type") {
            Some(Node::Text(name)) if **name == *"object" => Some(Form::Object),
            Some(Node::Text(_)) => Some(Form::Other),
            Some(_) => None,
            None if node.get("properties").is_some() => Some(Form::Object),
            None => node.items_of("allOf").iter().find_map(|branch| self.form(schema.at(branch), left)),
        }
    }

    /// What is accepted: the types of the successful responses, JSON first.
    fn accept(&self, operation: &FoundOperation<'d>) -> HeaderValue {
        let mut types: Vec<&str> = Vec::new();
        let responses = operation.place.get("responses");
        for (_, node) in operation.place.node.members_of("responses").filter(|(status, _)| status.starts_with('2')) {
            let response = responses.and_then(|responses| self.documents.object(responses.at(node)).ok());
            let content = response.and_then(|response| response.get("content"));
            let content = content.and_then(|content| content.node.map());
            for name in content.into_iter().flat_map(|map| map.keys()).take(MAX_MEDIA_TYPES) {
                if !types.contains(&name) && name.contains('/') && types.len() < 8 {
                    types.push(name);
                }
            }
        }
        types.sort_by_key(|name| media_of(name) != Media::Json);
        types.retain(|name| *name != "*/*");
        let accept = if types.is_empty() {
            "application/json, */*;q=0.5".to_owned()
        } else {
            format!("{}, */*;q=0.1", types.join(", "))
        };
        HeaderValue::from_str(&accept).unwrap_or(HeaderValue::from_static("application/json, */*;q=0.5"))
    }
}

/// The schema of a body that is passed on as the text that it is.
fn push_text(out: &mut String, media: &str, description: Option<&str>) {
    let what = format!("The text of the body ({}).", shortened(media, 100));
    let described = description.map(str::trim).filter(|text| !text.is_empty());
    let described = described.map_or_else(|| what.clone(), |text| format!("{what} {text}"));
    out.push_str("{\"type\":\"string\"");
    key(out, "description");
    proxy_json::push_quoted(out, &shortened(&described, MAX_DESCRIPTION));
    out.push('}');
}

/// A schema with its `$defs`.
fn joined(schema: String, definitions: &Definitions) -> String {
    if definitions.text.is_empty() {
        return schema;
    }
    let mut text = schema;
    text.pop();
    separate(&mut text);
    text.push_str(&definitions.text);
    text.push('}');
    text
}

/// What the method says about a tool. POST and PATCH say nothing.
fn annotations(method: &str) -> &'static str {
    match method {
        "GET" => r#"{"readOnlyHint":true,"openWorldHint":true}"#,
        "PUT" => r#"{"idempotentHint":true,"openWorldHint":true}"#,
        "DELETE" => r#"{"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}"#,
        _ => r#"{"openWorldHint":true}"#,
    }
}

/// What a script may decide by: `meta["extra"]`.
fn push_meta(text: &mut String, operation: &FoundOperation<'_>, is_lossy: bool) {
    text.push_str("{\"extra\":{");
    key(text, "method");
    proxy_json::push_quoted(text, operation.method);
    key(text, "path");
    proxy_json::push_quoted(text, operation.path);
    key(text, "tags");
    text.push('[');
    for tag in operation.place.node.items_of("tags").iter().filter_map(Node::text).take(MAX_TAGS) {
        separate(text);
        proxy_json::push_quoted(text, &shortened(tag, MAX_TAG));
    }
    text.push(']');
    key(text, "deprecated");
    text.push_str(if operation.place.node.is_true("deprecated") { "true" } else { "false" });
    if is_lossy {
        key(text, "lossy");
        text.push_str("true");
    }
    text.push_str("}}");
}
