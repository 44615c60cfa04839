//! `telemetry`: what the proxy shows of itself to those who operate it.

use super::serve::read_address;
use crate::config::syntax::reader::ValueReader;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetrySettings {
    /// `address:port` of `/metrics`, `/livez` and `/readyz`. Nothing listens without it.
    pub metrics: Option<String>,
}

impl TelemetrySettings {
    /// The keys that differ from another config.
    pub(crate) fn differences(&self, other: &TelemetrySettings) -> Vec<&'static str> {
        let TelemetrySettings { metrics } = self;
        if *metrics == other.metrics { Vec::new() } else { vec!["telemetry.metrics"] }
    }
}

pub(crate) fn read_telemetry(reader: &ValueReader) -> Option<TelemetrySettings> {
    let mut telemetry = TelemetrySettings::default();
    let mut fields = reader.fields()?;
    telemetry.metrics = fields.read("metrics", read_address);
    fields.finish();
    Some(telemetry)
}

#[cfg(test)]
mod tests {
    use crate::config::testing::{errors, loaded};

    #[test]
    fn metrics_have_an_address() {
        assert_eq!(loaded("telemetry: {metrics: 127.0.0.1:9464}").telemetry.metrics.as_deref(), Some("127.0.0.1:9464"));
        assert_eq!(loaded("telemetry: {}").telemetry.metrics, None);
        let found = errors("telemetry: {metrics: 9464, tracing: true}");
        assert!(found[0].contains("`telemetry.metrics`: expected"), "{found:?}");
        assert!(found[1].contains("`telemetry.tracing`"), "{found:?}");
    }
}
