//! The constructors with which an extension describes itself: `Extension()`, `Tool()` and others.

mod check;
mod describe;
mod extras;
mod parameter;
mod prompt;
mod resource;
mod tool;
mod values;

use starlark::environment::GlobalsBuilder;

pub(super) use values::{ExtensionData, FrozenDescribed, FrozenItem, Item, ItemData};

const ALL: [fn(&mut GlobalsBuilder); 4] =
    [describe::register_extension, tool::register_tool, resource::register_resources, prompt::register_prompts];

pub(super) fn register(builder: &mut GlobalsBuilder) {
    ALL.iter().for_each(|register| register(builder));
}
