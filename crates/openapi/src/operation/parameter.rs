//! Parameters of operations: where they stand in a request, and in which style.

use std::collections::HashMap;

use crate::document::{Documents, Node, Place};

use super::body::{Media, media_of};

const MAX_PARAMETERS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ParameterPlace {
    Path,
    Query,
    Header,
    Cookie,
}

impl ParameterPlace {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ParameterPlace::Path => "path",
            ParameterPlace::Query => "query",
            ParameterPlace::Header => "header",
            ParameterPlace::Cookie => "cookie",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [ParameterPlace::Path, ParameterPlace::Query, ParameterPlace::Header, ParameterPlace::Cookie]
            .into_iter()
            .find(|place| place.as_str() == name)
    }

    fn default_style(self) -> Style {
        match self {
            ParameterPlace::Path | ParameterPlace::Header => Style::Simple,
            ParameterPlace::Query | ParameterPlace::Cookie => Style::Form,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

impl Style {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "simple" => Style::Simple,
            "label" => Style::Label,
            "matrix" => Style::Matrix,
            "form" => Style::Form,
            "spaceDelimited" => Style::SpaceDelimited,
            "pipeDelimited" => Style::PipeDelimited,
            "deepObject" => Style::DeepObject,
            _ => return None,
        })
    }

    fn is_for(self, place: ParameterPlace) -> bool {
        match place {
            ParameterPlace::Path => matches!(self, Style::Simple | Style::Label | Style::Matrix),
            ParameterPlace::Header => self == Style::Simple,
            ParameterPlace::Cookie => self == Style::Form,
            ParameterPlace::Query => !matches!(self, Style::Simple | Style::Label | Style::Matrix),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter<'d> {
    pub(crate) name: &'d str,
    pub(crate) place: ParameterPlace,
    pub(crate) required: bool,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    pub(crate) allow_reserved: bool,
    /// Whether the value is sent as JSON text (`content`).
    pub(crate) is_json: bool,
    pub(crate) schema: Option<Place<'d>>,
    pub(crate) description: Option<&'d str>,
}

/// The parameters of an operation and its path item. Those of the operation replace those of the item.
pub(crate) fn parameters<'d>(
    documents: &'d Documents,
    item: Place<'d>,
    operation: Place<'d>,
) -> Result<Vec<Parameter<'d>>, String> {
    let mut found: Vec<Parameter<'d>> = Vec::new();
    let mut known: HashMap<(ParameterPlace, &str), usize> = HashMap::new();
    for holder in [item, operation] {
        for node in holder.node.items_of("parameters") {
            let Some(parameter) = read(documents, holder.at(node))? else { continue };
            match known.get(&(parameter.place, parameter.name)) {
                Some(at) => found[*at] = parameter,
                None => {
                    known.insert((parameter.place, parameter.name), found.len());
                    found.push(parameter);
                }
            }
            if found.len() > MAX_PARAMETERS {
                return Err(format!("it has more than {MAX_PARAMETERS} parameters"));
            }
        }
    }
    Ok(found)
}

/// Reads a parameter; `None` for one that cannot be sent and need not be.
fn read<'d>(documents: &'d Documents, written: Place<'d>) -> Result<Option<Parameter<'d>>, String> {
    let at = documents.object(written).map_err(|problem| format!("a parameter is unknown: {problem}"))?;
    let node = at.node;
    let name = node.text_of("name").ok_or("a parameter has no `name`")?;
    let place_name = node.text_of("in").ok_or_else(|| format!("the parameter `{name}` has no `in`"))?;
    let Some(place) = ParameterPlace::parse(place_name) else {
        if node.is_true("required") {
            return Err(format!("the parameter `{name}` is in `{place_name}`, which is not supported"));
        }
        return Ok(None);
    };
    let style = node.text_of("style").and_then(Style::parse).filter(|style| style.is_for(place));
    let style = style.unwrap_or(place.default_style());
    let explode = match node.get("explode") {
        Some(Node::Bool(explode)) => *explode,
        _ => style == Style::Form,
    };
    let content = node.members_of("content").next();
    let schema = match content {
        Some((_, media)) => at.at(media).get("schema"),
        None => at.get("schema"),
    };
    Ok(Some(Parameter {
        name,
        place,
        required: place == ParameterPlace::Path || node.is_true("required"),
        style,
        explode,
        allow_reserved: node.is_true("allowReserved"),
        is_json: content.is_some_and(|(media, _)| media_of(media) == Media::Json),
        schema,
        description: written.node.text_of("description").or_else(|| node.text_of("description")),
    }))
}

/// Whether a header is set by HTTP, by the proxy, or by `auth`, so that it cannot be an argument.
pub(crate) fn is_reserved_header(name: &str) -> bool {
    const RESERVED: [&str; 22] = [
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "cookie2",
        "expect",
        "forwarded",
        "host",
        "http2-settings",
        "keep-alive",
        "origin",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    ];
    let name = name.to_ascii_lowercase();
    RESERVED.contains(&name.as_str()) || name.starts_with("x-forwarded-") || name.starts_with("mcp-")
}
