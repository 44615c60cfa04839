//! The arguments of the tools.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::script_path::ScriptPath;
use proxy_base::diagnostic::Diagnostic;
use proxy_script::MAX_SOURCE;

/// How many drafts a call may have.
const MAX_DRAFTS: usize = 50;

/// Scripts that are not saved yet, by path. In the copy of the folder they are in the place of the saved ones.
pub(super) type Drafts = BTreeMap<ScriptPath, String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CatalogArguments {
    pub(super) server: Option<String>,
    pub(super) name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReferenceArguments {
    pub(super) name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckArguments {
    #[serde(default)]
    files: BTreeMap<String, String>,
    script: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TestArguments {
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    paths: Vec<String>,
    pub(super) filter: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainArguments {
    #[serde(default)]
    files: BTreeMap<String, String>,
    script: Option<String>,
    pub(super) name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BacktestArguments {
    #[serde(default)]
    files: BTreeMap<String, String>,
    script: Option<String>,
    pub(super) recording: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveArguments {
    pub(super) path: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) replace: bool,
}

/// Reads the arguments of a call.
pub(super) fn read<T: DeserializeOwned>(arguments: Option<Map<String, Value>>) -> Result<T, Diagnostic> {
    let arguments = Value::Object(arguments.unwrap_or_default());
    serde_json::from_value(arguments).map_err(|error| Diagnostic::error(format!("wrong arguments: {error}")))
}

impl CheckArguments {
    pub(super) fn drafts(&self) -> Result<Drafts, Diagnostic> {
        drafts(&self.files)
    }

    pub(super) fn script(&self) -> Result<Option<ScriptPath>, Diagnostic> {
        script(self.script.as_deref())
    }
}

impl TestArguments {
    pub(super) fn drafts(&self) -> Result<Drafts, Diagnostic> {
        drafts(&self.files)
    }

    pub(super) fn paths(&self) -> Result<Vec<ScriptPath>, Diagnostic> {
        self.paths.iter().map(|path| ScriptPath::parse(path)).collect()
    }
}

impl ExplainArguments {
    pub(super) fn drafts(&self) -> Result<Drafts, Diagnostic> {
        drafts(&self.files)
    }

    pub(super) fn script(&self) -> Result<Option<ScriptPath>, Diagnostic> {
        script(self.script.as_deref())
    }
}

impl BacktestArguments {
    pub(super) fn drafts(&self) -> Result<Drafts, Diagnostic> {
        drafts(&self.files)
    }

    pub(super) fn script(&self) -> Result<Option<ScriptPath>, Diagnostic> {
        script(self.script.as_deref())
    }
}

fn drafts(files: &BTreeMap<String, String>) -> Result<Drafts, Diagnostic> {
    if files.len() > MAX_DRAFTS {
        return Err(Diagnostic::error(format!("`files` has {} drafts; the limit is {MAX_DRAFTS}", files.len())));
    }
    let draft = |(path, text): (&String, &String)| {
        let path = ScriptPath::parse(path)?;
        check_size(&path, text)?;
        Ok((path, text.clone()))
    };
    files.iter().map(draft).collect()
}

/// No script of the proxy may be larger.
pub(super) fn check_size(path: &ScriptPath, text: &str) -> Result<(), Diagnostic> {
    let size = text.len();
    if size > MAX_SOURCE {
        return Err(Diagnostic::error(format!("`{path}` has {size} bytes; a script may have {MAX_SOURCE}"))
            .hint("split it into files, and `load()` them"));
    }
    Ok(())
}

fn script(text: Option<&str>) -> Result<Option<ScriptPath>, Diagnostic> {
    text.map(ScriptPath::parse).transpose()
}
