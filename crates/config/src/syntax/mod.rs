//! The syntax of config files: YAML or JSON as a tree with positions, variables, units, and a typed reader that
//! collects every error.

pub(super) mod document;
pub(super) mod dotenv;
pub(super) mod mask;
mod merge;
pub(super) mod reader;
pub(super) mod sources;
pub(super) mod stand_ins;
pub(super) mod substitute;
pub(super) mod tree;
pub(super) mod units;
pub(super) mod variable_lookup;
pub(super) mod words;
pub(super) mod yaml_value;
