//! Whether `proxy serve --http` can listen.

use std::io::ErrorKind;
use std::net::TcpListener;

use super::findings::Findings;
use proxy_config::{Config, Serve};
use proxy_model::operator_api::ProxyStatus;

const AREA: &str = "ports";

pub(super) fn check(config: &Config, running: &[ProxyStatus], findings: &mut Findings) {
    let address = config.serve.http.as_str();
    let port = address.rsplit(':').next().unwrap_or_default();
    let is_ours = |proxy: &&ProxyStatus| {
        let listening = proxy.address.as_deref().unwrap_or_default();
        let listening = listening.trim_start_matches("http://").split('/').next().unwrap_or_default();
        listening.rsplit(':').next() == Some(port)
    };
    if let Some(proxy) = running.iter().find(is_ours) {
        findings.ok(AREA, format!("{address} is served by the running proxy {}", proxy.pid));
        return;
    }
    let Err(error) = TcpListener::bind(address) else {
        findings.ok(AREA, format!("{address} is free for `proxy serve --http`"));
        return;
    };
    let problem = format!("`proxy serve --http` cannot listen at {address}: {error}");
    let fix = match error.kind() {
        ErrorKind::AddrInUse => "stop the program that uses the port, or set another one in `serve.http`",
        ErrorKind::PermissionDenied => "set a port above 1023 in `serve.http`, or give the program the right to use it",
        _ => "set an address of this machine in `serve.http`",
    };
    // Who serves on stdio does not need it.
    if address == Serve::default().http {
        findings.warning(AREA, problem, fix);
    } else {
        findings.broken(AREA, problem, fix);
    }
}
