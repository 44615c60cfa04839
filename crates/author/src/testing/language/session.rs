//! `testing.session` and `testing.extension`: convert the arguments of the test into a [`SessionSpec`].

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::UnpackList;
use starlark::values::none::NoneOr;

use super::backends::fake_backend_spec;
use super::client_folders::client_folders;
use super::session_value::SessionValue;
use crate::testing::session::{ClientSpec, FakeBackendSpec, SessionSpec};
use crate::testing::world::{TestWorld, current_world};
use proxy_model::flow::check_label;
use proxy_script::{convert, script_error};

fn optional_dict<'v>(
    parameter: &str,
    value: NoneOr<Value<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Option<Map<String, Json>>> {
    let Some(value) = value.into_option() else { return Ok(None) };
    let invalid = || script_error(format!("`{parameter}` must be a dict, not a `{}`", value.get_type()));
    convert::to_object(value, eval.heap())?.ok_or_else(invalid).map(Some)
}

fn dict<'v>(
    parameter: &str,
    value: NoneOr<Value<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Map<String, Json>> {
    Ok(optional_dict(parameter, value, eval)?.unwrap_or_default())
}

fn fake_backends<'v>(
    backends: NoneOr<Value<'v>>,
    world: &TestWorld,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Vec<FakeBackendSpec>> {
    let Some(backends) = backends.into_option() else { return Ok(Vec::new()) };
    let invalid = || script_error("`backends` must be a dict of names and testing.backend(...)");
    let entries: Vec<(Value<'v>, Value<'v>)> = DictRef::from_value(backends).ok_or_else(invalid)?.iter().collect();
    let mut specs = Vec::new();
    for (name, backend) in entries {
        let name = name.unpack_str().ok_or_else(invalid)?;
        specs.push(fake_backend_spec(name, backend, world, eval)?.ok_or_else(invalid)?);
    }
    Ok(specs)
}

#[starlark_module]
pub(super) fn register_session(builder: &mut GlobalsBuilder) {
    /// Opens a client session with the proxy. Everything is real except the servers, the user and the clock. The
    /// session script is `script`, a path relative to the test or to the config's folder (`"//scripts/policy.star"`),
    /// or the preset `preset`. `backends` is a dict from name to test server; `extensions` is a list of extension
    /// files.
    ///
    /// `user` is the authenticated user: a dict with `sub`, and optionally `email`, `name`, `groups`, `claims`,
    /// `issuer` and `scopes`. Without `user`, the client is anonymous. `client` is a dict with `name`, `version`,
    /// `protocol_version` and `capabilities`; by default the client supports elicitation. `headers` are the HTTP
    /// headers sent with every request. `config` has the same sections as a config file, plus `params`.
    ///
    /// `answers` are the user's answers to elicitations, in order: `{"action": "accept", "content": {...}}`,
    /// `{"action": "decline"}` or `{"action": "cancel"}`. The test fails if an answer is missing or unused.
    /// `elicit_url()` takes its answers from the same list. `roots` are the client's folders, for `roots()` and
    /// `@roots`: paths relative to the test, URIs, or dicts with `uri` and `name`.
    ///
    /// `profile` is the profile that the client uses, a key of `profiles` in `config`.
    ///
    /// `marks` are the labels of what the conversation has read before the test, for the rules of the config's `flow`
    /// section.
    ///
    /// ```python
    /// s = testing.session(
    ///     preset = "default",
    ///     backends = {"db": testing.backend(tools = [testing.tool("read", returns = "rows")])},
    /// )
    /// testing.eq(unwrap(s.call("read", {})), "rows")
    /// ```
    #[expect(clippy::too_many_arguments, reason = "one parameter per argument of the built-in")]
    fn session<'v>(
        #[starlark(require = named, default = NoneOr::None)] script: NoneOr<String>,
        #[starlark(require = named, default = NoneOr::None)] preset: NoneOr<String>,
        #[starlark(require = named, default = NoneOr::None)] backends: NoneOr<Value<'v>>,
        #[starlark(require = named, default = UnpackList::default())] extensions: UnpackList<String>,
        #[starlark(require = named, default = NoneOr::None)] user: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] client: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] config: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] answers: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] roots: NoneOr<Value<'v>>,
        #[starlark(require = named, default = UnpackList::default())] marks: UnpackList<String>,
        #[starlark(require = named, default = NoneOr::None)] profile: NoneOr<String>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<SessionValue> {
        let world = Arc::clone(current_world(eval, "testing.session()")?);
        for label in &marks.items {
            check_label(label).map_err(script_error)?;
        }
        let answers = answers.into_option().map(|answers| convert::to_json(answers, eval.heap())).transpose()?;
        let client = ClientSpec {
            user: optional_dict("user", user, eval)?,
            client: dict("client", client, eval)?,
            headers: dict("headers", headers, eval)?,
            answers: answers.unwrap_or_else(|| json!([])),
            roots: client_folders(roots, &world, eval)?,
        };
        let spec = SessionSpec {
            script: script.into_option(),
            preset: preset.into_option(),
            profile: profile.into_option(),
            backends: fake_backends(backends, &world, eval)?,
            extensions: extensions.items,
            config: dict("config", config, eval)?,
            client,
            marks: marks.items.iter().map(|label| label.as_str().into()).collect(),
        };
        Ok(SessionValue(Arc::new(spec.build(world)?)))
    }

    /// Opens a session with one extension and publishes all its items unchanged:
    /// `testing.extension("hello.star").call("greet", {})` validates arguments, applies defaults and formats the result
    /// as it does for a client.
    fn extension<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<SessionValue> {
        let world = Arc::clone(current_world(eval, "testing.extension()")?);
        let spec = SessionSpec {
            preset: Some("passthrough".to_owned()),
            extensions: vec![path.to_owned()],
            ..SessionSpec::default()
        };
        Ok(SessionValue(Arc::new(spec.build(world)?)))
    }
}
