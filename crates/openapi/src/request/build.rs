//! Puts the parts of a request together.

use std::collections::HashSet;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, Method};
use proxy_json::{Object, Raw, RawRef};
use serde_json::Value;
use url::Url;

use super::files::file;
use super::form;
use super::multipart::Multipart;
use super::path::{PathValue, path};
use super::percent::{encoded, encoded_query, encoded_where_needed};
use super::style::{expanded, pairs, text};
use crate::operation::{Argument, BodyPlan, Media, ParameterPlace, PathTemplate, Target};

/// A request that is ready to be sent to the API, wherever that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRequest {
    pub method: Method,
    /// Begins with `/`; encoded.
    pub path: String,
    /// Encoded, without the `?`; empty if there is none.
    pub query: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Option<Vec<u8>>,
}

impl ApiRequest {
    /// The address of the request at an API with this base URL. Its path precedes that of the request, and its query is sent
    /// with every request.
    pub fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        url.set_fragment(None);
        url.set_path(&format!("{}{}", base.path().trim_end_matches('/'), self.path));
        let queries: Vec<&str> =
            [base.query().unwrap_or_default(), &self.query].into_iter().filter(|query| !query.is_empty()).collect();
        url.set_query(if queries.is_empty() { None } else { Some(queries.join("&")) }.as_deref());
        url
    }
}

/// What is known of an operation when it is called.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) template: PathTemplate,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) body: Option<BodyPlan>,
    /// The value of the header `Accept`.
    pub(crate) accept: HeaderValue,
    pub(crate) taken: Arc<TakenNames>,
}

/// The names that the config sets or that are credentials. The keys of an argument must not name them.
#[derive(Debug, Default)]
pub(crate) struct TakenNames {
    pub(crate) query: HashSet<String>,
    pub(crate) cookies: HashSet<String>,
}

impl Plan {
    /// Checks that these pairs of an argument name no other parameter and no credential: the keys of an object stand beside
    /// the names of parameters.
    fn check_names(&self, pairs: &[String], argument: &Argument) -> Result<(), String> {
        let Target::Parameter { name: own, place, .. } = &argument.target else { return Ok(()) };
        let taken = if *place == ParameterPlace::Cookie { &self.taken.cookies } else { &self.taken.query };
        let others = self.arguments.iter().filter_map(|other| match &other.target {
            Target::Parameter { name, place: there, .. } if there == place && name != own => Some(name.as_str()),
            _ => None,
        });
        let in_template = url::form_urlencoded::parse(self.template.query.as_bytes());
        let in_template: Vec<String> = in_template.map(|(name, _)| name.into_owned()).collect();
        let mut reserved = others.chain(taken.iter().chain(&in_template).map(String::as_str));
        let own = encoded(own);
        let is_other = |pair: &str| pair.split('=').next().is_some_and(|name| name != own);
        let named =
            |name: &str| pairs.iter().any(|pair| is_other(pair) && pair.split('=').next() == Some(&encoded(name)));
        match reserved.find(|name| named(name)) {
            None => Ok(()),
            Some(name) => Err(format!(
                "the argument `{}` must not have the key `{name}`, which is another parameter or a credential",
                argument.name
            )),
        }
    }
}

/// The parts of a body, in the order of the arguments.
#[derive(Default)]
struct Members<'a> {
    /// Names of arguments, names of members, and values.
    list: Vec<(&'a str, &'a str, &'a RawRef)>,
    /// The names of all members that the body may have.
    fields: Vec<&'a String>,
    whole: Option<(&'a str, &'a RawRef)>,
}

/// Makes the request for these arguments, a JSON object. Fails with a text for the caller.
pub(crate) fn build(plan: &Plan, arguments: &RawRef) -> Result<ApiRequest, String> {
    let given = Object::of(arguments).map_err(|error| format!("invalid arguments: {error}"))?;
    let mut path_values = Vec::new();
    let mut query: Vec<String> = Vec::new();
    let mut headers = vec![(http::header::ACCEPT, plan.accept.clone())];
    let mut cookies: Vec<String> = Vec::new();
    let fields = plan.arguments.iter().filter_map(|argument| match &argument.target {
        Target::Member(name) => Some(name),
        _ => None,
    });
    let mut members = Members { fields: fields.collect(), ..Members::default() };
    if !plan.template.query.is_empty() {
        query.push(encoded_query(&plan.template.query));
    }
    for argument in &plan.arguments {
        let name = argument.name.as_str();
        let Some(raw) = given.get(name) else {
            if argument.required {
                return Err(format!("missing argument `{name}`"));
            }
            continue;
        };
        let (name_there, place, style, explode, allow_reserved, is_json) = match &argument.target {
            Target::Body => {
                members.whole = Some((name, raw));
                continue;
            }
            Target::Member(member) => {
                members.list.push((name, member, raw));
                continue;
            }
            Target::Parameter { name, place, style, explode, allow_reserved, is_json } => {
                (name.as_str(), *place, *style, *explode, *allow_reserved, *is_json)
            }
        };
        let value = parsed(raw)?;
        if place == ParameterPlace::Path {
            path_values.push(PathValue { argument: name, name: name_there, value, style, explode, is_json });
            continue;
        }
        // As if it were not given.
        if value.is_null() {
            continue;
        }
        // The text of JSON is one value.
        let value = if is_json { Value::String(raw.get().to_owned()) } else { value };
        let leaves_reserved = allow_reserved && place == ParameterPlace::Query;
        let encode = |text: &str| if leaves_reserved { encoded_where_needed(text) } else { encoded(text) };
        match place {
            ParameterPlace::Query | ParameterPlace::Cookie => {
                let pairs = pairs(name_there, &value, style, explode, &encode);
                plan.check_names(&pairs, argument)?;
                if place == ParameterPlace::Query { query.extend(pairs) } else { cookies.extend(pairs) }
            }
            _ => headers.push(header(name, name_there, &expanded(name_there, &value, style, explode, &str::to_owned))?),
        }
    }
    let path = path(&plan.template, &path_values)?;
    let is_known = |name: &str| plan.arguments.iter().any(|argument| argument.name == name);
    for (name, raw) in given.iter().filter(|(name, _)| !is_known(name)) {
        // A member whose argument has another name must not get there twice.
        let is_member = plan.arguments.iter().any(|argument| argument.target == Target::Member(name.to_owned()));
        if is_member || !plan.body.as_ref().is_some_and(|body| body.is_open) {
            return Err(unknown_argument(name, &plan.arguments));
        }
        members.list.push((name, name, raw));
    }
    if !cookies.is_empty() {
        headers.push(header("cookie", "cookie", &cookies.join("; "))?);
    }
    let mut body = None;
    if let Some(plan) = &plan.body
        && let Some((content_type, bytes)) = members.encoded(plan)?
    {
        headers.push((http::header::CONTENT_TYPE, header("body", "content-type", &content_type)?.1));
        body = Some(bytes);
    }
    Ok(ApiRequest { method: plan.method.clone(), path, query: query.join("&"), headers, body })
}

fn parsed(raw: &RawRef) -> Result<Value, String> {
    serde_json::from_str(raw.get()).map_err(|error| format!("invalid arguments: {error}"))
}

fn header(argument: &str, name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let is_plain = value.bytes().all(|byte| (b' '..0x7f).contains(&byte) || byte == b'\t');
    let name = HeaderName::from_bytes(name.as_bytes());
    match (name, HeaderValue::from_str(value)) {
        (Ok(name), Ok(value)) if is_plain => Ok((name, value)),
        _ => Err(format!(
            "the argument `{argument}` is sent as a header, which can only hold printable ASCII characters"
        )),
    }
}

fn unknown_argument(name: &str, arguments: &[Argument]) -> String {
    if arguments.is_empty() {
        return format!("unknown argument `{name}`: this tool has no arguments");
    }
    let known: Vec<String> = arguments.iter().take(50).map(|argument| format!("`{}`", argument.name)).collect();
    format!("unknown argument `{name}`; the arguments of this tool are {}", known.join(", "))
}

impl Members<'_> {
    /// The content type and the bytes of the body; `None` if there is none.
    fn encoded(&self, plan: &BodyPlan) -> Result<Option<(String, Vec<u8>)>, String> {
        let content_type = plan.content_type.clone();
        if let Some((argument, raw)) = self.whole {
            return whole(plan, argument, raw).map(Some);
        }
        if self.list.is_empty() && !plan.required {
            return Ok(None);
        }
        match plan.media {
            Media::Json => {
                let members = self.list.iter().map(|(_, name, raw)| (*name, *raw));
                let body: Raw = proxy_json::object(members);
                Ok(Some((content_type, body.get().as_bytes().to_vec())))
            }
            Media::Form => {
                let mut pairs = Vec::new();
                for (argument, name, raw) in &self.list {
                    let own = form::member(name, &parsed(raw)?, plan.fields.get(*name));
                    self.check_fields(&own, argument, name)?;
                    pairs.extend(own);
                }
                Ok(Some((content_type, pairs.join("&").into_bytes())))
            }
            Media::Multipart => {
                let mut form = Multipart::default();
                for (argument, name, raw) in &self.list {
                    form.add(argument, name, &parsed(raw)?, plan.fields.get(*name))?;
                }
                Ok(Some(form.finish()))
            }
            // These have no members.
            Media::Text | Media::Bytes => Ok(None),
        }
    }
}

impl Members<'_> {
    /// Checks that the keys of an argument are not the names of other fields of the form.
    fn check_fields(&self, pairs: &[String], argument: &str, own: &str) -> Result<(), String> {
        let others = self.fields.iter().filter(|field| field.as_str() != own);
        let mut others = others.map(|field| (field, encoded(field)));
        let named = others.find(|(_, encoded)| pairs.iter().any(|pair| pair.split('=').next() == Some(encoded)));
        match named {
            None => Ok(()),
            Some((name, _)) => {
                Err(format!("the argument `{argument}` must not have the key `{name}`, which is another field"))
            }
        }
    }
}

/// A body that is one argument.
fn whole(plan: &BodyPlan, argument: &str, raw: &RawRef) -> Result<(String, Vec<u8>), String> {
    let content_type = plan.content_type.clone();
    let members = |value: Value| match value {
        Value::Object(members) => Ok(members),
        _ => Err(format!("the argument `{argument}` must be an object: it is sent as a form")),
    };
    match plan.media {
        Media::Json => Ok((content_type, raw.get().as_bytes().to_vec())),
        Media::Text => match parsed(raw)? {
            Value::Object(_) | Value::Array(_) => {
                Err(format!("the argument `{argument}` must be a string: the text of the body, as {content_type}"))
            }
            value => Ok((content_type, text(&value).into_bytes())),
        },
        Media::Bytes => {
            let file = file(argument, &parsed(raw)?)?;
            Ok((file.content_type.unwrap_or(content_type), file.bytes))
        }
        Media::Form => {
            let members = members(parsed(raw)?)?;
            let pairs = members.iter().flat_map(|(name, value)| form::member(name, value, plan.fields.get(name)));
            Ok((content_type, pairs.collect::<Vec<_>>().join("&").into_bytes()))
        }
        Media::Multipart => {
            let mut form = Multipart::default();
            for (name, value) in members(parsed(raw)?)? {
                form.add(argument, &name, &value, plan.fields.get(&name))?;
            }
            Ok(form.finish())
        }
    }
}
