//! `tools/list`, in one page or many.

use serde_json::value::RawValue;

use crate::message::{CAPABILITIES_KEY, Refusal, quoted};
use crate::options::Options;
use crate::request::Request;
use crate::shared::Shared;

pub fn tools(shared: &Shared, request: &Request) -> Result<String, Refusal> {
    if let Some(fat) = shared.options.fat {
        return Ok(fat_page(fat, request, &cache_fields(&shared.options, request.modern)));
    }
    let mut tools = shared.tools();
    if shared.options.poor_modern && request.modern {
        tools.retain(|tool| !tool.get().contains(r#""name":"sample""#));
    }
    let can_be_asked = match request.modern {
        true => request.meta(CAPABILITIES_KEY).is_some_and(|declared| declared.get().contains("elicitation")),
        false => shared.lock().form_clients.get(&request.session).copied().unwrap_or_default(),
    };
    if shared.options.form_tool && can_be_asked {
        tools.push(crate::catalog::tool("with_form", "Asks by a form.", ""));
    }
    let pages = shared.options.pages.max(1);
    let page = page_number(request.text_parameter("cursor").as_deref())
        .filter(|page| *page < pages || shared.options.repeat_cursor || shared.options.endless_pages)
        .ok_or_else(|| Refusal::new(200, -32602, "unknown cursor"))?;
    let size = tools.len().div_ceil(pages).max(1);
    let listed: Vec<&str> = tools.iter().skip(page * size).take(size).map(|tool| RawValue::get(tool)).collect();
    let next = if shared.options.repeat_cursor {
        Some("again".to_owned())
    } else {
        (page + 1 < pages || shared.options.endless_pages).then(|| cursor(page + 1))
    };
    let next = match next {
        Some(cursor) => format!(r#","nextCursor":{}"#, quoted(&cursor)),
        None if shared.options.null_cursor => r#","nextCursor":null"#.to_owned(),
        None => String::new(),
    };
    Ok(format!(r#"{{"tools":[{}]{next}{}}}"#, listed.join(","), cache_fields(&shared.options, request.modern)))
}

/// A page of tools with long descriptions, made only when it is asked for.
fn fat_page([pages, tools, bytes]: [usize; 3], request: &Request, fields: &str) -> String {
    let page = page_number(request.text_parameter("cursor").as_deref()).unwrap_or_default();
    let text = "x".repeat(bytes);
    let tool = |number| {
        format!(r#"{{"name":"tool_{page}_{number}","description":"{text}","inputSchema":{{"type":"object"}}}}"#)
    };
    let tools: Vec<String> = (0..tools).map(tool).collect();
    let next = if page + 1 < pages { format!(r#","nextCursor":{}"#, quoted(&cursor(page + 1))) } else { String::new() };
    format!(r#"{{"tools":[{}]{next}{fields}}}"#, tools.join(","))
}

/// What every modern list must say about itself.
pub fn cache_fields(options: &Options, modern: bool) -> String {
    if !modern {
        return String::new();
    }
    format!(r#","resultType":"complete","ttlMs":{},"cacheScope":{}"#, options.ttl, quoted(&options.scope))
}

/// The second page has the empty cursor: legal, and easily mistaken for the end of the list.
fn cursor(page: usize) -> String {
    if page == 1 { String::new() } else { format!("page-{page}") }
}

fn page_number(cursor: Option<&str>) -> Option<usize> {
    match cursor {
        None => Some(0),
        Some("" | "again") => Some(1),
        Some(text) => text.strip_prefix("page-")?.parse().ok(),
    }
}
