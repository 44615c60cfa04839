//! The command line as a person types it: output, exit codes, and what is said when something is wrong.

mod asking;
mod call;
mod check;
mod completions;
mod doctor;
mod environment;
mod exec;
mod explain;
mod foreign_text;
mod help;
mod honest_words;
mod importing;
mod init;
mod install;
mod last_known;
mod listing;
mod log;
mod log_lines;
mod reading;
pub mod running;
mod screens;
mod secrets;
mod serve;
mod several_files;
mod tokens;
mod typed_clients;
mod types;
mod watching;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// Two servers that share the name `search`.
fn two_servers() -> Config {
    Config::new()
        .server("one", &fake_backend(["--only", "echo,search,fail,rpc_error,slow"]))
        .server("two", &fake_backend(["--only", "search,read"]))
}

fn world() -> Proxy {
    Proxy::new(&two_servers())
}

/// A place without a config file.
fn empty() -> Proxy {
    let proxy = Proxy::with_config_text("");
    std::fs::remove_file(proxy.directory.path().join("proxy.yaml")).expect("it was just written");
    proxy
}
