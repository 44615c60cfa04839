//! The metrics of a proxy in the OpenMetrics text format. They are rendered on request; a call only increments counters.

mod series;
mod threads;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

use self::series::{Labels, counters, error_label, histograms, label, numbers};
use super::health::Health;
use proxy_code_mode::sandbox::Workers;
use proxy_engine::gateway::{DefinitionTokens, Gateway, ProfileGauges, ServerGauges};
use proxy_model::ItemKind;
use proxy_model::operator_api::ClientStatus;
use proxy_server::Server;
use proxy_telemetry::Telemetry;

/// The media type of [`Metrics::text`].
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Reads the numbers of a running proxy.
pub(super) struct Metrics {
    gateway: Arc<Gateway>,
    server: Server,
    telemetry: Arc<Telemetry>,
    health: Arc<Health>,
}

impl Metrics {
    pub(super) fn new(gateway: &Arc<Gateway>, server: &Server, health: &Arc<Health>) -> Arc<Self> {
        let telemetry = Arc::clone(gateway.calls().dispatcher.telemetry());
        Arc::new(Metrics {
            gateway: Arc::clone(gateway),
            server: server.clone(),
            telemetry,
            health: Arc::clone(health),
        })
    }

    /// All metrics as text.
    pub(super) fn text(self: &Arc<Self>) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Arc::clone(self)));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metrics")
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let gauges = self.gateway.gauges();
        self.operations(&mut encoder)?;
        self.server_operations(&mut encoder, &gauges.servers)?;
        let overhead = [(Labels::new(), self.telemetry.overhead())];
        histograms(&mut encoder, "proxy_overhead", "Call time spent outside servers", &overhead)?;
        let refused = self.telemetry.refused().map(|(reason, count)| (vec![label("reason", reason.as_str())], count));
        counters(&mut encoder, "proxy_refused", "Refused requests", &refused)?;
        let dropped = [(Labels::new(), self.telemetry.tracer().map_or(0, |tracer| tracer.dropped()))];
        counters(&mut encoder, "proxy_spans_dropped", "Spans that did not reach the collector", &dropped)?;
        let operations = self.telemetry.operations();
        let failures = operations.iter().filter(|(_, stats)| stats.script_failures() > 0).map(|(operation, stats)| {
            (vec![label("tool", operation.name.as_deref().unwrap_or_default())], stats.script_failures())
        });
        counters(&mut encoder, "proxy_script_failures", "Script errors, by item", &failures.collect::<Vec<_>>())?;
        servers(&mut encoder, &gauges.servers)?;
        let published = gauges.published.map(|(kind, count)| (vec![label("kind", kind.noun())], count as u64));
        numbers(&mut encoder, "proxy_published", "Published items", &published)?;
        let single = |value: u64| [(Labels::new(), value)];
        definition_tokens(&mut encoder, &gauges.definition_tokens)?;
        let lowered = gauges.lowered.iter().map(|count| (vec![label("row", &count.row)], count.lowered as u64));
        let about = "Tools that clients of a row get in another form";
        numbers(&mut encoder, "proxy_lowered_tools", about, &lowered.collect::<Vec<_>>())?;
        let clients = self.server.clients();
        numbers(&mut encoder, "proxy_sessions", "Clients with a session", &single(clients.len() as u64))?;
        profiles(&mut encoder, &gauges.profiles, &clients)?;
        threads::threads(&mut encoder, &self.server.threads().reports())?;
        self.proxy(&mut encoder)?;
        counters(&mut encoder, "proxy_store_errors", "Failed store operations", &single(gauges.store_errors))?;
        let results = Arc::clone(&self.gateway.calls().results);
        let paged = results.paged().into_iter().map(|(row, count)| (vec![label("row", &row)], count));
        let paged: Vec<_> = paged.collect();
        counters(&mut encoder, "proxy_results_paged", "Results split into pages, by client", &paged)?;
        let kept = single(results.kept_bytes() as u64);
        numbers(&mut encoder, "proxy_results_kept_bytes", "Size of the large results kept in memory", &kept)?;
        let failed = u64::from(gauges.reload_failed);
        numbers(
            &mut encoder,
            "proxy_reload_failed",
            "Whether an older version is in use because of an error",
            &single(failed),
        )?;
        let ready = u64::from(self.health.is_ready());
        numbers(&mut encoder, "proxy_ready", "Whether the proxy is ready", &single(ready))?;
        let build = [(vec![label("version", proxy_base::VERSION)], 1)];
        numbers(&mut encoder, "proxy_build_info", "The version of the proxy", &build)
    }
}

impl Metrics {
    /// Client requests.
    fn operations(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let mut series = Vec::new();
        for (operation, stats) in self.telemetry.operations() {
            for (error_type, histogram) in stats.snapshot() {
                let mut labels = vec![label("mcp_method_name", operation.method)];
                if let Some(name) = &operation.name {
                    let key = if operation.method == "prompts/get" { "gen_ai_prompt_name" } else { "gen_ai_tool_name" };
                    labels.push(label(key, name));
                }
                labels.extend(error_label(error_type));
                series.push((labels, histogram));
            }
        }
        histograms(encoder, "mcp_server_operation_duration", "Client requests", &series)
    }

    /// Everything except individual requests.
    fn proxy(&self, encoder: &mut DescriptorEncoder) -> fmt::Result {
        let stats = self.telemetry.proxy();
        let sessions = [(Labels::new(), stats.sessions())];
        histograms(encoder, "mcp_server_session_duration", "Ended sessions", &sessions)?;
        let builds = [(Labels::new(), stats.surface_builds())];
        histograms(encoder, "proxy_surface_build", "Runs of the session script", &builds)?;
        let questions = stats.questions().map(|(action, count)| (vec![label("action", action.as_str())], count));
        counters(encoder, "proxy_elicitations", "Elicitations and other requests to clients, by outcome", &questions)?;
        let runs: Vec<_> =
            Workers::shared().counts().map(|(outcome, count)| (vec![label("outcome", outcome)], count)).collect();
        counters(encoder, "proxy_code_runs", "Code mode scripts, by outcome", &runs)?;
        let Some(audit) = self.telemetry.audit() else { return Ok(()) };
        let (lines, is_failing) = audit.progress();
        numbers(encoder, "proxy_audit_seq", "The number of the last line of the audit log", &[(Labels::new(), lines)])?;
        let failing = [(Labels::new(), u64::from(is_failing))];
        numbers(encoder, "proxy_audit_failing", "Whether the audit log cannot be written", &failing)
    }

    /// Calls to servers.
    fn server_operations(&self, encoder: &mut DescriptorEncoder, servers: &[ServerGauges]) -> fmt::Result {
        let mut series = Vec::new();
        for server in servers {
            let stats = self.telemetry.server(&server.name);
            for (method, stats) in stats.by_method() {
                for (error_type, histogram) in stats.snapshot() {
                    let mut labels = vec![label("mcp_server_name", &server.name), label("mcp_method_name", method)];
                    labels.extend(error_label(error_type));
                    series.push((labels, histogram));
                }
            }
        }
        histograms(encoder, "mcp_client_operation_duration", "Calls to servers", &series)
    }
}

fn servers(encoder: &mut DescriptorEncoder, servers: &[ServerGauges]) -> fmt::Result {
    let of = |value: fn(&ServerGauges) -> u64| -> Vec<(Labels, u64)> {
        servers.iter().map(|server| (vec![label("server", &server.name)], value(server))).collect()
    };
    let up = of(|server| u64::from(server.is_up));
    numbers(encoder, "proxy_server_up", "Whether a server is connected", &up)?;
    let resting = of(|server| u64::from(server.rests));
    numbers(encoder, "proxy_server_resting", "Whether a server does not run because nothing needs it", &resting)?;
    let restarts = of(|server| server.restarts);
    counters(encoder, "proxy_server_restarts", "Reconnections", &restarts)?;
    let running = of(|server| server.load.running as u64);
    numbers(encoder, "proxy_server_calls_running", "Calls running in the server", &running)?;
    let waiting = of(|server| server.load.waiting as u64);
    numbers(encoder, "proxy_server_calls_waiting", "Calls queued for the server", &waiting)?;
    let open = of(|server| u64::from(server.load.breaker_open));
    numbers(encoder, "proxy_breaker_open", "Whether the circuit breaker of a server is open", &open)
}

fn profiles(encoder: &mut DescriptorEncoder, all: &[ProfileGauges], clients: &[ClientStatus]) -> fmt::Result {
    let of_profile = |profile: &ProfileGauges| {
        let name = Arc::clone(&profile.name);
        let labels = move |kind: ItemKind| vec![label("profile", &name), label("kind", kind.noun())];
        profile.published.map(move |(kind, count)| (labels(kind), count as u64))
    };
    let published: Vec<_> = all.iter().flat_map(of_profile).collect();
    numbers(encoder, "proxy_profile_published", "Published items, by profile", &published)?;
    let sessions = all.iter().map(|profile| {
        let sessions = clients.iter().filter(|client| client.profile == *profile.name).count();
        (vec![label("profile", &profile.name)], sessions as u64)
    });
    let about = "Clients with a session, by profile";
    numbers(encoder, "proxy_profile_sessions", about, &sessions.collect::<Vec<_>>())
}

fn definition_tokens(encoder: &mut DescriptorEncoder, all: &[DefinitionTokens]) -> fmt::Result {
    let mut series = Vec::new();
    for tokens in all {
        let server = tokens.server.iter().map(|server| label("server", server));
        let labels = |stage| server.clone().chain([label("stage", stage)]).collect::<Labels>();
        if tokens.server.is_some() {
            series.push((labels("offered"), tokens.offered as u64));
        }
        series.push((labels("published"), tokens.published as u64));
    }
    numbers(encoder, "proxy_definition_tokens", "Estimated tokens in tool definitions", &series)
}
