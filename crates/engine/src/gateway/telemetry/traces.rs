//! The traces of a gateway.

use crate::gateway::Gateway;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::TelemetrySettings;
use proxy_telemetry::traces::{TraceSettings, Tracer};

impl Gateway {
    /// Sends traces from now on, if the config or the environment names a collector.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub fn start_traces(&self, config: &TelemetrySettings) -> Result<(), Diagnostic> {
        let Some(settings) = TraceSettings::new(config, &self.installed.options.variables)? else {
            if config.otlp.is_some() {
                tracing::info!("tracing is off: `telemetry.otlp` has no endpoint, or `OTEL_SDK_DISABLED` is true");
            }
            return Ok(());
        };
        let tracer = Tracer::start(&settings, &self.installed.environment.pool).map_err(|error| {
            Diagnostic::error(format!("cannot send traces: {error}"))
                .hint("check `telemetry.otlp` and the `OTEL_*` environment variables")
        })?;
        self.calls().dispatcher.telemetry().set_tracer(tracer);
        Ok(())
    }
}
