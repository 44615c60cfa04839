//! What people install: packages, services, containers and the script that downloads an archive.

mod build;
mod ci;
mod debian_scripts;
mod first_process;
mod install_script;
mod npm;
mod plugin;
mod service;
mod service_command;
mod trials;
mod units;
mod versions;

use std::path::{Path, PathBuf};

/// A file of the checkout.
fn in_checkout(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}
