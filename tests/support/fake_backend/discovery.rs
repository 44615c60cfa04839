//! `initialize` and `server/discover`: what this server says it is, and how it can fail to say so.

use crate::message::{SERVER_INFO_KEY, quoted};
use crate::options::Options;
use crate::request::Request;

pub const MODERN: &str = "2026-07-28";
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

pub fn misbehaves(options: &Options) -> bool {
    options.exit_on_discover || options.silent_on_discover || options.discover_error.is_some()
}

pub fn misbehave(options: &Options, request: &Request) {
    if options.exit_on_discover {
        std::process::exit(3);
    }
    if options.silent_on_discover {
        // On HTTP an ended reply would be an answer of its own; the sender is kept so that the silence lasts.
        let outbox = request.outbox.clone();
        tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop(outbox);
        });
        return;
    }
    if let Some(code) = options.discover_error {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":"discovery refused"}}}}"#,
            request.id
        );
        request.outbox.response(text);
    }
}

/// The revision an `initialize` is answered with.
pub fn negotiated(options: &Options, request: &Request) -> String {
    let asked = request.text_parameter("protocolVersion").unwrap_or_default();
    let known: Vec<&str> = match &options.only_versions {
        Some(only) => only.iter().map(String::as_str).filter(|version| LEGACY.contains(version)).collect(),
        None => LEGACY.to_vec(),
    };
    match &options.version {
        Some(version) if LEGACY.contains(&version.as_str()) => version.clone(),
        _ if known.contains(&asked.as_str()) => asked,
        _ => (*known.first().unwrap_or(&LEGACY[0])).to_owned(),
    }
}

/// Every revision a modern request may be answered about, newest first.
pub fn supported(options: &Options) -> Vec<String> {
    if let Some(only) = &options.only_versions {
        return only.clone();
    }
    let modern = options.version.as_deref().filter(|version| !LEGACY.contains(version)).unwrap_or(MODERN);
    let mut supported = vec![modern.to_owned()];
    if options.eras.legacy {
        supported.extend(LEGACY.map(str::to_owned));
    }
    supported
}

pub fn initialize(options: &Options, request: &Request) -> String {
    format!(
        r#"{{"protocolVersion":{},"capabilities":{},"serverInfo":{}{}}}"#,
        quoted(&negotiated(options, request)),
        capabilities(options, true),
        server_info(options),
        instructions(options)
    )
}

pub fn discover(options: &Options) -> String {
    format!(
        r#"{{"resultType":"complete","supportedVersions":{},"capabilities":{},"ttlMs":0,"cacheScope":"private","_meta":{{"{SERVER_INFO_KEY}":{}}}{}}}"#,
        serde_json::json!(supported(options)),
        capabilities(options, false),
        server_info(options),
        instructions(options)
    )
}

fn capabilities(options: &Options, legacy: bool) -> String {
    let mut capabilities = Vec::new();
    if !options.no_tools {
        capabilities.push(r#""tools":{"listChanged":true}"#);
    }
    if legacy {
        capabilities.push(r#""logging":{}"#);
    }
    if options.resources {
        capabilities.push(r#""resources":{"subscribe":true,"listChanged":true}"#);
    }
    if options.prompts {
        capabilities.push(r#""prompts":{"listChanged":true}"#);
    }
    if options.completions.is_some() {
        capabilities.push(r#""completions":{}"#);
    }
    if options.tasks {
        capabilities.push(match legacy {
            true => r#""tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#,
            false => r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#,
        });
    }
    capabilities.extend(options.capabilities.as_deref());
    format!("{{{}}}", capabilities.join(","))
}

fn server_info(options: &Options) -> String {
    format!(r#"{{"name":{},"version":"1.0.0"}}"#, quoted(&options.name))
}

fn instructions(options: &Options) -> String {
    options.instructions.as_ref().map(|text| format!(r#","instructions":{}"#, quoted(text))).unwrap_or_default()
}
