//! `complete = {"argument": function}`: the functions that complete the arguments of a prompt, or the variables of a
//! resource template. Session scripts and extensions share them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use starlark::values::dict::{DictRef, FrozenDictRef};
use starlark::values::{FrozenValue, OwnedFrozenValue, Value};

use proxy_base::diagnostic::{Diagnostic, nearest};
use proxy_json::{Raw, quote, raw};
use proxy_model::{Definition, ItemKind, UriTemplate, shaped_completion};
use proxy_script::{CallSite, Failure, Function, Host, Limits, ScriptError};
use proxy_wire::{CompletionArgument, RpcError};

/// How long a function may wait for others: a person waits for the values while typing.
const TIME_TO_WAIT: Duration = Duration::from_secs(2);

/// The functions by the name of the argument that they complete. Cheap to clone.
#[derive(Clone)]
pub struct Completers {
    functions: Arc<IndexMap<String, Function>>,
    /// Where the item was described.
    site: Option<CallSite>,
}

impl Completers {
    /// The functions of a frozen dict that was checked by [`check_complete`]; `None` if there are none. `owner` keeps them
    /// alive, `world` is the shared state of their built-ins.
    pub fn of(
        dict: FrozenValue,
        owner: &OwnedFrozenValue,
        world: &Arc<dyn Any + Send + Sync>,
        site: Option<CallSite>,
    ) -> Option<Self> {
        let dict = FrozenDictRef::from_frozen_value(dict)?;
        let function = |(name, function): (FrozenValue, FrozenValue)| {
            let name = name.to_value().unpack_str()?.to_owned();
            Some((name, Function::new(owner.map(|_| function), Arc::clone(world))))
        };
        let functions: IndexMap<String, Function> = dict.iter().filter_map(function).collect();
        (!functions.is_empty()).then(|| Completers { functions: Arc::new(functions), site })
    }

    pub fn completes(&self, argument: &str) -> bool {
        self.functions.contains_key(argument)
    }

    /// Runs the function of an argument on this thread; `None` if nothing completes it.
    pub fn complete(&self, argument: &CompletionArgument, host: &Host) -> Option<Result<Raw, Failure>> {
        let function = self.functions.get(&argument.name)?;
        let host = Arc::new(host.with_time_to_wait(TIME_TO_WAIT));
        let returned = function.call_with([&raw(&argument.value), &argument.context], host, &Limits::COMPLETION);
        Some(returned.and_then(|returned| {
            shaped_completion(returned).map_err(|problem| self.wrong(&argument.name, function, &problem))
        }))
    }

    fn wrong(&self, argument: &str, function: &Function, problem: &str) -> Failure {
        let line = self.site.as_ref().and_then(CallSite::line);
        let at = line.map(|line| format!(" ({})", line.short())).unwrap_or_default();
        let name = function.name();
        let error = Diagnostic::error(format!("`{name}`, which completes `{argument}`{at}, {problem}"))
            .hint("return a list of matching values: `return [name for name in NAMES if name.startswith(value)]`");
        match &self.site {
            Some(site) => error.note(format!("`complete` is set at {site}")).into(),
            None => error.into(),
        }
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Completers").field(&self.functions.keys().collect::<Vec<_>>()).finish()
    }
}

/// The arguments of a prompt or the variables of a template, which can be completed.
pub fn completable_names(kind: ItemKind, definition: &Definition) -> Vec<String> {
    match kind {
        ItemKind::Prompt => {
            let arguments = definition.member("arguments").unwrap_or_default();
            let names = arguments.as_array().into_iter().flatten().filter_map(|argument| argument["name"].as_str());
            names.map(str::to_owned).collect()
        }
        ItemKind::ResourceTemplate => {
            UriTemplate::parse(definition.key()).map(|template| template.names().to_vec()).unwrap_or_default()
        }
        ItemKind::Tool | ItemKind::Resource => Vec::new(),
    }
}

/// The answer to a client that asks for completions of an argument that the item does not have.
pub fn unknown_argument(kind: ItemKind, key: &str, argument: &str) -> RpcError {
    let what = if kind == ItemKind::Prompt { "argument" } else { "variable" };
    RpcError::invalid_params(&format!("the {} `{key}` has no {what} `{argument}`", kind.noun()))
}

/// Checks that `complete` of a prompt or template is a dict from its arguments to functions of two arguments.
pub fn check_complete(kind: ItemKind, definition: &Definition, complete: Value<'_>) -> Result<(), ScriptError> {
    let (noun, key) = (kind.noun(), definition.key());
    let example = "`complete = {\"city\": complete_city}` with `def complete_city(value, context): ...`";
    let entries = DictRef::from_value(complete).ok_or_else(|| {
        let actual = complete.get_type();
        ScriptError::new(format!("`complete` of the {noun} `{key}` must be a dict, not a `{actual}`")).hint(example)
    })?;
    let names = completable_names(kind, definition);
    let what = if kind == ItemKind::Prompt { "argument" } else { "variable" };
    for (name, function) in entries.iter() {
        let Some(name) = name.unpack_str() else {
            let error = format!("`complete` of the {noun} `{key}` has a key that is not a string: {name}");
            return Err(ScriptError::new(error).hint(example));
        };
        if !names.iter().any(|known| known == name) {
            let error = ScriptError::new(format!("the {noun} `{key}` has no {what} {} to complete", quote(name)));
            return Err(match nearest(name, names.iter().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if names.is_empty() => error.hint(format!("it has no {what}s")),
                None => error.hint(format!("its {what}s are {}", names.join(", "))),
            });
        }
        let takes_two = function.parameters_spec().is_none_or(|parameters| parameters.can_fill_with_args(2, &[]));
        if function.get_type() != "function" || !takes_two {
            return Err(ScriptError::new(format!(
                "the completion of `{name}` for the {noun} `{key}` is not a function with two arguments"
            ))
            .hint("it takes the typed text and a dict with the other arguments: `def complete(value, context): ...`"));
        }
    }
    Ok(())
}
