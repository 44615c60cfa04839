//! The constructor `Extension()`.
#![expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]

use std::collections::HashSet;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::list::{AllocList, UnpackList};
use starlark::values::none::NoneOr;
use starlark::values::{Value, ValueLike};

use super::{check, extras};
use crate::extension::Permissions;
use crate::extension::executable::bind;
use crate::extension::values::{Described, ExtensionData, Item, ItemData};
use proxy_host_io::Hosts;
use proxy_model::ItemKind;
use proxy_script::script_error;

#[starlark_module]
pub fn register_extension(builder: &mut GlobalsBuilder) {
    /// Describes the extension's items and permissions; `describe_extension()` returns it.
    ///
    /// Commands, private addresses and files outside the extension's folder are forbidden unless `allowed_exec`,
    /// `allowed_hosts` and `allowed_paths` list them (`"@roots"` in `allowed_paths` means the client's folders). All
    /// environment variables and public hosts are allowed, unless `allowed_env` and `allowed_hosts` restrict them.
    ///
    /// ```python
    /// def add(params):
    ///     return {"sum": params["a"] + params["b"]}
    ///
    /// def describe_extension():
    ///     number = lambda name: ToolParameter(name = name, param_type = "number", required = True)
    ///     return Extension(
    ///         name = "sums",
    ///         version = "1.0.0",
    ///         tools = [Tool(name = "add", description = "Adds two numbers.", handler = add, parameters = [number("a"), number("b")])],
    ///     )
    /// ```
    fn Extension<'v>(
        name: &str,
        version: &str,
        #[starlark(default = "")] description: &str,
        #[starlark(default = NoneOr::None)] tools: NoneOr<UnpackList<Value<'v>>>,
        #[starlark(default = NoneOr::None)] resources: NoneOr<UnpackList<Value<'v>>>,
        #[starlark(default = NoneOr::None)] prompts: NoneOr<UnpackList<Value<'v>>>,
        #[starlark(default = NoneOr::None)] allowed_exec: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] allowed_hosts: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] allowed_env: NoneOr<Value<'v>>,
        #[starlark(default = NoneOr::None)] allowed_paths: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Described<'v>> {
        check::name("extension", name)?;
        let heap = eval.heap();
        let hosts = check::texts("allowed_hosts", allowed_hosts, heap)?;
        let permissions = Permissions {
            exec: check::texts("allowed_exec", allowed_exec, heap)?.unwrap_or_default(),
            hosts: Hosts::parse(hosts.as_deref()).map_err(script_error)?,
            env: check::texts("allowed_env", allowed_env, heap)?,
            paths: check::texts("allowed_paths", allowed_paths, heap)?.unwrap_or_default(),
        };
        let mut items = Vec::new();
        for (list, values) in [(ItemList::Tools, tools), (ItemList::Resources, resources), (ItemList::Prompts, prompts)]
        {
            items.extend(
                values
                    .into_option()
                    .map(|values| values.items)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|item| (list, item)),
            );
        }
        check_items(&items)?;
        for (_, item) in &mut items {
            *item = bind(*item, &permissions, heap)?;
        }
        let data =
            ExtensionData { name: name.into(), version: version.into(), description: description.into(), permissions };
        let items = heap.alloc(AllocList(items.into_iter().map(|(_, item)| item)));
        Ok(Described { data: heap.alloc(data), items })
    }
}

#[derive(Clone, Copy)]
enum ItemList {
    Tools,
    Resources,
    Prompts,
}

impl ItemList {
    fn holds(self, kind: ItemKind) -> bool {
        match self {
            ItemList::Tools => kind == ItemKind::Tool,
            ItemList::Resources => matches!(kind, ItemKind::Resource | ItemKind::ResourceTemplate),
            ItemList::Prompts => kind == ItemKind::Prompt,
        }
    }

    fn requirement(self) -> &'static str {
        match self {
            ItemList::Tools => "`tools` must hold Tool(...) only",
            ItemList::Resources => "`resources` must hold Resource(...) and ResourceTemplate(...) only",
            ItemList::Prompts => "`prompts` must hold Prompt(...) only",
        }
    }
}

fn check_items(items: &[(ItemList, Value<'_>)]) -> starlark::Result<()> {
    let (mut known, mut checked) = (HashSet::new(), Vec::new());
    for (list, value) in items {
        let data = Item::from_value(*value).and_then(|item| item.data.to_value().downcast_ref::<ItemData>());
        let Some(data) = data.filter(|data| list.holds(data.kind)) else {
            return Err(script_error(format!("{}, not a `{}`", list.requirement(), type_of(*value))));
        };
        let (kind, key) = (data.kind, data.definition.key());
        if !known.insert((kind, key)) {
            return Err(script_error(format!("the extension has two {}s `{key}`", kind.noun())));
        }
        checked.push(data);
    }
    Ok(extras::check_interfaces(&checked)?)
}

/// The type of a value: the noun of an item, or the Starlark type.
fn type_of(value: Value<'_>) -> String {
    let data = Item::from_value(value).and_then(|item| item.data.to_value().downcast_ref::<ItemData>());
    data.map_or_else(|| value.get_type().to_owned(), |data| data.kind.noun().to_owned())
}
