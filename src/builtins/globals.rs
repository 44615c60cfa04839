//! All built-ins in one list.

use std::sync::LazyLock;

use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension};

use super::backends::backend::register_backends;
use super::code_mode::run_script::register_run_script;
use super::effects::{cached, elicit, log, parallel, rate_limits, state};
use super::metadata::make::register_metadata;
use super::publish::{bind, functions, instructions, passthrough};
use super::pure::{attempt, base64, digest, fuzzy, json, math, redact, regex, results, time, tokens, url};
use super::search::index::register_search_index;
use super::session::{config, identity};

/// Of the engine's own extensions those that are useful and harmless; `print` and `json` are ours.
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

/// What computes and does nothing else.
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

/// What every script can use beside that, extensions too.
const COMMON: &[fn(&mut GlobalsBuilder)] = &[
    log::register_log,
    identity::register_identity,
    elicit::register_elicit,
    parallel::register_parallel,
    cached::register_cached,
    rate_limits::register_rate_limits,
    state::register_state,
];

/// What only a session script can use.
const SESSION: &[fn(&mut GlobalsBuilder)] = &[
    register_backends,
    functions::register_publish,
    passthrough::register_passthrough,
    register_metadata,
    instructions::register_instructions,
    config::register_config,
    bind::register_bind,
    register_search_index,
    register_run_script,
];

/// A builder with what every script can use.
pub fn common() -> GlobalsBuilder {
    let mut builder = pure();
    COMMON.iter().for_each(|register| register(&mut builder));
    builder
}

/// What computes and does nothing else: for scripts that may do nothing else.
pub fn pure() -> GlobalsBuilder {
    let mut builder = GlobalsBuilder::extended_by(ENGINE);
    PURE.iter().for_each(|register| register(&mut builder));
    builder
}

/// The names a session script knows.
pub fn session() -> &'static Globals {
    static GLOBALS: LazyLock<Globals> = LazyLock::new(|| session_builder().build());
    &GLOBALS
}

/// A builder with what session scripts can use, for those who add to it.
pub fn session_builder() -> GlobalsBuilder {
    let mut builder = common();
    SESSION.iter().for_each(|register| register(&mut builder));
    builder
}
