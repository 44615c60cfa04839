//! `telemetry`: metrics, health checks and traces for operators.

use indexmap::IndexMap;
use url::Url;

use super::serve::read_address;
use super::server::read_header;
use crate::syntax::reader::ValueReader;
use proxy_model::Secret;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TelemetrySettings {
    /// `address:port` of `/metrics`, `/livez` and `/readyz`. Nothing listens without it.
    pub metrics: Option<String>,
    pub otlp: Option<OtlpSettings>,
    /// Whether `baggage` of clients is forwarded to servers while traces are on.
    pub baggage: bool,
}

/// Where traces are sent, and which. What is not set here may be set by the environment variables of OpenTelemetry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtlpSettings {
    /// The base URL of a collector.
    pub endpoint: Option<Url>,
    pub headers: IndexMap<String, Secret>,
    pub sampler: Option<TraceSampler>,
    /// The share of traces that are sampled.
    pub ratio: Option<f64>,
}

/// Which traces are sampled, by the names of OpenTelemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceSampler {
    AlwaysOn,
    AlwaysOff,
    TraceIdRatio,
    ParentBasedAlwaysOn,
    ParentBasedAlwaysOff,
    ParentBasedTraceIdRatio,
}

pub const TRACE_SAMPLERS: [(&str, TraceSampler); 6] = [
    ("always_on", TraceSampler::AlwaysOn),
    ("always_off", TraceSampler::AlwaysOff),
    ("traceidratio", TraceSampler::TraceIdRatio),
    ("parentbased_always_on", TraceSampler::ParentBasedAlwaysOn),
    ("parentbased_always_off", TraceSampler::ParentBasedAlwaysOff),
    ("parentbased_traceidratio", TraceSampler::ParentBasedTraceIdRatio),
];

impl TraceSampler {
    pub fn has_ratio(self) -> bool {
        matches!(self, TraceSampler::TraceIdRatio | TraceSampler::ParentBasedTraceIdRatio)
    }
}

impl TelemetrySettings {
    /// The keys that differ from another config.
    pub(crate) fn differences(&self, other: &TelemetrySettings) -> Vec<&'static str> {
        // Destructured, so that the compiler reports a field that is missing here.
        let TelemetrySettings { metrics, otlp, baggage } = self;
        let keys = [
            ("telemetry.metrics", *metrics != other.metrics),
            ("telemetry.otlp", *otlp != other.otlp),
            ("telemetry.baggage", *baggage != other.baggage),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}

pub(crate) fn read_telemetry(reader: &ValueReader) -> Option<TelemetrySettings> {
    let mut telemetry = TelemetrySettings::default();
    let mut fields = reader.fields()?;
    telemetry.metrics = fields.read("metrics", read_address);
    telemetry.otlp = fields.read("otlp", read_otlp);
    fields.set(&mut telemetry.baggage, "baggage", ValueReader::boolean);
    fields.finish();
    Some(telemetry)
}

fn read_otlp(reader: &ValueReader) -> Option<OtlpSettings> {
    let mut fields = reader.fields()?;
    let endpoint = fields.read("endpoint", read_endpoint);
    let headers = fields.read("headers", |headers| headers.map(read_header));
    let sampler = fields.read("sampler", |sampler| sampler.choice(&TRACE_SAMPLERS));
    let ratio = fields.get("ratio");
    fields.finish();
    if let (Some(ratio), Some(sampler)) = (&ratio, sampler)
        && !sampler.has_ratio()
    {
        let problem = ratio.problem("only the samplers `traceidratio` and `parentbased_traceidratio` have a ratio");
        ratio.report(problem.hint("remove `ratio`, or choose one of them"));
    }
    Some(OtlpSettings {
        endpoint,
        headers: headers.unwrap_or_default().into_iter().collect(),
        sampler,
        ratio: ratio.and_then(|ratio| ratio.fraction()),
    })
}

fn read_endpoint(reader: &ValueReader) -> Option<Url> {
    match parse_endpoint(&reader.word()?) {
        Ok(endpoint) => Some(endpoint),
        Err(problem) => reader.fail(problem),
    }
}

/// Reads the base URL of a collector.
///
/// # Errors
/// What is wrong with it, without the text: it may contain a secret.
pub fn parse_endpoint(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or("expected the base URL of an OTLP collector such as `http://localhost:4318`")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL must not contain a user or a password; send them with `headers`");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{errors, loaded};

    #[test]
    fn metrics_have_an_address() {
        assert_eq!(loaded("telemetry: {metrics: 127.0.0.1:9464}").telemetry.metrics.as_deref(), Some("127.0.0.1:9464"));
        assert_eq!(loaded("telemetry: {}").telemetry, TelemetrySettings::default());
        let found = errors("telemetry: {metrics: 9464, tracing: true}");
        assert!(found[0].contains("`telemetry.metrics`: expected"), "{found:?}");
        assert!(found[1].contains("`telemetry.tracing`"), "{found:?}");
    }

    #[test]
    fn traces_have_an_endpoint_headers_and_a_sampler() {
        let text = "telemetry: {otlp: {endpoint: 'https://c:4318/x', headers: {A: s3cret}, sampler: traceidratio, ratio: 0.25}, \
                    baggage: true}";
        let settings = loaded(text).telemetry;
        let otlp = settings.otlp.clone().unwrap();
        assert_eq!(otlp.endpoint.as_ref().map(Url::as_str), Some("https://c:4318/x"));
        assert_eq!(otlp.headers["A"].reveal(), "s3cret");
        assert_eq!((otlp.sampler, otlp.ratio, settings.baggage), (Some(TraceSampler::TraceIdRatio), Some(0.25), true));
        let all = ["telemetry.otlp", "telemetry.baggage"];
        assert_eq!(settings.differences(&TelemetrySettings::default()), all);
        assert_eq!(settings.differences(&settings), [""; 0]);
    }

    #[test]
    fn what_cannot_work_is_told_with_the_cure() {
        let of = |otlp: &str| errors(&format!("telemetry: {{otlp: {{{otlp}}}}}")).concat();
        for endpoint in ["collector:4318", "localhost", "ftp://c:1"] {
            let found = of(&format!("endpoint: '{endpoint}'"));
            assert!(found.contains("`telemetry.otlp.endpoint`: expected the base URL"), "{found}");
        }
        let found = of("endpoint: 'http://u:s3cret@c:4318'");
        assert!(found.contains("`headers`") && !found.contains("s3cret"), "{found}");
        let found = of("sampler: sometimes");
        assert!(found.contains("one of `always_on`") && found.contains("`parentbased_traceidratio`"), "{found}");
        let found = of("sampler: always_on, ratio: 0.5");
        assert!(found.contains("have a ratio"), "{found}");
        for ratio in ["1.5", "-1", "many"] {
            let found = of(&format!("ratio: {ratio}"));
            assert!(found.contains("expected a number between 0 and 1"), "{found}");
        }
    }
}
