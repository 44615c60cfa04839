//! Binds a `command()` to the item that it handles, while the extension is being loaded.

use serde_json::{Map, Value as Json};
use starlark::values::list::ListRef;
use starlark::values::{Heap, OwnedFrozenValue, Value, ValueLike};

use super::handler::CommandHandler;
use crate::extension::Permissions;
use crate::extension::runtime::ExtensionRuntime;
use crate::extension::values::{FrozenDescribed, FrozenItem, Item, ItemData};
use proxy_base::diagnostic::nearest;
use proxy_host_io::command;
use proxy_model::ItemKind;
use proxy_script::{LogLevel, LogLine, ScriptError, script_error};

/// The item with its command, which must be declared and name only arguments that the item has. Other items stay as they
/// are.
pub(in crate::extension) fn bind<'v>(
    value: Value<'v>,
    permissions: &Permissions,
    heap: Heap<'v>,
) -> starlark::Result<Value<'v>> {
    let Some(item) = Item::from_value(value) else { return Ok(value) };
    let (Some(handler), Some(data)) =
        (item.handler.downcast_ref::<CommandHandler>(), item.data.downcast_ref::<ItemData>())
    else {
        return Ok(value);
    };
    command::check(&handler.spec.command, &permissions.exec).map_err(script_error)?;
    for name in handler.spec.placeholders() {
        check_placeholder(name, data)?;
    }
    let handler = CommandHandler { kind: Some(data.kind), ..handler.clone() };
    Ok(heap.alloc(Item { data: item.data, handler: heap.alloc(handler), complete: item.complete }))
}

fn check_placeholder(name: &str, data: &ItemData) -> Result<(), ScriptError> {
    let known: Vec<String> = match data.kind {
        ItemKind::Tool => {
            match data.definition.member("inputSchema").as_ref().and_then(|schema| schema.get("properties")) {
                Some(Json::Object(properties)) => properties.keys().cloned().collect(),
                // A schema may accept any arguments.
                _ => return Ok(()),
            }
        }
        ItemKind::Prompt => argument_names(data.definition.member("arguments")),
        ItemKind::Resource => vec!["uri".to_owned()],
        ItemKind::ResourceTemplate => {
            let is_part = |letter: char| letter.is_alphanumeric() || "_.".contains(letter);
            let words = data.definition.key().split(|letter| !is_part(letter));
            words.filter(|word| !word.is_empty()).chain(["uri"]).map(str::to_owned).collect()
        }
    };
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    let error =
        ScriptError::new(format!("the {} `{}` has no argument `{name}`", data.kind.noun(), data.definition.key()));
    Err(match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{{{near}}}`?")),
        None => error.hint(format!("`{{{name}}}` in command() is replaced by the argument `{name}`")),
    })
}

fn argument_names(arguments: Option<Json>) -> Vec<String> {
    let Some(Json::Array(arguments)) = arguments else { return Vec::new() };
    arguments.iter().filter_map(|argument| argument["name"].as_str()).map(str::to_owned).collect()
}

/// A warning for each command that cannot be run now. Not an error, because the file may be created later.
pub(in crate::extension) fn warnings(described: &OwnedFrozenValue, runtime: &ExtensionRuntime) -> Vec<LogLine> {
    let mut warnings = Vec::new();
    // `map` gives access to the frozen value without unsafe code.
    described.map(|value| {
        let items =
            value.downcast_ref::<FrozenDescribed>().and_then(|extension| ListRef::from_frozen_value(extension.items));
        for item in items.into_iter().flat_map(|list| list.iter()) {
            let Some(item) = item.unpack_frozen().and_then(|item| item.downcast_ref::<FrozenItem>()) else { continue };
            let Some(handler) = item.handler.downcast_ref::<CommandHandler>() else { continue };
            let found = command::find_executable(&handler.spec.command, &runtime.host_io, runtime.folder());
            if let Err(problem) = found {
                warnings.push(LogLine {
                    level: LogLevel::Warning,
                    message: format!("{}: {problem}", item.data.to_value()),
                    fields: Map::new(),
                });
            }
        }
        value
    });
    warnings
}
