//! The files in `contrib/` for several replicas: each is accepted by the program that reads it, and they fit together.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use proxy_config as config;
use serde_json::Value;

use crate::support::balancer::{ADDRESSES, contrib, contrib_text};
use crate::support::finished::Finished;
use crate::support::proxy::Proxy;
use crate::support::real_servers::schemas;
use crate::support::temp_dir::TempDir;
use crate::support::{envoy, haproxy, nginx, yaml};

/// What the proxy needs to stop its servers and exit, after the drain delay and the drain timeout.
const LEAVING: Duration = Duration::from_secs(10);
const FOLDERS: [&str; 2] = ["replicas", "kubernetes"];
const MANIFESTS: [&str; 4] = ["deployment.yaml", "service.yaml", "disruption-budget.yaml", "network-policy.yaml"];

fn manifest(file: &str) -> Value {
    yaml::parse(&contrib_text(&format!("kubernetes/{file}")))
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The variables that a config takes from its environment.
fn variables(text: &str) -> BTreeSet<&str> {
    text.split("${").skip(1).filter_map(|rest| rest.split('}').next()).collect()
}

/// Something that a variable may stand for.
fn value(variable: &str) -> String {
    match variable {
        "REDIS_URL" => "redis://127.0.0.1:6379/0".to_owned(),
        other => format!("{other}-and-what-makes-it-long-enough"),
    }
}

/// How long a replica with this config may take to exit.
fn longest_exit(folder: &str) -> Duration {
    let anything = |variable: &str| Some(value(variable));
    let (config, _) = config::load(&contrib(&format!("{folder}/proxy.yaml")), &anything).expect("it is valid");
    assert!(
        config.serve.drain_delay >= Duration::from_secs(4),
        "two health checks, two seconds apart, come before its end"
    );
    config.serve.drain_delay + config.serve.drain_timeout + LEAVING
}

#[tokio::test]
async fn every_config_of_a_proxy_passes_the_check() {
    for folder in FOLDERS {
        let text = contrib_text(&format!("{folder}/proxy.yaml"));
        let mut proxy = Proxy::with_config_text(&text);
        for variable in variables(&text) {
            proxy = proxy.environment(variable, &value(variable));
        }
        proxy.run(["check", "--strict"]).await.expect(0);
    }
}

#[tokio::test]
async fn nginx_accepts_its_config() {
    let directory = TempDir::new();
    let Some(command) = nginx::check(&directory) else { return };
    Finished::run(command).await.expect(0);
}

#[tokio::test]
async fn haproxy_accepts_its_config() {
    let Some(command) = haproxy::check() else { return };
    let said = Finished::run(command).await.expect(0);
    assert!(!said.stderr.contains("WARNING"), "{}", said.stderr);
}

#[test]
fn envoy_hashes_by_session_and_repeats_no_call_that_may_have_run() {
    let config = yaml::parse(&contrib_text("replicas/envoy.yaml"));
    let resources = &config["static_resources"];
    let manager = &resources["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"];
    let route = &manager["route_config"]["virtual_hosts"][0]["routes"][0]["route"];
    let cluster = &resources["clusters"][0];
    assert_eq!(route["cluster"], cluster["name"]);
    assert_eq!(cluster["lb_policy"], "RING_HASH");
    assert_eq!(route["hash_policy"][0]["header"]["header_name"], "mcp-session-id");
    assert_eq!(route["retry_policy"]["retry_on"], "connect-failure");
    assert_eq!(route["timeout"], "0s");
}

#[test]
fn the_balancers_know_the_replicas_of_the_compose_file() {
    let compose = yaml::parse(&contrib_text("replicas/compose.yaml"));
    let services = compose["services"].as_object().expect("services");
    let replicas = services.iter().filter(|(name, _)| name.starts_with("proxy-"));
    let addresses: Vec<&Value> = replicas.map(|(_, replica)| &replica["networks"]["default"]["ipv4_address"]).collect();
    assert_eq!(addresses, ADDRESSES);
    for file in ["nginx.conf", "haproxy.cfg", "envoy.yaml"] {
        let text = contrib_text(&format!("replicas/{file}"));
        assert!(ADDRESSES.iter().all(|address| text.matches(address).count() == 1), "{file}");
        assert_eq!(text.matches("172.28.31.").count(), ADDRESSES.len(), "{file}");
    }
}

#[test]
fn the_replicas_of_the_compose_file_have_what_their_config_needs() {
    let compose = yaml::parse(&contrib_text("replicas/compose.yaml"));
    let replica = &compose["services"]["proxy-1"];
    let given: BTreeSet<&str> =
        replica["environment"].as_object().expect("variables").keys().map(String::as_str).collect();
    assert_eq!(given, variables(&contrib_text("replicas/proxy.yaml")));
    let grace = replica["stop_grace_period"].as_str().and_then(config::duration).expect("a duration");
    assert!(grace >= longest_exit("replicas"), "{grace:?}");
    assert!(contrib("replicas").join(replica["build"].as_str().expect("a folder")).join("Dockerfile").is_file());
}

#[test]
fn a_pod_is_found_and_probed_and_has_time_to_leave() {
    let deployment = manifest("deployment.yaml");
    let service = manifest("service.yaml");
    let budget = manifest("disruption-budget.yaml");
    let network = manifest("network-policy.yaml");
    let template = &deployment["spec"]["template"];
    let labels = &template["metadata"]["labels"];
    let selectors = [
        &deployment["spec"]["selector"]["matchLabels"],
        &service["spec"]["selector"],
        &budget["spec"]["selector"]["matchLabels"],
        &network["spec"]["podSelector"]["matchLabels"],
    ];
    assert!(selectors.iter().all(|selector| *selector == labels), "{selectors:?}");
    let container = &template["spec"]["containers"][0];
    let port = |name: &str| {
        let ports = container["ports"].as_array().into_iter().flatten();
        ports.filter(|port| port["name"] == name).find_map(|port| port["containerPort"].as_u64())
    };
    let config = contrib_text("kubernetes/proxy.yaml");
    for name in ["http", "metrics"] {
        assert!(config.contains(&format!("{name}: 0.0.0.0:{}", port(name).expect(name))), "{name}");
    }
    assert_eq!(service["spec"]["ports"][0]["targetPort"], "http");
    for (probe, path) in [("readinessProbe", "/readyz"), ("livenessProbe", "/livez")] {
        let get = &container[probe]["httpGet"];
        assert_eq!((get["path"].as_str(), get["port"].as_str()), (Some(path), Some("metrics")));
    }
    let grace = template["spec"]["terminationGracePeriodSeconds"].as_u64().map(Duration::from_secs);
    assert!(grace >= Some(longest_exit("kubernetes")), "{grace:?}");
}

#[test]
fn a_pod_may_do_as_little_as_possible() {
    let deployment = manifest("deployment.yaml");
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
    assert_eq!(strings(&container["securityContext"]["capabilities"]["drop"]), ["ALL"]);
    let mounted = container["volumeMounts"].as_array().into_iter().flatten().map(|mount| &mount["name"]);
    let volumes = pod["volumes"].as_array().into_iter().flatten().map(|volume| &volume["name"]);
    assert!(mounted.eq(volumes), "{container}");
}

#[test]
fn the_kustomization_has_every_manifest_and_names_every_secret() {
    let text = contrib_text("kubernetes/kustomization.yaml");
    let kustomization = yaml::parse(&text);
    assert_eq!(strings(&kustomization["resources"]), MANIFESTS[..3]);
    assert!(text.contains("# - network-policy.yaml"), "the last one has to be adapted");
    let generated = &kustomization["configMapGenerator"][0];
    assert_eq!(strings(&generated["files"]), ["proxy.yaml"]);
    let deployment = manifest("deployment.yaml");
    let volume = &deployment["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"];
    assert_eq!(&generated["name"], volume);
    for variable in variables(&contrib_text("kubernetes/proxy.yaml")) {
        assert!(text.contains(&format!("--from-literal={variable}=")), "{variable}");
    }
    let files = fs::read_dir(contrib("kubernetes")).expect("the folder").flatten().map(|file| file.file_name());
    assert_eq!(files.count(), MANIFESTS.len() + 2, "a manifest that no test knows");
}

#[test]
fn the_guide_shows_lines_of_the_files() {
    let guide = include_str!("../docs/guides/running-several.md");
    let files = ["replicas/nginx.conf", "replicas/haproxy.cfg", "replicas/envoy.yaml"].map(contrib_text);
    let known: BTreeSet<&str> = files.iter().flat_map(|text| text.lines().map(str::trim)).collect();
    let snippets: Vec<&str> = guide.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(snippets.len(), files.len());
    for line in snippets.iter().flat_map(|snippet| snippet.lines().map(str::trim)) {
        assert!(known.contains(line), "`{line}` is in no file of contrib/replicas");
    }
}

#[tokio::test]
#[ignore = "schemas and a real Envoy from PyPI"]
async fn the_schemas_of_others_and_envoy_accept_the_files() {
    let Some(programs) = schemas() else { return };
    let mut kubernetes = Command::new(programs.join("kubernetes-validate"));
    kubernetes.arg("--strict").args(MANIFESTS.map(|file| contrib(&format!("kubernetes/{file}"))));
    Finished::run(kubernetes).await.expect(0);
    let mut compose = Command::new(programs.join("check-jsonschema"));
    compose.args(["--builtin-schema", "vendor.compose-spec"]).arg(contrib("replicas/compose.yaml"));
    Finished::run(compose).await.expect(0);
    let Some(envoy) = envoy::check() else { return };
    Finished::run(envoy).await.expect(0);
}
