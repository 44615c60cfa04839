//! Test helpers: load the text of a config file, and render its errors.

use std::path::Path;

use proxy_base::diagnostic::Diagnostic;

use super::{Config, load_text};

/// An environment with two variables, `TOKEN` and `EMPTY`.
pub(super) fn environment(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret-from-environment".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

pub(super) fn loaded(text: &str) -> Config {
    load_text(Path::new("proxy.yaml"), text, &environment)
        .unwrap_or_else(|errors| panic!("{}", rendered(&errors).join("\n")))
        .0
}

/// Each error as `line:column message (hint)`.
pub(super) fn errors(text: &str) -> Vec<String> {
    rendered(&load_text(Path::new("proxy.yaml"), text, &environment).expect_err("it loads without an error"))
}

pub(super) fn rendered(diagnostics: &[Diagnostic]) -> Vec<String> {
    let render = |diagnostic: &Diagnostic| {
        let place =
            diagnostic.place.as_ref().map_or(String::new(), |place| format!("{}:{} ", place.line(), place.column()));
        let hint = diagnostic.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
        format!("{place}{}{hint}", diagnostic.message)
    };
    diagnostics.iter().map(render).collect()
}
