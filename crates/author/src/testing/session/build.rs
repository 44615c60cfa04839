//! Builds a session from the arguments of `testing.session()`, in the order of production: servers, config, script,
//! surface, calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::client::ClientSpec;
use super::fake_backend::{FakeBackend, FakeBackendSpec};
use super::following::FollowedResources;
use super::overrides::SessionOverrides;
use super::recording::RecordedValues;
use super::test_session::TestSession;
use crate::testing::world::TestWorld;
use proxy_base::diagnostic::Diagnostic;
use proxy_config::{self as config, Config, SessionScript};
use proxy_engine::calls::{Calls, Dispatcher, TestOverrides, WaitingMemory};
use proxy_engine::{extension, gateway};
use proxy_fiber::Pool;
use proxy_identity::cedar::Policies;
use proxy_mcp_client::Backend;
use proxy_model::flow::Labels;
use proxy_model::{Snapshot, SurfaceKey};
use proxy_script::{ScriptError, script_error};

/// Concurrent handlers of one session.
const MAX_HANDLERS: usize = 64;
/// Config sections that `config` must not have, with what a test uses instead.
const EXCLUDED_SECTIONS: [(&str, &str); 5] = [
    ("mcpServers", "pass servers with `backends`"),
    ("servers", "pass servers with `backends`"),
    ("extensions", "pass extensions with `extensions`, a list of files"),
    ("auth", "pass the user with `user`"),
    ("store", "every test has its own in-memory store"),
];

/// A session as the arguments of `testing.session()` describe it.
#[derive(Default)]
pub(crate) struct SessionSpec {
    pub script: Option<String>,
    pub preset: Option<String>,
    /// The profile of the config that the client uses.
    pub profile: Option<String>,
    pub backends: Vec<FakeBackendSpec>,
    pub extensions: Vec<String>,
    pub config: Map<String, Json>,
    pub client: ClientSpec,
    /// The labels of what the conversation has read already.
    pub marks: Labels,
}

/// The servers of a session, and the calls that reached the fake ones.
#[derive(Default)]
struct SessionBackends {
    all: Vec<Arc<dyn Backend>>,
    calls: Vec<(String, RecordedValues)>,
}

impl SessionBackends {
    fn start(
        fakes: Vec<FakeBackendSpec>,
        extensions: &[String],
        world: &Arc<TestWorld>,
        pool: &Pool,
    ) -> starlark::Result<Self> {
        let mut backends = SessionBackends::default();
        for spec in fakes {
            let name = spec.name.clone();
            let backend = FakeBackend::new(spec, world).map_err(|error| script_error(error.to_string()))?;
            backends.calls.push((name, backend.calls()));
            backends.all.push(Arc::new(backend));
        }
        for written in extensions {
            let path = resolve_path(written, world);
            let loaded = extension::read(&path)
                .and_then(|source| extension::open(&source, pool, &world.test.host_io))
                .map_err(|problem| as_script_error(&problem))?;
            let none =
                || script_error(format!("`{written}` is not an extension: it does not define `describe_extension()`"));
            backends.all.push(Arc::new(loaded.ok_or_else(none)?));
        }
        Ok(backends)
    }
}

/// The config of the session, validated like a config file.
fn load_config(
    sections: &Map<String, Json>,
    script: Option<&str>,
    preset: Option<&str>,
    profile: Option<&str>,
    backends: &SessionBackends,
    world: &TestWorld,
) -> starlark::Result<Config> {
    let mut sections = sections.clone();
    for (key, hint) in EXCLUDED_SECTIONS {
        if sections.contains_key(key) {
            return Err(ScriptError::new(format!("`config` of a session cannot have `{key}`")).hint(hint).into());
        }
    }
    if let Some(params) = sections.remove("params") {
        sections.insert("sessionInit".to_owned(), json!({ "params": params }));
    }
    let servers = backends.calls.iter().map(|(name, _)| (name.clone(), json!({"command": "test"})));
    sections.insert("mcpServers".to_owned(), Json::Object(servers.collect()));
    let no_environment = |_: &str| None;
    let file = world.test.root.join("config.json");
    let loaded = config::load_text(&file, &Json::Object(sections).to_string(), &no_environment);
    let invalid = |problems: &[Diagnostic]| {
        let all: Vec<String> = problems.iter().map(on_one_line).collect();
        script_error(format!("invalid `config` of the session: {}", all.join("; ")))
    };
    let (mut config, _) = loaded.map_err(|problems| invalid(&problems))?;
    let views: Vec<_> = backends.all.iter().map(|backend| backend.view()).collect();
    let names: Vec<&str> = views.iter().map(|view| view.name.as_ref()).collect();
    let mut unknown = config.aggregation.unknown_workloads(&names);
    unknown.extend(config.unknown_in_profiles(&names));
    if !unknown.is_empty() {
        return Err(invalid(&unknown));
    }
    if let Some(profile) = profile {
        config = config.select_profile(profile).map_err(|problem| invalid(&[problem]))?;
    }
    match (script, preset) {
        (Some(_), Some(_)) => return Err(script_error("pass either `script` or `preset`, not both")),
        (Some(script), None) => config.session = SessionScript::File(resolve_path(script, world)),
        (None, Some(preset)) => config.session = SessionScript::Preset { name: preset.to_owned(), place: None },
        (None, None) => {}
    }
    Ok(config)
}

fn on_one_line(problem: &Diagnostic) -> String {
    match &problem.hint {
        Some(hint) => format!("{} ({hint})", problem.message),
        None => problem.message.clone(),
    }
}

/// Resolves `//x.star` from the root, and any other path from the folder of the test.
fn resolve_path(written: &str, world: &TestWorld) -> PathBuf {
    let folder = world.test.source.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    match written.strip_prefix("//") {
        Some(below) => world.test.root.join(below),
        None => std::path::absolute(folder.join(written)).unwrap_or_else(|_| folder.join(written)),
    }
}

fn first_error(problems: &[Diagnostic]) -> starlark::Error {
    problems.first().map_or_else(|| script_error("the policies cannot be loaded"), as_script_error)
}

/// An error in another file, as an error of the line of the test that loads this file.
fn as_script_error(problem: &Diagnostic) -> starlark::Error {
    let error = ScriptError::new(problem.message.clone());
    match problem.place {
        Some(_) => error.note(problem.render(false)).into(),
        None => problem.hint.iter().fold(error, |error, hint| error.hint(hint.clone())).into(),
    }
}

impl SessionSpec {
    pub(crate) fn build(self, world: Arc<TestWorld>) -> starlark::Result<TestSession> {
        let pool = Pool::new(MAX_HANDLERS);
        let backends = SessionBackends::start(self.backends, &self.extensions, &world, &pool)?;
        let config = load_config(
            &self.config,
            self.script.as_deref(),
            self.preset.as_deref(),
            self.profile.as_deref(),
            &backends,
            &world,
        )?;
        let script_source = gateway::script_source(&config, None).map_err(|problem| as_script_error(&problem))?;
        let views = backends.all.iter().map(|backend| backend.view()).collect();
        let snapshot = Arc::new(Snapshot { version: 1, generation: 1, backends: views });
        let client = self.client.connect(&config)?;
        let (principal, info) = (client.principal.clone(), Arc::clone(&client.info));
        let surface_key = SurfaceKey::of(principal, info);
        let surface = script_source.build_for(&snapshot, surface_key.clone());
        let mut surface = Arc::new(surface.map_err(|error| as_script_error(error.diagnostic()))?);
        let log = RecordedValues::default();
        let overrides = SessionOverrides { world: Arc::clone(&world), log: log.clone() };
        for line in &surface.log {
            overrides.log(line.level, &line.message, &line.fields);
        }
        let dispatcher = Dispatcher::new(&backends.all);
        if let Some(cedar) = &config.cedar {
            let policies = Policies::load(cedar, &config.folder);
            let policies = Arc::new(policies.map_err(|problems| first_error(&problems))?);
            surface = Arc::new(surface.permitted_to(&policies, &surface_key));
            dispatcher.policies().set(Some(policies));
        }
        let calls = Calls {
            dispatcher,
            pool,
            store: world.store.clone(),
            results: Arc::default(),
            waiting: WaitingMemory::default(),
            test_overrides: Some(Arc::new(overrides)),
        };
        world.expect_answers_of(&client.user);
        let user = Arc::clone(&client.user);
        let request = client.request(surface);
        if !self.marks.is_empty() {
            if request.surface.flow().is_none() {
                let error = ScriptError::new("`marks` need the section `flow` in the config of the session");
                let hint = "`config = {\"flow\": {\"rules\": [{\"when\": [\"secret\"], \"then\": \"egress\", \"do\": \"deny\"}]}}`";
                return Err(error.hint(hint).into());
            }
            proxy_fiber::wait_here(calls.mark(&request, &self.marks, "testing.session()")).map_err(script_error)?;
        }
        Ok(TestSession {
            calls,
            user,
            request,
            backend_calls: backends.calls,
            log,
            followed: FollowedResources::default(),
            world,
        })
    }
}
