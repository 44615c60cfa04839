//! The names a test knows: those of session scripts and of extensions, because it loads either, and `testing`.

use std::sync::LazyLock;

use starlark::environment::Globals;

use super::assertions::register_assertions;
use crate::{builtins, extension};

pub fn globals() -> &'static Globals {
    static GLOBALS: LazyLock<Globals> = LazyLock::new(|| {
        let mut builder = builtins::session_builder();
        extension::register(&mut builder);
        builder.namespace("testing", register_assertions);
        builder.build()
    });
    &GLOBALS
}
