//! The control socket of `proxy serve`: commands and the console use the proxy over it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admin::{ControlApi, Health};
use crate::cli::{server_log, setup};
use proxy_base::control::ControlSocket;
use proxy_config::Config;
use proxy_engine::gateway::Gateway;
use proxy_model::Principal;
use proxy_server::Server;

/// How long to wait while the last answers are delivered.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct Control {
    _socket: ControlSocket,
    calls: TaskTracker,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Control {
    /// Opens the socket. The proxy works without it.
    pub(super) fn open(
        gateway: &Arc<Gateway>,
        server: &Server,
        config: &Config,
        local: Principal,
        health: &Arc<Health>,
    ) -> Option<Self> {
        let folder = setup::control_folder();
        let (socket, listener) = ControlSocket::listen(&folder)
            .inspect_err(|error| {
                tracing::warn!(%error, "cannot open the control socket: other commands will not see this instance");
            })
            .ok()?;
        let asked = Arc::clone(gateway);
        let logs = Arc::new(move |name: &str| server_log::of_server(name, &asked.snapshot().backends));
        let api = ControlApi::new(gateway, server, local, logs, folder, health);
        let (calls, stop) = (api.running_calls(), CancellationToken::new());
        let max_body = usize::try_from(config.serve.max_body_bytes).unwrap_or(usize::MAX);
        let serving = tokio::spawn(api.serve(listener, max_body, stop.clone()));
        Some(Control { _socket: socket, calls, stop, serving })
    }

    /// Waits until the calls from commands and the console have ended.
    pub(super) async fn calls_ended(&self) {
        self.calls.close();
        self.calls.wait().await;
    }

    /// Stops accepting requests, and waits until the pending answers have been sent.
    pub(super) async fn close(self) {
        self.stop.cancel();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.serving).await;
    }
}
