//! Values that the config takes from files, from systemd's credentials and from commands.

mod bad_commands;
mod bad_files;
mod idle;
mod reloading;
mod values;

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// A server that tells its environment, with this value in a variable.
fn with_value(value: &str) -> Config {
    Config::new().server_with("fake", &fake_backend(["--only", "env"]), json!({"env": {"KEY": value}}))
}

/// The program `get` beside the config, which the value names, as a shell script.
fn with_program(script: &str) -> Proxy {
    Proxy::new(&with_value("${exec:./get}")).executable("get", &format!("#!/bin/sh\n{script}\n"))
}

/// A file that only its owner may write and read.
fn private(proxy: Proxy, name: &str, bytes: &[u8]) -> Proxy {
    let path = proxy.directory.write(name, "");
    std::fs::write(&path, bytes).expect("it is ours");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    proxy
}
