//! The argument `roots` of `testing.session`: the folders of the client.

use std::path::Path;

use serde_json::{Value as Json, json};
use starlark::eval::Evaluator;
use starlark::values::Value;
use starlark::values::none::NoneOr;
use url::Url;

use crate::testing::world::TestWorld;
use proxy_script::{ScriptError, convert};

/// The folders as the client names them; None if the client has no such capability.
pub(super) fn client_folders<'v>(
    roots: NoneOr<Value<'v>>,
    world: &TestWorld,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Option<Vec<Json>>> {
    let Some(roots) = roots.into_option() else { return Ok(None) };
    let Json::Array(roots) = convert::to_json(roots, eval.heap())? else { return Err(invalid().into()) };
    let folder = world.test.source.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let root = |root: &Json| match root {
        Json::String(text) => uri(text, folder).map(|uri| json!({ "uri": uri })),
        Json::Object(members) if members.get("uri").is_some_and(Json::is_string) => Some(root.clone()),
        _ => None,
    };
    let roots: Option<Vec<Json>> = roots.iter().map(root).collect();
    Ok(Some(roots.ok_or_else(invalid)?))
}

fn invalid() -> ScriptError {
    ScriptError::new("`roots` must be a list of paths, URIs, or dicts with a `uri`")
        .hint("for example `roots = [\"testdata\", {\"uri\": \"file:///srv/project\", \"name\": \"project\"}]`")
}

/// A URI as it is; a path as the URI of the folder, relative to that of the test.
fn uri(text: &str, folder: &Path) -> Option<String> {
    if Url::parse(text).is_ok() {
        return Some(text.to_owned());
    }
    let path = std::path::absolute(folder.join(text)).ok()?;
    Url::from_file_path(path).ok().map(Into::into)
}
