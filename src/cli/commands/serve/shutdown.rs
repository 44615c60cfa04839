//! The end of `proxy serve`: a signal, a time for load balancers to notice, a time for running requests.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::admin::Health;
use crate::bearer::Resource;
use crate::cli::failure::CommandFailure;
use crate::cli::logging;
use crate::config::Config;
use crate::server::{HttpFront, Server};
use crate::wire::http::Listener;

/// Serves on HTTP until a signal, and then drains: the proxy is no longer ready, takes new requests for
/// `serve.drainDelay`, and gives those that run `serve.drainTimeout`. A second signal ends it at once.
pub(super) async fn serve_http(
    config: &Config,
    server: Server,
    listener: Listener,
    health: &Health,
) -> Result<(), CommandFailure> {
    logging::status(&format!("listening on http://{}{}", listener.address()?, config.serve.path));
    let mut signals = ShutdownSignals::listen();
    let resource = Resource::new(&config.serve, listener.address()?);
    let front = HttpFront::new(server, &config.serve, resource);
    let stop = CancellationToken::new();
    let mut serving = std::pin::pin!(listener.serve(Arc::clone(&front), stop.clone()));
    tokio::select! {
        () = &mut serving => return Ok(()),
        () = signals.next() => {}
    }
    health.drain();
    let delay = config.serve.drain_delay;
    let drained = async {
        if delay > Duration::ZERO {
            tracing::info!("draining: new requests are taken for another {} s", delay.as_secs_f32());
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = &mut serving => {}
            }
        }
        stop.cancel();
        front.begin_shutdown();
        if tokio::time::timeout(config.serve.drain_timeout, &mut serving).await.is_err() {
            tracing::warn!("shutdown timed out: some requests were not finished");
        }
    };
    tokio::select! {
        () = drained => {}
        () = signals.next() => tracing::warn!("a second signal: requests in progress are not finished"),
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
