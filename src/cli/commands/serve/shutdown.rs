//! The end of `proxy serve`: a signal, a time for load balancers to notice, a time for running requests.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::control::Control;
use crate::admin::Health;
use crate::cli::failure::CommandFailure;
use crate::cli::logging;
use proxy_config::Config;
use proxy_engine::gateway::Gateway;
use proxy_identity::bearer::Resource;
use proxy_server::{HttpFront, Server};
use proxy_wire::http::Listener;

/// How long the errors of requests that were not finished may take to reach those who wait.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long calls of commands and of the console may take after the client on stdio has left.
const STDIO_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until the calls of commands and of the console have ended.
async fn calls_ended(control: Option<&Control>) {
    if let Some(control) = control {
        control.calls_ended().await;
    }
}

/// Gives the calls of commands and of the console a short time, after the client on stdio has left.
pub(super) async fn drain_stdio(config: &Config, gateway: &Gateway, control: &Control) {
    let limit = config.serve.drain_timeout.min(STDIO_DRAIN_TIMEOUT);
    if tokio::time::timeout(limit, control.calls_ended()).await.is_err() {
        gateway.end_time();
    }
}

/// Serves on HTTP until a signal, and then drains: the proxy is no longer ready, takes new requests for
/// `serve.drainDelay`, and gives those that run `serve.drainTimeout`, with the calls of commands and of the console. What
/// has not ended by then is answered with an error. A second signal ends it at once.
pub(super) async fn serve_http(
    config: &Config,
    server: Server,
    listener: Listener,
    health: &Health,
    control: Option<&Control>,
) -> Result<(), CommandFailure> {
    logging::status(&format!("listening on http://{}{}", listener.address()?, config.serve.path));
    let mut signals = ShutdownSignals::listen();
    let resource = Resource::new(&config.serve, listener.address()?);
    let front = HttpFront::new(server, &config.serve, resource);
    let stop = CancellationToken::new();
    // Asked several times whether it has ended.
    let serving = listener.serve(Arc::clone(&front), stop.clone()).shared();
    tokio::select! {
        () = serving.clone() => return Ok(()),
        () = signals.next() => {}
    }
    health.drain();
    let delay = config.serve.drain_delay;
    let drained = async {
        if delay > Duration::ZERO {
            tracing::info!("draining: new requests are taken for another {} s", delay.as_secs_f32());
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = serving.clone() => {}
            }
        }
        stop.cancel();
        front.begin_shutdown();
        let all_ended = async {
            tokio::join!(serving.clone(), calls_ended(control));
        };
        match tokio::time::timeout(config.serve.drain_timeout, all_ended).await {
            Ok(()) => true,
            Err(_) => {
                tracing::warn!("shutdown timed out: some requests were not finished");
                false
            }
        }
    };
    let is_drained = tokio::select! {
        is_drained = drained => is_drained,
        () = signals.next() => {
            tracing::warn!("a second signal: requests in progress are not finished");
            stop.cancel();
            front.begin_shutdown();
            false
        }
    };
    if !is_drained {
        front.end_requests();
        let answered = async {
            tokio::join!(serving.clone(), calls_ended(control));
        };
        let _ = tokio::time::timeout(LAST_ANSWERS_TIMEOUT, answered).await;
    }
    front.end_sessions().await;
    Ok(())
}

/// Completes on a shutdown signal.
pub(super) async fn shutdown_signal() {
    ShutdownSignals::listen().next().await;
}

/// SIGINT and SIGTERM.
struct ShutdownSignals(Option<(Signal, Signal)>);

impl ShutdownSignals {
    /// A signal that arrives between two calls of [`Self::next`] is not lost.
    fn listen() -> Self {
        ShutdownSignals(signal(SignalKind::interrupt()).ok().zip(signal(SignalKind::terminate()).ok()))
    }

    async fn next(&mut self) {
        let Some((interrupt, terminate)) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}
