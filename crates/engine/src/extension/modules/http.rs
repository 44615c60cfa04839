//! The module `http`: HTTP requests.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneOr;

use super::{pairs, perform_if, seconds};
use crate::extension::Permissions;
use proxy_host_io::http;
use proxy_host_io::http::{OutboundRequest, RequestBody};
use proxy_script::{convert, script_error};

/// Sends HTTP requests. Public hosts are allowed. Loopback, private and link-local addresses are allowed only if the
/// extension's `allowed_hosts` lists the host; this applies to resolved names and redirects, too. If `allowed_hosts` is
/// declared, only its hosts are allowed. Headers and credentials are not forwarded when a redirect leads to another
/// host.
///
/// The response is a dict with `url`, `status_code`, `status` (the same), `success` (2xx), `headers` (lower-case
/// names), `body` and, if the body is JSON, `json`. If the body is not UTF-8 text, `body_base64` has its bytes. A
/// response with an error status does not raise an error; a request without a response does.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Sends a GET request. `params` are added to the URL query, `auth` is `(user, password)`, and `timeout` limits the
    /// whole request, in seconds (default 30).
    ///
    /// ```python
    /// response = http.get("https://api.example.com/items", params = {"q": "x"}, headers = {"Accept": "application/json"})
    /// names = [item["name"] for item in response["json"]]
    /// ```
    fn get<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.get", HttpArguments { url, params, headers, auth, timeout, ..HttpArguments::default() }, eval)
    }

    /// Sends a HEAD request; the response has no body. Parameters as for `get`.
    fn head<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.head", HttpArguments { url, params, headers, auth, timeout, ..HttpArguments::default() }, eval)
    }

    /// Sends an OPTIONS request. Parameters as for `get`.
    fn options<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] params: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] auth: NoneOr<Value<'v>>,
        #[starlark(default = UnpackFloat(30.0))] timeout: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        send("http.options", HttpArguments { url, params, headers, auth, timeout, ..HttpArguments::default() }, eval)
    }

    /// Sends a DELETE request. Parameters as for `get`; a body can be passed by name as for `post`.
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
        send("http.delete", HttpArguments { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }

    /// Sends a POST request with one body: a string in `body`, a value in `json_body`, or a dict in `form_body`. Other
    /// parameters as for `get`.
    ///
    /// ```python
    /// created = http.post("https://api.example.com/items", json_body = {"name": "tea"}, timeout = 5)
    /// if not created["success"]:
    ///     return error("the shop says " + created["body"])
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
        send("http.post", HttpArguments { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }

    /// Sends a PUT request. Parameters as for `post`.
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
        send("http.put", HttpArguments { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }

    /// Sends a PATCH request. Parameters as for `post`.
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
        send("http.patch", HttpArguments { url, params, headers, auth, body, json_body, form_body, timeout }, eval)
    }
}

/// The arguments of any of the functions.
struct HttpArguments<'a, 'v> {
    url: &'a str,
    params: NoneOr<Value<'v>>,
    headers: NoneOr<Value<'v>>,
    auth: NoneOr<Value<'v>>,
    body: NoneOr<&'a str>,
    json_body: NoneOr<Value<'v>>,
    form_body: NoneOr<Value<'v>>,
    timeout: UnpackFloat,
}

impl Default for HttpArguments<'_, '_> {
    fn default() -> Self {
        HttpArguments {
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

fn send<'v>(
    kind: &'static str,
    arguments: HttpArguments<'_, 'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let heap = eval.heap();
    let request = OutboundRequest {
        method: kind.trim_start_matches("http.").to_uppercase(),
        url: arguments.url.to_owned(),
        params: pairs("params", arguments.params, heap)?,
        headers: pairs("headers", arguments.headers, heap)?,
        auth: auth(arguments.auth, eval)?,
        body: body(arguments.body, arguments.json_body, arguments.form_body, eval)?,
        timeout: seconds("timeout", arguments.timeout)?,
    };
    let recorded = request.clone();
    let allowed = |permissions: &Permissions| http::check(&permissions.hosts, &recorded);
    perform_if(kind, &recorded, eval, allowed, |runtime| async move {
        http::perform(&runtime.host_io.http, &runtime.permissions().hosts, &request).await
    })
}

fn auth<'v>(pair: NoneOr<Value<'v>>, eval: &Evaluator<'v, '_, '_>) -> starlark::Result<Option<(String, String)>> {
    let Some(pair) = pair.into_option() else { return Ok(None) };
    match convert::to_json(pair, eval.heap())?.as_array().map(Vec::as_slice) {
        Some([Json::String(user), Json::String(password)]) => Ok(Some((user.clone(), password.clone()))),
        _ => Err(script_error("`auth` must be `(user, password)`")),
    }
}

fn body<'v>(
    text: NoneOr<&str>,
    json: NoneOr<Value<'v>>,
    form: NoneOr<Value<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<RequestBody> {
    match (text.into_option(), json.into_option(), form.into_option()) {
        (None, None, None) => Ok(RequestBody::None),
        (Some(text), None, None) => Ok(RequestBody::Text(text.to_owned())),
        (None, Some(value), None) => Ok(RequestBody::Json(convert::to_json(value, eval.heap())?)),
        (None, None, Some(form)) => Ok(RequestBody::Form(pairs("form_body", NoneOr::Other(form), eval.heap())?)),
        _ => Err(script_error("a request has one body: `body`, `json_body` or `form_body`")),
    }
}
