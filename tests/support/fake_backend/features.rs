//! A few resources and prompts, for servers that have more than tools.

use crate::catalog::live_items;
use crate::listing::cache_fields;
use crate::message::{Refusal, quoted};
use crate::options::Options;
use crate::request::Request;

const RESOURCES: &str = r#"{"uri":"memo://greeting","name":"greeting","mimeType":"text/plain"},{"uri":"memo://farewell","name":"farewell"}"#;
const TEMPLATES: &str = r#"{"uriTemplate":"memo://notes/{name}","name":"notes"}"#;
const PROMPTS: &str = r#"{"name":"greet","arguments":[{"name":"who","required":true}]}"#;

/// The items of a kind: those of the file that may change, if it says something of them, else the usual ones.
fn list(options: &Options, kind: &str, usual: &str, fields: &str) -> String {
    let live = options.live_file.as_deref().and_then(|path| live_items(path, kind));
    let items = match &live {
        Some(items) => items.iter().map(|item| item.get()).collect::<Vec<_>>().join(","),
        None => usual.to_owned(),
    };
    format!(r#"{{"{kind}":[{items}]{fields}}}"#)
}

pub fn resources(options: &Options, request: &Request) -> Result<String, Refusal> {
    let fields = cache_fields(options, request.modern);
    let result = match request.method.as_str() {
        "resources/list" => list(options, "resources", RESOURCES, &fields),
        "resources/templates/list" => list(options, "resourceTemplates", TEMPLATES, &fields),
        _ => return read(options, request),
    };
    Ok(result)
}

fn read(options: &Options, request: &Request) -> Result<String, Refusal> {
    let uri = request.text_parameter("uri").unwrap_or_default();
    if !uri.starts_with("memo://") && !uri.starts_with("ui://") {
        let code = if request.modern { -32602 } else { -32002 };
        let data = format!(r#"{{"uri":{}}}"#, quoted(&uri));
        return Err(Refusal::new(200, code, "no such resource").with_data(data));
    }
    let fields = cache_fields(options, request.modern);
    let (text, uri) = (quoted(&format!("the text of {uri}")), quoted(&uri));
    Ok(format!(r#"{{"contents":[{{"uri":{uri},"mimeType":"text/plain","text":{text}}}]{fields}}}"#))
}

pub fn prompts(options: &Options, request: &Request) -> Result<String, Refusal> {
    if request.method == "prompts/list" {
        return Ok(list(options, "prompts", PROMPTS, &cache_fields(options, request.modern)));
    }
    if request.text_parameter("name").as_deref() != Some("greet") {
        return Err(Refusal::new(200, -32602, "no such prompt"));
    }
    let arguments = request.parameter("arguments").map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned());
    let kind = if request.modern { r#","resultType":"complete""# } else { "" };
    let text = quoted(&format!("greet with {arguments}"));
    Ok(format!(r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":{text}}}}}]{kind}}}"#))
}

pub fn completion(count: usize, modern: bool) -> String {
    let values: Vec<String> = (1..=count).map(|number| quoted(&format!("value {number}"))).collect();
    let kind = if modern { r#","resultType":"complete""# } else { "" };
    format!(r#"{{"completion":{{"values":[{}],"total":{count},"x-kept":1.10}}{kind}}}"#, values.join(","))
}

/// Method and params as they came.
pub fn vendor(request: &Request, modern: bool) -> String {
    if let Some(token) = request.meta("progressToken") {
        let params = format!(r#"{{"progressToken":{},"progress":1}}"#, token.get());
        request.outbox.notify("notifications/progress", &params);
    }
    let kind = if modern { r#","resultType":"complete""# } else { "" };
    format!(r#"{{"method":{},"params":{}{kind}}}"#, quoted(&request.method), request.params_text())
}
