//! Where few files may be open: idle clients take none from others, and servers keep the limit that they know.

#![cfg(target_os = "linux")]

use tokio::net::TcpStream;

use crate::support::config::Config;
use crate::support::programs::{self, fake_backend};
use crate::support::proxy::Proxy;

/// A proxy that is started with these limits of open files.
fn limited(soft: usize, hard: usize) -> Proxy {
    let program = programs::proxy();
    let program = program.get_program().to_string_lossy();
    let config = Config::new().server("fake", &fake_backend(["--era", "legacy", "--only", "echo,pid,crash"]));
    Proxy::new(&config).stand_in(&format!("ulimit -Sn {soft}; ulimit -Hn {hard}; exec '{program}' \"$@\"\n"))
}

/// The soft limit of a process.
fn open_files(process: u32) -> usize {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).expect("it runs");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).expect("the kernel knows");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("it is a number")
}

#[tokio::test]
async fn the_proxy_uses_the_hard_limit_and_servers_keep_the_soft_one() {
    let proxy = limited(300, 2000).http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    let server = client.call("pid", "{}").await.value()["result"]["structuredContent"]["pid"].as_u64();
    let server = u32::try_from(server.expect("it tells its id")).expect("it is one");
    assert_eq!((open_files(proxy.program.id()), open_files(server)), (2000, 300));
}

#[tokio::test]
async fn idle_sockets_keep_neither_clients_nor_servers_out() {
    let proxy = limited(256, 256).http().await;
    let mut client = proxy.client();
    client.initialize("2025-11-25").await.result();
    let mut idle = Vec::new();
    for _ in 0..600 {
        idle.push(TcpStream::connect(client.host()).await.expect("the listener accepts"));
    }
    client.call("echo", "{}").await.result();
    client.call("crash", "{}").await;
    // A new process needs descriptors, too.
    while client.call("echo", "{}").await.value()["result"]["isError"] == true {
        tokio::task::yield_now().await;
    }
    drop(idle);
}
