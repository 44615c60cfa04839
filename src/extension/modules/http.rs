//! The module `http`: requests.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;

use super::{act_if, pairs, seconds};
use crate::extension::Permissions;
use crate::host_io::http;
use crate::host_io::http::{Body, Request};
use crate::script::{convert, script_error};

/// HTTP requests. Public hosts are open; loopback, private and link-local addresses only where `allowed_hosts` of the
/// extension names the host, whatever a name resolves to and wherever a redirect leads. If `allowed_hosts` is given, only
/// those hosts. Headers and credentials are not sent on to another host.
///
/// The answer is a dict with `url`, `status_code`, `status` (the same), `success` (2xx), `headers` (lower-case names),
/// `body` and, when the body parses, `json`. An answer with an error status is an answer; no answer at all is an error.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// `params` are added to the URL, `auth` is `(user, password)`, `timeout` in seconds is for all of it.
    ///
    /// ```python
    /// answer = http.get("https://api.example.com/items", params = {"q": "x"}, headers = {"Accept": "application/json"})
    /// names = [item["name"] for item in answer["json"]]
    /// ```
    fn get<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.get", Given { url, params, headers, auth, timeout, ..Given::default() }, eval)
    }

    /// As `get`, without the body.
    fn head<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.head", Given { url, params, headers, auth, timeout, ..Given::default() }, eval)
    }

    /// As `get`: what the server can do there.
    fn options<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.options", Given { url, params, headers, auth, timeout, ..Given::default() }, eval)
    }

    /// As `get`; a body, where the server wants one, is given as for `post`, by name.
    fn delete<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] body: NoneOr<&str>,
        #[starlark(require = named, default = NoneOr::None)] json_body: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] form_body: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.delete", Given { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }

    /// Sends a body: text in `body`, a value in `json_body`, or a dict in `form_body`; one of them.
    ///
    /// ```python
    /// made = http.post("https://api.example.com/items", json_body = {"name": "tea"}, timeout = 5)
    /// if not made["success"]:
    ///     return error("the shop says " + made["body"])
    /// ```
    fn post<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] body: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] json_body: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] form_body: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.post", Given { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }

    /// As `post`.
    fn put<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] body: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] json_body: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] form_body: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.put", Given { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }

    /// As `post`.
    fn patch<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] body: NoneOr<&str>,
        #[starlark(default = NoneOr::None)] json_body: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] form_body: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.patch", Given { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }
}

/// The arguments of any of them.
struct Given<'a, 'v> {
    url: &'a str,
    params: NoneOr<Value<'v>>,
    headers: NoneOr<Value<'v>>,
    auth: NoneOr<Value<'v>>,
    body: NoneOr<&'a str>,
    json_body: NoneOr<Value<'v>>,
    form_body: NoneOr<Value<'v>>,
    timeout: UnpackFloat,
}

impl Default for Given<'_, '_> {
    fn default() -> Self {
        Given {
            url: "",
            params: NoneOr::None,
            headers: NoneOr::None,
            auth: NoneOr::None,
            body: NoneOr::None,
            json_body: NoneOr::None,
            form_body: NoneOr::None,
            timeout: UnpackFloat(30.0),
        }
    }
}

fn send<'v>(kind: &'static str, given: Given<'_, 'v>, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<Value<'v>> {
    let heap = eval.heap();
    let request = Request {
        method: kind.trim_start_matches("http.").to_uppercase(),
        url: given.url.to_owned(),
        params: pairs("params", given.params, heap)?,
        headers: pairs("headers", given.headers, heap)?,
        auth: auth(given.auth, eval)?,
        body: body(given.body, given.json_body, given.form_body, eval)?,
        timeout: seconds("timeout", given.timeout)?,
    };
    let asked = request.clone();
    let allowed = |permissions: &Permissions| http::check(&permissions.hosts, &asked);
    act_if(kind, &asked, eval, allowed, |world| async move {
        http::perform(&world.reach.http, &world.permissions().hosts, &request).await
    })
}

fn auth<'v>(given: NoneOr<Value<'v>>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Option<(String, String)>> {
    let Some(given) = given.into_option() else { return Ok(None) };
    match convert::to_json(given, eval.heap())?.as_array().map(Vec::as_slice) {
        Some([Json::String(user), Json::String(password)]) => Ok(Some((user.clone(), password.clone()))),
        _ => Err(script_error("`auth` must be `(user, password)`")),
    }
}

fn body<'v>(
    text: NoneOr<&str>,
    json: NoneOr<Value<'v>>,
    form: NoneOr<Value<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Body> {
    match (text.into_option(), json.into_option(), form.into_option()) {
        (None, None, None) => Ok(Body::None),
        (Some(text), None, None) => Ok(Body::Text(text.to_owned())),
        (None, Some(value), None) => Ok(Body::Json(convert::to_json(value, eval.heap())?)),
        (None, None, Some(form)) => Ok(Body::Form(pairs("form_body", NoneOr::Other(form), eval.heap())?)),
        _ => Err(script_error("a request has one body: `body`, `json_body` or `form_body`")),
    }
}
