//! Readiness, for load balancers and containers.

use std::sync::atomic::{AtomicBool, Ordering};

use proxy_engine::gateway::Gateway;

/// The health of a proxy. Once ready, it stays ready until shutdown begins: a server that dies must not take every
/// replica out of service.
#[derive(Debug, Default)]
pub struct Health {
    started: AtomicBool,
    draining: AtomicBool,
}

impl Health {
    /// Completes when there is something to publish and every required server was up once.
    pub async fn follow_start(&self, gateway: &Gateway) {
        if gateway.shared().await.is_ok() && gateway.required_servers().await.is_ok() {
            self.started.store(true, Ordering::Relaxed);
        }
    }

    /// Shutdown has begun.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub fn is_ready(&self) -> bool {
        self.started.load(Ordering::Relaxed) && !self.draining.load(Ordering::Relaxed)
    }

    /// In one word.
    pub fn as_str(&self) -> &'static str {
        if self.draining.load(Ordering::Relaxed) {
            "draining"
        } else if self.started.load(Ordering::Relaxed) {
            "ready"
        } else {
            "starting"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draining_is_not_ready() {
        let health = Health::default();
        assert_eq!((health.is_ready(), health.as_str()), (false, "starting"));
        health.started.store(true, Ordering::Relaxed);
        assert_eq!((health.is_ready(), health.as_str()), (true, "ready"));
        health.drain();
        assert_eq!((health.is_ready(), health.as_str()), (false, "draining"));
    }
}
