//! How a request body is written: the first media type of the description that we can write.

use std::collections::HashMap;

use super::parameter::Style;
use crate::document::{Documents, Node, Place};

/// How many media types of one request or response are looked at.
pub(crate) const MAX_MEDIA_TYPES: usize = 100;
/// How many schemas are looked at to find out whether an argument is a file.
const MAX_BRANCHES: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Form,
    Multipart,
    Text,
    /// Any other type; the argument is Base64.
    Bytes,
}

/// How a media type is written and read.
pub(crate) fn media_of(content_type: &str) -> Media {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/x-www-form-urlencoded" => Media::Form,
        "multipart/form-data" => Media::Multipart,
        "application/json" | "text/json" => Media::Json,
        "application/xml"
        | "application/yaml"
        | "application/x-yaml"
        | "application/javascript"
        | "application/graphql" => Media::Text,
        other if other.ends_with("+json") => Media::Json,
        other if other.starts_with("text/") || other.ends_with("+xml") || other.ends_with("+yaml") => Media::Text,
        other if other.contains("ndjson") || other.contains("json-seq") || other.contains("jsonl") => Media::Text,
        _ => Media::Bytes,
    }
}

/// How one member of a form or multipart body is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Field {
    /// `None` if the description names no style: then objects are JSON.
    pub(crate) style: Option<Style>,
    pub(crate) explode: bool,
    pub(crate) allow_reserved: bool,
    pub(crate) content_type: Option<String>,
    /// Whether the argument is Base64.
    pub(crate) is_file: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct BodyPlan {
    pub(crate) media: Media,
    pub(crate) content_type: String,
    pub(crate) required: bool,
    /// Whether arguments that the schema does not name belong into the body.
    pub(crate) is_open: bool,
    /// The members of a form whose encoding is not the usual one.
    pub(crate) fields: HashMap<String, Field>,
}

/// A request body as the description has it.
pub(crate) struct FoundBody<'d> {
    pub(crate) media: Media,
    pub(crate) content_type: &'d str,
    pub(crate) required: bool,
    pub(crate) description: Option<&'d str>,
    pub(crate) schema: Option<Place<'d>>,
    pub(crate) encoding: Option<Place<'d>>,
}

/// The body of an operation in the first media type that we write well; `None` if it has no body.
pub(crate) fn body<'d>(documents: &'d Documents, operation: Place<'d>) -> Result<Option<FoundBody<'d>>, String> {
    let Some(written) = operation.get("requestBody") else { return Ok(None) };
    let at = documents.object(written).map_err(|problem| format!("its request body is unknown: {problem}"))?;
    let Some(content) = at.get("content") else { return Ok(None) };
    let offered = || content.node.map().into_iter().flat_map(|map| map.iter()).take(MAX_MEDIA_TYPES);
    let is_structured = |media: &Media| matches!(media, Media::Json | Media::Form | Media::Multipart);
    let best = offered()
        .find(|(name, _)| is_structured(&media_of(name)))
        .or_else(|| offered().find(|(name, _)| media_of(name) == Media::Text))
        .or_else(|| offered().next());
    let Some((content_type, node)) = best else { return Ok(None) };
    let media = content.at(node);
    Ok(Some(FoundBody {
        // Any type: an object or a list can only be meant as JSON.
        media: if is_any(content_type) { wildcard_media(documents, media) } else { media_of(content_type) },
        content_type,
        required: at.node.is_true("required"),
        description: written.node.text_of("description").or_else(|| at.node.text_of("description")),
        schema: media.get("schema"),
        encoding: media.get("encoding"),
    }))
}

fn is_any(content_type: &str) -> bool {
    matches!(content_type.trim(), "*/*" | "*" | "")
}

fn wildcard_media(documents: &Documents, media: Place<'_>) -> Media {
    let schema = media.get("schema").and_then(|schema| documents.object(schema).ok());
    let is_text = schema.is_some_and(|schema| schema.node.text_of("type") == Some("string"));
    if is_text { Media::Bytes } else { Media::Json }
}

impl FoundBody<'_> {
    pub(crate) fn plan(&self, documents: &Documents, members: &[(&str, Place<'_>)], is_open: bool) -> BodyPlan {
        let mut fields = HashMap::new();
        if matches!(self.media, Media::Form | Media::Multipart) {
            for (name, schema) in members {
                let encoding = self.encoding.and_then(|encoding| encoding.get(name));
                let field = field(documents, *schema, encoding.map(|encoding| encoding.node));
                if field != Field::default() {
                    fields.insert((*name).to_owned(), field);
                }
            }
        }
        let is_range = is_any(self.content_type) || self.content_type.contains('*');
        let content_type = match self.media {
            Media::Json if is_range => "application/json",
            Media::Text if is_range => "text/plain",
            _ if is_range => "application/octet-stream",
            _ => self.content_type,
        };
        // The description must not add header lines.
        let is_valid = http::HeaderValue::from_str(content_type).is_ok();
        let content_type = if is_valid { content_type } else { "application/octet-stream" };
        BodyPlan { media: self.media, content_type: content_type.to_owned(), required: self.required, is_open, fields }
    }
}

fn field(documents: &Documents, schema: Place<'_>, encoding: Option<&Node>) -> Field {
    let has_style = ["style", "explode", "allowReserved"]
        .iter()
        .any(|keyword| encoding.is_some_and(|encoding| encoding.get(keyword).is_some()));
    let named = encoding.and_then(|encoding| encoding.text_of("style")).and_then(Style::parse).unwrap_or(Style::Form);
    let explode = match encoding.and_then(|encoding| encoding.get("explode")) {
        Some(Node::Bool(explode)) => *explode,
        _ => named == Style::Form,
    };
    let content_type = encoding.and_then(|encoding| encoding.text_of("contentType"));
    let content_type = content_type.and_then(|types| types.split(',').next()).map(str::trim);
    Field {
        style: if has_style { Some(named) } else { None },
        explode: has_style && explode,
        allow_reserved: encoding.is_some_and(|encoding| encoding.is_true("allowReserved")),
        content_type: content_type.filter(|name| is_type(name)).map(str::to_owned),
        is_file: is_file(documents, schema),
    }
}

fn is_type(name: &str) -> bool {
    !name.is_empty() && !name.contains('*') && http::HeaderValue::from_str(name).is_ok()
}

/// What an argument of a form is, as far as files are concerned.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Null,
    /// Bytes, or a list of files.
    File,
    Other,
}

/// Whether a schema describes bytes, or a list of files, and nothing else but `null`.
fn is_file(documents: &Documents, schema: Place<'_>) -> bool {
    let mut left = MAX_BRANCHES;
    kind(documents, schema, &mut left) == Kind::File
}

fn kind(documents: &Documents, schema: Place<'_>, left: &mut usize) -> Kind {
    let Ok(schema) = documents.object(schema) else { return Kind::Other };
    if *left == 0 {
        return Kind::Other;
    }
    *left -= 1;
    let node = schema.node;
    let mut names = kinds(node);
    if names == ["null"] {
        return Kind::Null;
    }
    names.retain(|name| *name != "null");
    for keyword in ["anyOf", "oneOf"] {
        let branches = node.items_of(keyword);
        if !branches.is_empty() {
            let found: Vec<Kind> = branches.iter().map(|branch| kind(documents, schema.at(branch), left)).collect();
            let is_file = found.contains(&Kind::File) && !found.contains(&Kind::Other);
            return if is_file { Kind::File } else { Kind::Other };
        }
    }
    let is_file = match names.as_slice() {
        ["array"] => schema.get("items").is_some_and(|items| kind(documents, items, left) == Kind::File),
        [] | ["string" | "file"] => {
            let mut branches = node.items_of("allOf").iter();
            is_bytes(node) || branches.any(|branch| kind(documents, schema.at(branch), left) == Kind::File)
        }
        _ => false,
    };
    if is_file { Kind::File } else { Kind::Other }
}

/// The types that a schema names.
fn kinds(schema: &Node) -> Vec<&str> {
    match schema.get("type") {
        Some(Node::Text(name)) => vec![name],
        Some(Node::List(names)) => names.iter().filter_map(Node::text).collect(),
        _ => Vec::new(),
    }
}

/// Whether a schema of a text says that it is bytes.
fn is_bytes(node: &Node) -> bool {
    let is_binary = node.text_of("format") == Some("binary") || node.text_of("type") == Some("file");
    is_binary || node.get("contentMediaType").is_some() || node.text_of("contentEncoding") == Some("base64")
}
