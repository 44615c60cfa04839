//! The constructors with which an extension describes itself: `Extension()`, `Tool()` and others.

mod check;
mod describe;
mod extras;
mod parameter;
mod prompt;
mod resource;
mod tool;

use starlark::environment::GlobalsBuilder;

const ALL: [fn(&mut GlobalsBuilder); 4] =
    [describe::register_extension, tool::register_tool, resource::register_resources, prompt::register_prompts];

pub(super) fn register(builder: &mut GlobalsBuilder) {
    ALL.iter().for_each(|register| register(builder));
}
