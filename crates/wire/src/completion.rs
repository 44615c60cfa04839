//! The params of `completion/complete`.

use crate::RpcError;
use proxy_json::{Object, Raw, RawRef};
use proxy_model::ItemKind;

/// The method.
pub const METHOD: &str = "completion/complete";

/// A request for completions, with the item that it is about.
pub struct CompletionParams<'a> {
    pub params: Object<'a>,
    pub reference: Object<'a>,
    pub kind: ItemKind,
    /// The member of `ref` that names the item.
    pub member: &'static str,
    /// The name of the prompt, or the URI template.
    pub key: String,
}

/// The argument to complete.
#[derive(Debug)]
pub struct CompletionArgument {
    pub name: String,
    /// What has been typed so far.
    pub value: String,
    /// The arguments that are already filled in: an object.
    pub context: Raw,
}

impl<'a> CompletionParams<'a> {
    pub fn read(params: &'a RawRef) -> Result<Self, RpcError> {
        let invalid = |reason: &str| RpcError::invalid_params(reason);
        let params = Object::of(params).map_err(|error| invalid(&error.to_string()))?;
        let reference = params.get("ref").ok_or_else(|| invalid("`ref` is missing"))?;
        let reference = Object::of(reference).map_err(|error| invalid(&error.to_string()))?;
        let (kind, member) = match reference.string("type").as_deref() {
            Some("ref/prompt") => (ItemKind::Prompt, "name"),
            Some("ref/resource") => (ItemKind::ResourceTemplate, "uri"),
            _ => return Err(invalid("`ref.type` must be `ref/prompt` or `ref/resource`")),
        };
        let key = reference.string(member).ok_or_else(|| invalid(&format!("`ref.{member}` is missing")))?;
        Ok(CompletionParams { params, reference, kind, member, key })
    }

    /// The argument to complete, for completions in this process. Forwarded requests are checked by the server.
    pub fn argument(&self) -> Result<CompletionArgument, RpcError> {
        let invalid = |reason: &str| RpcError::invalid_params(reason);
        let argument = self.params.get("argument").ok_or_else(|| invalid("`argument` is missing"))?;
        let argument = Object::of(argument).map_err(|error| invalid(&format!("`argument`: {error}")))?;
        let text = |member: &str| {
            argument.string(member).ok_or_else(|| invalid(&format!("`argument.{member}` is missing or not a string")))
        };
        let (name, value) = (text("name")?, text("value")?);
        Ok(CompletionArgument { name, value, context: self.context()?.to_owned() })
    }

    /// `context.arguments`.
    fn context(&self) -> Result<&'a RawRef, RpcError> {
        let Some(context) = self.params.get("context").filter(|context| context.get() != "null") else {
            return Ok(RawRef::EMPTY_OBJECT);
        };
        let invalid = |error: &dyn std::fmt::Display| RpcError::invalid_params(&format!("`context`: {error}"));
        let context = Object::of(context).map_err(|error| invalid(&error))?;
        let Some(arguments) = context.get("arguments").filter(|arguments| arguments.get() != "null") else {
            return Ok(RawRef::EMPTY_OBJECT);
        };
        Object::of(arguments).map_err(|error| invalid(&error))?;
        Ok(arguments)
    }
}
