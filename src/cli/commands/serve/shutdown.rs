//! The shutdown of `proxy serve`: a signal, a delay for load balancers to notice, and time for running requests to finish.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::control::Control;
use super::service::Service;
use crate::admin::Health;
use crate::cli::failure::CommandFailure;
use crate::cli::logging;
use proxy_config::Config;
use proxy_engine::gateway::Gateway;
use proxy_identity::bearer::Resource;
use proxy_server::{HttpFront, Server};
use proxy_wire::http::Listener;

/// How long to wait while the error responses to unfinished requests are delivered.
const LAST_ANSWERS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long calls from commands and the console may continue after the client on stdio has disconnected.
const STDIO_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until the calls from commands and the console have ended.
async fn calls_ended(control: Option<&Control>) {
    if let Some(control) = control {
        control.calls_ended().await;
    }
}

/// Gives calls from commands and the console a short time to end, after the client on stdio has disconnected.
pub(super) async fn drain_stdio(config: &Config, gateway: &Gateway, control: &Control) {
    let limit = config.serve.drain_timeout.min(STDIO_DRAIN_TIMEOUT);
    if tokio::time::timeout(limit, control.calls_ended()).await.is_err() {
        gateway.end_time();
    }
}

/// Serves on HTTP until a signal, and then drains: the proxy is no longer ready, accepts new requests for
/// `serve.drainDelay`, and gives running requests, including calls from commands and the console, `serve.drainTimeout` to
/// finish. Unfinished requests are answered with an error. A second signal skips the remaining time.
pub(super) async fn serve_http(
    config: &Config,
    server: Server,
    listener: Listener,
    health: &Health,
    control: Option<&Control>,
    service: &Service,
) -> Result<(), CommandFailure> {
    // Before anybody knows that the proxy runs, and may end it.
    let mut signals = ShutdownSignals::listen();
    logging::status(&format!("listening on http://{}{}", listener.address()?, config.serve.path));
    let resource = Resource::new(&config.serve, listener.address()?);
    let threads = server.threads().clone();
    let front = HttpFront::new(server, &config.serve, resource);
    let stop = CancellationToken::new();
    // Shared, because it is awaited in several places.
    let serving = listener.serve(Arc::clone(&front), threads, stop.clone()).shared();
    tokio::select! {
        () = serving.clone() => return Ok(()),
        () = signals.next() => {}
    }
    health.drain();
    service.stopping();
    let delay = config.serve.drain_delay;
    let drained = async {
        if delay > Duration::ZERO {
            tracing::info!("draining: accepting new requests for another {} s", delay.as_secs_f32());
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = serving.clone() => {}
            }
        }
        tracing::debug!("draining: no new connections");
        stop.cancel();
        front.begin_shutdown();
        let all_ended = async {
            tokio::join!(serving.clone(), calls_ended(control));
            // Clients may answer what these requests have asked, and other replicas take the answers.
            front.forwarded_ended().await;
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
            tracing::warn!("second signal: stopping without finishing requests in progress");
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
    front.forget_sessions().await;
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
