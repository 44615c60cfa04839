//! A config file, read from top to bottom.

use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;

use super::aggregation::read_aggregation;
use super::document::Document;
use super::reader::{Context, Fields, Reader};
use super::serve::read_serve;
use super::server::read_servers;
use super::session_script::read_session_init;
use super::substitute::Environment;
use super::token::read_auth;
use super::{Config, ExtensionPath, SetSection};

/// The config with its warnings, or every error there is.
pub fn load(path: &Path, environment: &Environment) -> Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        vec![Diagnostic::error(format!("the config file `{}` cannot be read: {error}", path.display()))]
    })?;
    load_text(path, &text, environment)
}

/// The same for a text that is read already; `path` says what format it has and what its paths are relative to.
pub fn load_text(
    path: &Path,
    text: &str,
    environment: &Environment,
) -> Result<(Config, Vec<Diagnostic>), Vec<Diagnostic>> {
    let document = Document::parse(path, text).map_err(|error| vec![error])?;
    let context = Context::new(&document, environment);
    let mut config = Config::default_for(&folder_of(path));
    config.path = Some(path.to_owned());
    read_sections(&context.root(), &mut config);
    let (errors, warnings): (Vec<_>, Vec<_>) = context.finish().into_iter().partition(Diagnostic::is_error);
    if errors.is_empty() { Ok((config, warnings)) } else { Err(errors) }
}

/// Absolute, so that it holds for children that run elsewhere.
fn folder_of(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.parent().map(Path::to_owned).unwrap_or_default()
}

fn read_sections(root: &Reader, config: &mut Config) {
    let Some(mut fields) = root.fields() else { return };
    let folder = config.folder.clone();
    read_all_servers(&mut fields, config);
    fields.set(&mut config.extensions, "extensions", |reader| read_extensions(reader, &folder));
    if let Some(session) = fields.read("sessionInit", |reader| read_session_init(reader, &folder)) {
        config.session = session.script;
        config.params = session.params;
        config.set_sections.extend(session.set_section);
    }
    if let Some(reader) = fields.get("aggregation") {
        let servers: Vec<&str> = config.servers.keys().map(String::as_str).collect();
        config.aggregation = read_aggregation(&reader, &servers).unwrap_or_default();
        config.set_sections.push(SetSection { name: "aggregation", place: reader.place() });
    }
    fields.set(&mut config.serve, "serve", read_serve);
    fields.set(&mut config.tokens, "auth", read_auth);
    fields.planned(&["optimizer", "codeMode", "rateLimiting", "store", "telemetry", "audit"]);
    fields.finish();
}

/// `mcpServers`, or `servers` and `inputs` as VS Code writes them.
fn read_all_servers(fields: &mut Fields, config: &mut Config) {
    let [ours, theirs, inputs] = ["mcpServers", "servers", "inputs"].map(|key| fields.get(key));
    if let (Some(_), Some(theirs)) = (&ours, &theirs) {
        theirs.report(theirs.problem("means the same as `mcpServers`: keep one of them").at(theirs.place()));
    }
    for reader in [ours, theirs].into_iter().flatten() {
        config.servers.extend(read_servers(&reader, &config.folder).unwrap_or_default());
    }
    if let Some(inputs) = inputs {
        let warning = Diagnostic::warning("`inputs` is for VS Code: the proxy asks nobody").at(inputs.place());
        inputs.report(warning.hint("put such values into environment variables and write `${NAME}`"));
    }
}

fn read_extensions(reader: &Reader, folder: &Path) -> Option<Vec<ExtensionPath>> {
    let mut fields = reader.fields()?;
    let paths = fields.read("paths", |paths| {
        paths.list(|item| {
            let written = item.word()?;
            Some(ExtensionPath { path: folder.join(&written), written, place: Some(item.place()) })
        })
    });
    fields.planned(&["watch"]);
    fields.finish();
    paths
}
