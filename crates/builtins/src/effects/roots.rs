//! `roots()`: the folders that the client opens to its servers.

use serde::Deserialize;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::list::AllocList;
use starlark::values::structs::AllocStruct;

use proxy_json::{Raw, RawRef, raw};
use proxy_model::{Question, QuestionKind};
use proxy_script::{Context, script_error};

/// One folder of the client.
#[derive(Clone, Debug, Deserialize)]
pub struct ClientRoot {
    pub uri: String,
    #[serde(default)]
    pub name: String,
    /// The real path, resolved when the client named the folder; empty if the URI is none of a file.
    #[serde(default)]
    pub path: String,
}

#[derive(Deserialize)]
struct ClientRoots {
    roots: Vec<ClientRoot>,
}

#[starlark_module]
pub fn register_roots(builder: &mut GlobalsBuilder) {
    /// Returns the client's folders (MCP roots): a list of structs with `uri`, `name` (`""` if the client gives none)
    /// and `path`, the local folder with symbolic links resolved (`""` if the URI is not a `file:` URI). The list is
    /// empty if the client has no folders or does not declare the `roots` capability, and in `on_other_request`. The
    /// proxy requests the list once per call, when it is first needed. Only while a call is handled.
    ///
    /// The client decides which folders it names; see `allowed_paths = ["@roots"]` in `Extension()` for the access that
    /// this grants.
    ///
    /// ```python
    /// def where(args):
    ///     return [folder.path for folder in roots()]
    /// ```
    fn roots<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
        let found = client_roots(Context::of(eval)?)?;
        let heap = eval.heap();
        Ok(heap.alloc(AllocList(
            found.iter().map(|root| AllocStruct([("uri", &*root.uri), ("name", &*root.name), ("path", &*root.path)])),
        )))
    }
}

/// The folders of the client of the current call. Asks the client when they are first needed.
pub fn client_roots(context: &Context) -> starlark::Result<Vec<ClientRoot>> {
    // Only calls of items can ask.
    let request = context.host_for("`roots()`")?.request();
    if request.is_some_and(|request| !request.is_for_item()) {
        return Ok(Vec::new());
    }
    let question = Question {
        message: "roots/list".to_owned(),
        schema: RawRef::EMPTY_OBJECT.to_owned(),
        reminders: 0,
        kind: QuestionKind::Roots,
    };
    let answer = context.ask_once("roots", question, none)?;
    let answer: ClientRoots = serde_json::from_str(answer.get())
        .map_err(|error| script_error(format!("the client's `roots/list` result is invalid: {error}")))?;
    Ok(answer.roots)
}

/// The answer of a client without folders.
fn none() -> Raw {
    raw(&serde_json::json!({ "roots": [] }))
}
