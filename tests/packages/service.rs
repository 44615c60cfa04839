//! The proxy as a service of systemd: what it tells the service manager, and when.

use std::path::PathBuf;
use std::time::Duration;

use tokio::net::UnixDatagram;

use crate::support::config::Config;
use crate::support::patience::within;
use crate::support::program::Program;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;
use crate::support::stderr_log::StderrLog;
use crate::support::temp_dir::TempDir;

/// The end of the socket that systemd has.
struct ServiceManager {
    folder: TempDir,
    receiver: UnixDatagram,
}

impl ServiceManager {
    fn new() -> Self {
        let folder = TempDir::new();
        let receiver = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
        Self { folder, receiver }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("notify")
    }

    /// The next datagram.
    async fn next(&self, log: &StderrLog) -> String {
        let mut buffer = [0; 256];
        let length = within("a datagram", log, self.receiver.recv(&mut buffer)).await.expect("the socket is ours");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    /// The next datagram that is not the watchdog's.
    async fn next_state(&self, log: &StderrLog) -> String {
        loop {
            let message = self.next(log).await;
            if message != "WATCHDOG=1" {
                return message;
            }
        }
    }
}

fn proxy(manager: &ServiceManager) -> Proxy {
    let config = Config::new().server("fake", &fake_backend(["--only", "echo"]));
    Proxy::new(&config).environment("NOTIFY_SOCKET", manager.socket().to_str().expect("a path"))
}

async fn serve(proxy: &Proxy) -> Program {
    let command = proxy.command(["serve", "--http", "127.0.0.1:0", "--config", "proxy.yaml"]);
    Program::start_server(command).await.0
}

#[tokio::test]
async fn a_service_is_ready_when_its_tools_are_and_says_when_it_stops() {
    let manager = ServiceManager::new();
    let proxy = proxy(&manager);

    let mut serving = serve(&proxy).await;

    assert_eq!(manager.next(&serving.stderr).await, "READY=1\nSTATUS=ready");
    proxy.run(["status", "--ready"]).await.expect(0);
    serving.terminate();
    assert_eq!(manager.next(&serving.stderr).await, "STOPPING=1\nSTATUS=draining");
    assert!(serving.exit().await.success());
}

#[tokio::test]
async fn a_service_that_cannot_start_is_never_ready() {
    let manager = ServiceManager::new();
    let proxy = proxy(&manager).argument("--script").argument("broken.star").file("broken.star", "fail('no')\n");

    proxy.refused().await;

    let mut buffer = [0; 16];
    let nothing = manager.receiver.try_recv(&mut buffer).expect_err("no datagram");
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn the_watchdog_hears_of_a_service_until_it_is_stuck() {
    let manager = ServiceManager::new();
    let proxy = proxy(&manager).environment("WATCHDOG_USEC", "200000");
    let serving = serve(&proxy).await;
    let log = serving.stderr.clone();
    assert_eq!(manager.next_state(&log).await, "READY=1\nSTATUS=ready");
    for _ in 0..3 {
        assert_eq!(manager.next(&log).await, "WATCHDOG=1");
    }

    // When it is stuck
    serving.freeze();

    // Then nothing comes but what was sent before, in more than one period of the watchdog
    let mut buffer = [0; 16];
    while manager.receiver.try_recv(&mut buffer).is_ok() {}
    let silence = tokio::time::timeout(Duration::from_millis(500), manager.next(&log)).await;
    serving.wake();
    assert!(silence.is_err(), "{silence:?}");
    assert_eq!(manager.next(&log).await, "WATCHDOG=1");
}

#[tokio::test]
async fn a_server_cannot_speak_for_the_service() {
    let manager = ServiceManager::new();
    let server = "#!/bin/sh\necho \"socket <$NOTIFY_SOCKET>\" >said.new\nmv said.new said\nwait_for_input=$(cat)\n";
    let proxy = Proxy::with_config_text("mcpServers: { spy: { command: ./server } }\n")
        .executable("server", server)
        .environment("NOTIFY_SOCKET", manager.socket().to_str().expect("a path"));

    let serving = serve(&proxy).await;

    assert_eq!(proxy.directory.appearing("said", &serving.stderr).await, "socket <>\n");
}

#[tokio::test]
async fn a_service_manager_that_is_gone_stops_nothing() {
    let manager = ServiceManager::new();
    let proxy = proxy(&manager);
    drop(manager);

    let mut serving = serve(&proxy).await;

    serving.stderr.line("cannot tell the service manager about the proxy").await;
    proxy.run(["status", "--ready"]).await.expect(0);
    serving.terminate();
    assert!(serving.exit().await.success());
}
