//! The trace settings: from the config, and from OpenTelemetry environment variables where the config sets nothing.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue};
use indexmap::IndexMap;
use percent_encoding::percent_decode_str;
use url::Url;

use super::sampler::Sampler;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{OtlpSettings, TRACE_SAMPLERS, TelemetrySettings, TraceSampler, parse_endpoint};
use proxy_model::Secret;

const DISABLED: &str = "OTEL_SDK_DISABLED";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARGUMENT: &str = "OTEL_TRACES_SAMPLER_ARG";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";
const RESOURCE_ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// The path of traces below the base URL of a collector.
const PATH: &str = "v1/traces";
const DEFAULT_SERVICE: &str = "proxy";
/// The share of traces if nobody chooses one.
const DEFAULT_RATIO: f64 = 0.1;

/// Where traces are sent, and which.
#[derive(Debug)]
pub struct TraceSettings {
    pub(super) url: Url,
    pub(super) headers: IndexMap<String, Secret>,
    pub(super) sampler: Sampler,
    /// What describes this process.
    pub(super) resource: BTreeMap<String, String>,
    /// Whether `baggage` is forwarded to servers.
    pub(super) baggage: bool,
}

impl TraceSettings {
    /// The settings; `None` if there is no collector to send traces to.
    ///
    /// # Errors
    /// The first environment variable that cannot be used.
    pub fn new(config: &TelemetrySettings, variables: &[(String, String)]) -> Result<Option<Self>, Diagnostic> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, value)| known == name && !value.trim().is_empty());
            found.map(|(_, value)| value.trim())
        };
        if variable(DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let default = OtlpSettings::default();
        let otlp = config.otlp.as_ref().unwrap_or(&default);
        let endpoint = match (&otlp.endpoint, variable(ENDPOINT)) {
            (Some(endpoint), _) => endpoint.clone(),
            (None, Some(text)) => parse_endpoint(text).map_err(|problem| invalid(ENDPOINT, problem))?,
            (None, None) => return Ok(None),
        };
        let headers = match variable(HEADERS) {
            Some(text) if otlp.headers.is_empty() => read_headers(text)?,
            _ => otlp.headers.clone(),
        };
        Ok(Some(TraceSettings {
            url: traces_url(endpoint),
            headers,
            sampler: sampler(otlp, variable(SAMPLER), variable(SAMPLER_ARGUMENT))?,
            resource: resource(variable(SERVICE_NAME), variable(RESOURCE_ATTRIBUTES))?,
            baggage: config.baggage,
        }))
    }
}

fn invalid(variable: &str, problem: &str) -> Diagnostic {
    Diagnostic::error(format!("environment variable `{variable}`: {problem}"))
        .hint("change or unset the variable; keys in the config's `telemetry.otlp` take precedence over it")
}

/// Where a collector takes traces.
fn traces_url(mut endpoint: Url) -> Url {
    let path = endpoint.path().trim_end_matches('/');
    if !path.ends_with(&format!("/{PATH}")) {
        endpoint.set_path(&format!("{path}/{PATH}"));
    }
    endpoint
}

fn sampler(otlp: &OtlpSettings, name: Option<&str>, argument: Option<&str>) -> Result<Sampler, Diagnostic> {
    let named = match (otlp.sampler, name) {
        (None, Some(name)) => {
            let known = TRACE_SAMPLERS.into_iter().find(|(known, _)| *known == name).map(|(_, sampler)| sampler);
            let words = TRACE_SAMPLERS.map(|(word, _)| format!("`{word}`")).join(", ");
            Some(known.ok_or_else(|| invalid(SAMPLER, &format!("expected one of {words}")))?)
        }
        _ => None,
    };
    let kind = otlp.sampler.or(named).unwrap_or(TraceSampler::ParentBasedTraceIdRatio);
    let ratio = match (otlp.ratio, argument.filter(|_| kind.has_ratio())) {
        (Some(ratio), _) => ratio,
        (None, Some(text)) => {
            let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
            ratio.ok_or_else(|| invalid(SAMPLER_ARGUMENT, "expected a number between 0 and 1"))?
        }
        // What OpenTelemetry defines for its variables.
        (None, None) if named.is_some() => 1.0,
        (None, None) => DEFAULT_RATIO,
    };
    Ok(Sampler { kind, ratio })
}

fn resource(name: Option<&str>, attributes: Option<&str>) -> Result<BTreeMap<String, String>, Diagnostic> {
    let pairs = pairs(attributes.unwrap_or_default());
    let pairs = pairs.ok_or_else(|| invalid(RESOURCE_ATTRIBUTES, "expected `key=value` pairs, separated by commas"))?;
    let own = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let defaults = [own("service.name", DEFAULT_SERVICE), own("service.version", proxy_base::VERSION)];
    let name = name.map(|name| own("service.name", name));
    // The last one of each key counts.
    Ok(defaults.into_iter().chain(pairs).chain(name).collect())
}

fn read_headers(text: &str) -> Result<IndexMap<String, Secret>, Diagnostic> {
    let pairs = pairs(text).filter(|pairs| {
        let is_header = |(name, value): &(String, String)| {
            HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
        };
        pairs.iter().all(is_header)
    });
    let pairs =
        pairs.ok_or_else(|| invalid(HEADERS, "expected `name=value` pairs of HTTP headers, separated by commas"))?;
    Ok(pairs.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

/// Reads `key=value,key=value` with percent-encoded values.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let pair = |text: &str| {
        let (key, value) = text.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8_lossy();
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), value.into_owned()))
    };
    text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proxy_config::load_text;

    fn settings(config: &str, variables: &[(&str, &str)]) -> Result<Option<TraceSettings>, String> {
        let (config, _) = load_text(Path::new("proxy.yaml"), config, &|_| None).expect("a valid config");
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        TraceSettings::new(&config.telemetry, &variables).map_err(|problem| problem.message)
    }

    fn chosen(config: &str, variables: &[(&str, &str)]) -> TraceSettings {
        settings(config, variables).unwrap().unwrap()
    }

    const COLLECTOR: &str = "telemetry: {otlp: {endpoint: 'http://c:4318'}}";

    #[test]
    fn without_an_endpoint_there_are_no_traces() {
        assert!(settings("", &[]).unwrap().is_none());
        assert!(settings("", &[(ENDPOINT, " ")]).unwrap().is_none());
        assert!(settings(COLLECTOR, &[(DISABLED, "true")]).unwrap().is_none());
        assert!(settings(COLLECTOR, &[(DISABLED, "false")]).unwrap().is_some());
    }

    #[test]
    fn traces_are_sent_below_the_base_url() {
        let url = |text: &str| chosen("", &[(ENDPOINT, text)]).url.to_string();
        assert_eq!(url("http://c:4318"), "http://c:4318/v1/traces");
        assert_eq!(url("http://c:4318/"), "http://c:4318/v1/traces");
        assert_eq!(url("https://c/otlp?key=1"), "https://c/otlp/v1/traces?key=1");
        assert_eq!(url("https://c/v1/traces"), "https://c/v1/traces");
    }

    #[test]
    fn the_config_wins_over_the_environment() {
        let variables =
            [(ENDPOINT, "http://other:1"), (HEADERS, "A=other"), (SAMPLER, "always_off"), (SAMPLER_ARGUMENT, "0.9")];
        let config =
            "telemetry: {otlp: {endpoint: 'http://c:1', headers: {B: own}, sampler: traceidratio, ratio: 0.5}}";
        let settings = chosen(config, &variables);
        assert_eq!(settings.url.host_str(), Some("c"));
        assert_eq!(settings.headers.keys().collect::<Vec<_>>(), ["B"]);
        assert_eq!(settings.sampler, Sampler { kind: TraceSampler::TraceIdRatio, ratio: 0.5 });
    }

    #[test]
    fn a_tenth_of_all_traces_is_sampled_unless_somebody_chooses() {
        let of = |variables: &[(&str, &str)]| chosen(COLLECTOR, variables).sampler;
        let default = TraceSampler::ParentBasedTraceIdRatio;
        assert_eq!(of(&[]), Sampler { kind: default, ratio: 0.1 });
        assert_eq!(of(&[(SAMPLER_ARGUMENT, "0.3")]), Sampler { kind: default, ratio: 0.3 });
        assert_eq!(of(&[(SAMPLER, "traceidratio")]), Sampler { kind: TraceSampler::TraceIdRatio, ratio: 1.0 });
        assert_eq!(of(&[(SAMPLER, "always_on"), (SAMPLER_ARGUMENT, "x")]).kind, TraceSampler::AlwaysOn);
    }

    #[test]
    fn headers_and_attributes_are_pairs_with_percent_encoding() {
        let variables = [
            (HEADERS, "authorization=Basic%20YTpi+w==, x-tenant = 7"),
            (SERVICE_NAME, "front"),
            (RESOURCE_ATTRIBUTES, "service.name=other,deployment.environment=a%2Cb"),
        ];
        let settings = chosen(COLLECTOR, &variables);
        let headers: Vec<_> = settings.headers.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
        assert_eq!(headers, [("authorization", "Basic YTpi+w=="), ("x-tenant", "7")]);
        assert_eq!(
            (&*settings.resource["service.name"], &*settings.resource["deployment.environment"]),
            ("front", "a,b")
        );
        assert_eq!(chosen(COLLECTOR, &[]).resource["service.name"], "proxy");
    }

    #[test]
    fn a_variable_that_cannot_be_used_is_named_without_its_value() {
        for (name, value) in [
            (ENDPOINT, "s3cret"),
            (HEADERS, "s3cret"),
            (HEADERS, "a b=s3cret"),
            (SAMPLER, "s3cret"),
            (SAMPLER_ARGUMENT, "s3cret"),
            (RESOURCE_ATTRIBUTES, "s3cret"),
        ] {
            let config = if name == ENDPOINT { "" } else { COLLECTOR };
            let problem = settings(config, &[(name, value)]).unwrap_err();
            assert!(problem.contains(name) && !problem.contains("s3cret"), "{problem}");
        }
    }
}
