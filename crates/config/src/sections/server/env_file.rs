//! `envFile`: environment variables of a server in a file of their own.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::syntax::document::ConfigDocument;
use crate::syntax::dotenv;
use crate::syntax::mask::mask_all;
use crate::syntax::reader::{Fields, ValueReader};
use crate::syntax::substitute::{VariableLookup, substitute};
use crate::syntax::tree::Value;
use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_model::Secret;

use super::settings::SettingsOf;
use super::{ServerConfig, TransportConfig};

const KEY: &str = "envFile";
const MAX_BYTES: u64 = 1 << 20;
/// A file that is no file of variables has an error in each line.
const MAX_PROBLEMS: usize = 10;

/// The variables of the file; `None` if there is none. The file of a disabled server is not read.
pub(super) fn read_env_file(
    fields: &mut Fields,
    server: &ServerConfig,
    of: SettingsOf,
) -> Option<IndexMap<String, Secret>> {
    let reader = fields.get(KEY)?;
    let written = reader.word()?;
    match &server.transport {
        TransportConfig::Http { .. } if of == SettingsOf::Entry => {
            reader.report(reader.problem("requires `command`: the proxy does not start a server with `url`"));
            None
        }
        _ if server.disabled && of == SettingsOf::Entry => Some(IndexMap::new()),
        _ => variables(&reader, &written),
    }
}

fn variables(reader: &ValueReader, shown: &str) -> Option<IndexMap<String, Secret>> {
    let bytes = match read(&reader.folder().join(shown)) {
        Ok(bytes) => bytes,
        Err(problem) => {
            let problem = reader.problem(&format!("cannot read `{shown}`: {problem}"));
            reader.report(problem.hint("the path is relative to the folder of the config file"));
            return None;
        }
    };
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
            return reader.fail(&format!("`{shown}` is not UTF-8 (line {line})"));
        }
    };
    match dotenv::parse(text) {
        Ok(variables) => Some(variables.into_iter().map(|(name, value)| (name, Secret::new(value))).collect()),
        Err(problems) => {
            let masked: Arc<str> = mask_all(text).into();
            for problem in problems.into_iter().take(MAX_PROBLEMS) {
                let place = Location::new(shown.to_string(), Arc::clone(&masked), problem.span);
                let error = Diagnostic::error(format!("`{}`: {}", reader.path(), problem.problem)).at(place);
                reader.report(error.hint("write `NAME=value`, with quotes around a value that has spaces at its ends"));
            }
            None
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    // Before opening, because a named pipe would wait for a writer.
    let metadata = path.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES { Err("it is larger than 1 MiB".to_owned()) } else { Ok(bytes) }
}

/// The files of variables that a config names, also if the config has errors.
pub(crate) fn env_files(document: &ConfigDocument, environment: &VariableLookup) -> Vec<PathBuf> {
    let sections = ["mcpServers", "servers"].into_iter().filter_map(|key| document.root.get(key));
    let servers = sections.flat_map(|section| match &section.value {
        Value::Map(entries) => entries.as_slice(),
        _ => &[],
    });
    let entries = document.root.get("defaults").into_iter().chain(servers.map(|(_, server)| server));
    let named = entries.filter_map(|entry| {
        let node = entry.get(KEY)?;
        let Value::String(written) = &node.value else { return None };
        Some(document.folder(&node.span).join(substitute(written, environment, &mut |_| Ok(None)).ok()?))
    });
    named.collect()
}
