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
    let changed = if options.list_changed { r#""listChanged":true"# } else { "" };
    let mut capabilities: Vec<String> = Vec::new();
    let lacking = if legacy { &options.legacy_lacks } else { &options.modern_lacks };
    let lacks = |name: &str| lacking.iter().any(|lacking| lacking == name);
    if !options.no_tools {
        capabilities.push(format!(r#""tools":{{{changed}}}"#));
    }
    if legacy {
        capabilities.push(r#""logging":{}"#.to_owned());
    }
    if options.resources && !lacks("resources") {
        let subscribe = if options.subscribe { r#""subscribe":true"# } else { "" };
        let both: Vec<&str> = [subscribe, changed].into_iter().filter(|part| !part.is_empty()).collect();
        capabilities.push(format!(r#""resources":{{{}}}"#, both.join(",")));
    }
    if options.prompts && !lacks("prompts") {
        capabilities.push(format!(r#""prompts":{{{changed}}}"#));
    }
    if options.completions.is_some() && !lacks("completions") {
        capabilities.push(r#""completions":{}"#.to_owned());
    }
    if options.tasks {
        let tasks = match legacy {
            true => r#""tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#,
            false => r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#,
        };
        capabilities.push(tasks.to_owned());
    }
    capabilities.extend(options.capabilities.clone());
    format!("{{{}}}", capabilities.join(","))
}

fn server_info(options: &Options) -> String {
    format!(r#"{{"name":{},"version":"1.0.0"}}"#, quoted(&options.name))
}

fn instructions(options: &Options) -> String {
    let live = options.live_file.as_deref().and_then(crate::catalog::live_instructions);
    let text = live.or_else(|| options.instructions.clone());
    text.map(|text| format!(r#","instructions":{}"#, quoted(&text))).unwrap_or_default()
}
