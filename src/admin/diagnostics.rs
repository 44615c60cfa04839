//! The diagnostics port: `/metrics` for scrapers, `/livez` and `/readyz` for probes, and nothing else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::StatusCode;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::health::Health;
use super::metrics::{CONTENT_TYPE, Metrics};
use proxy_engine::gateway::Gateway;
use proxy_server::Server;
use proxy_wire::http::{TextReply, TextService, serve_text};

/// A bound diagnostics port.
pub struct DiagnosticsPort {
    socket: TcpListener,
    pages: Arc<DiagnosticPages>,
}

struct DiagnosticPages {
    metrics: Arc<Metrics>,
    health: Arc<Health>,
}

impl DiagnosticsPort {
    pub async fn bind(
        address: &str,
        gateway: &Arc<Gateway>,
        server: &Server,
        health: &Arc<Health>,
    ) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let metrics = Metrics::new(gateway, server, health);
        Ok(DiagnosticsPort { socket, pages: Arc::new(DiagnosticPages { metrics, health: Arc::clone(health) }) })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves until the process exits.
    pub async fn serve(self) {
        serve_text(self.socket, self.pages, CancellationToken::new()).await;
    }
}

impl TextService for DiagnosticPages {
    fn page(&self, path: &str) -> Option<TextReply> {
        Some(match path {
            "/livez" => TextReply::plain(StatusCode::OK, "live"),
            "/readyz" if self.health.is_ready() => TextReply::plain(StatusCode::OK, self.health.as_str()),
            "/readyz" => TextReply::plain(StatusCode::SERVICE_UNAVAILABLE, self.health.as_str()),
            "/metrics" => match self.metrics.text() {
                Ok(text) => TextReply { status: StatusCode::OK, content_type: CONTENT_TYPE, text },
                Err(_) => TextReply::plain(StatusCode::INTERNAL_SERVER_ERROR, "the metrics cannot be written"),
            },
            _ => return None,
        })
    }
}
