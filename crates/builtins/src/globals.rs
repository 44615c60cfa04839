//! The list of all built-ins.

use std::sync::LazyLock;

use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension};

use super::backends::backend::register_backends;
use super::code_mode::run_script::register_run_script;
use super::effects::{cached, elicit, elicit_url, log, marks, notify, parallel, rate_limits, roots, state};
use super::metadata::make::register_metadata;
use super::publish::{bind, carrier, functions, instructions, passthrough, skip, unchecked};
use super::pure::{attempt, base64, content, digest, fuzzy, json, math, redact, regex, results, time, tokens, url};
use super::search::index::register_search_index;
use super::session::{config, identity, profile};
use proxy_script::register_operators;

/// The extensions of starlark-rust that scripts get. `print` and `json` are replaced by built-ins of this crate.
const ENGINE: &[LibraryExtension] = &[
    LibraryExtension::StructType,
    LibraryExtension::RecordType,
    LibraryExtension::EnumType,
    LibraryExtension::SetType,
    LibraryExtension::Map,
    LibraryExtension::Filter,
    LibraryExtension::Partial,
    LibraryExtension::Typing,
];

/// Built-ins without effects.
const PURE: &[fn(&mut GlobalsBuilder)] = &[
    json::register_json,
    regex::register_re,
    math::register_math,
    fuzzy::register_fuzzy,
    base64::register_base64,
    url::register_url,
    time::register_time,
    redact::register_redact,
    digest::register_digest,
    tokens::register_tokens,
    results::register_results,
    attempt::register_attempt,
];

/// Built-ins for session scripts and extensions.
const COMMON: &[fn(&mut GlobalsBuilder)] = &[
    register_operators,
    log::register_log,
    notify::register_notify,
    identity::register_identity,
    elicit::register_elicit,
    elicit_url::register_elicit_url,
    roots::register_roots,
    parallel::register_parallel,
    cached::register_cached,
    rate_limits::register_rate_limits,
    state::register_state,
    marks::register_marks,
    content::register_content,
];

/// Built-ins for session scripts only.
const SESSION: &[fn(&mut GlobalsBuilder)] = &[
    register_backends,
    functions::register_publish,
    carrier::register_carrier,
    passthrough::register_passthrough,
    skip::register_skip,
    register_metadata,
    instructions::register_instructions,
    config::register_config,
    profile::register_profile,
    bind::register_bind,
    unchecked::register_unchecked,
    register_search_index,
    register_run_script,
];

/// The built-ins that both session scripts and extensions have.
pub fn common() -> GlobalsBuilder {
    let mut builder = pure();
    COMMON.iter().for_each(|register| register(&mut builder));
    builder
}

/// The built-ins without effects, for code-mode scripts.
pub fn pure() -> GlobalsBuilder {
    let mut builder = GlobalsBuilder::extended_by(ENGINE);
    PURE.iter().for_each(|register| register(&mut builder));
    builder
}

/// The globals of session scripts.
pub fn session() -> &'static Globals {
    static GLOBALS: LazyLock<Globals> = LazyLock::new(|| session_builder().build());
    &GLOBALS
}

/// The built-ins of session scripts, as a builder to which callers can add.
pub fn session_builder() -> GlobalsBuilder {
    let mut builder = common();
    SESSION.iter().for_each(|register| register(&mut builder));
    builder
}
