//! The globals of test files: those of session scripts and of extensions, because tests load both, and `testing`.

use std::sync::LazyLock;

use starlark::docs::DocType;
use starlark::environment::{Globals, GlobalsBuilder};

use super::assertions::register_assertions;
use super::backends::register_backends;
use super::mocks::register_mocks;
use super::session::register_session;
use super::{mocks, session_value};
use proxy_builtins as builtins;
use proxy_engine::extension;

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
    [register_assertions, register_backends, register_session, register_mocks]
        .iter()
        .for_each(|register| register(builder));
}

/// The value types that have methods, for the reference.
pub fn types() -> [(&'static str, DocType); 2] {
    [("test_session", session_value::documented()), ("mock", mocks::documented())]
}
