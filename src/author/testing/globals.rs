//! The names a test knows: those of session scripts and of extensions, because it loads either, and `testing`.

use std::sync::LazyLock;

use starlark::docs::DocType;
use starlark::environment::{Globals, GlobalsBuilder};

use super::assertions::register_assertions;
use super::offered::register_offered;
use super::session_make::register_session;
use super::world_builtins::register_world;
use super::{session_value, world_builtins};
use crate::{builtins, extension};

pub fn globals() -> &'static Globals {
    static GLOBALS: LazyLock<Globals> = LazyLock::new(|| {
        let mut builder = builtins::session_builder();
        extension::register(&mut builder);
        builder.namespace("testing", register);
        builder.build()
    });
    &GLOBALS
}

/// The members of `testing`.
fn register(builder: &mut GlobalsBuilder) {
    [register_assertions, register_offered, register_session, register_world].iter().for_each(|part| part(builder));
}

/// The types with members of their own, for the reference.
pub fn types() -> [(&'static str, DocType); 2] {
    [("test_session", session_value::documented()), ("stand_in", world_builtins::documented())]
}
