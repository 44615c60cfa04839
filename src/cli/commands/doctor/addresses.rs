//! Whether something listens at the address of each server with a `url`.

use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpStream;

use super::findings::Findings;
use crate::cli::failure::CommandFailure;
use crate::cli::{setup, table};
use proxy_config::Config;

const AREA: &str = "urls";
const LIMIT: Duration = Duration::from_secs(5);

pub(super) fn check(config: &Config, findings: &mut Findings) -> Result<(), CommandFailure> {
    let is_unread = |name: &str| config.unread.contains(&format!("mcpServers.{name}.url"));
    let usable = config
        .servers
        .iter()
        .filter(|(name, server)| !server.disabled && server.unset_variables.is_empty() && !is_unread(name));
    let addresses: Vec<(&String, String, u16)> = usable
        .filter_map(|(name, server)| {
            let address = server.transport.address()?;
            Some((name, address.host, address.port?))
        })
        .collect();
    if addresses.is_empty() {
        return Ok(());
    }
    let through_proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    if let Some(variable) =
        through_proxy.iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    {
        findings.ok(AREA, format!("not tried, because `{variable}` leads through another proxy"));
        return Ok(());
    }
    let tried = addresses.iter().map(|(_, host, port)| reach(host, *port));
    let answers = setup::runtime()?.block_on(join_all(tried));
    for ((name, host, port), answer) in addresses.iter().zip(answers) {
        if let Err(problem) = answer {
            let fix = "start the server there, correct `url`, or check the network";
            findings.broken_server(AREA, name, &format!(": {host}:{port} does not answer: {problem}"), fix);
        }
    }
    findings.ok_unless_found(AREA, format!("{} answer", table::count(addresses.len(), "host")));
    Ok(())
}

async fn reach(host: &str, port: u16) -> Result<(), String> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match tokio::time::timeout(LIMIT, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("nothing within {} s", LIMIT.as_secs())),
    }
}
