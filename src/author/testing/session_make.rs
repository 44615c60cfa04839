//! `testing.session`: from what a test says of a session to the session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::DictRef;
use starlark::values::list::{ListRef, UnpackList};
use starlark::values::none::NoneOr;
use starlark::values::{Value, ValueLike};

use super::exchange;
use super::fake::{Described, FakeBackend, FakeItem, Returns};
use super::offered::{Item, ItemData, Server, ServerData};
use super::session::{Record, Session, TestSurroundings};
use super::session_value::SessionValue;
use super::visitor;
use super::world::TestWorld;
use crate::backend::Backend;
use crate::calls::{Calls, Dispatcher, TestOverrides, WaitingRoom};
use crate::config::{self, Config, SessionScript};
use crate::diagnostic::Diagnostic;
use crate::extension;
use crate::fiber::Pool;
use crate::gateway;
use crate::model::Snapshot;
use crate::model::SurfaceKey;
use crate::script::{ScriptError, convert, script_error};

/// Handlers of one session that may run at once.
const HANDLERS: usize = 64;
/// Sections that a test gives in other ways.
const ELSEWHERE: [(&str, &str); 5] = [
    ("mcpServers", "servers are given with `backends`"),
    ("servers", "servers are given with `backends`"),
    ("extensions", "extensions are given with `extensions`, a list of files"),
    ("auth", "who calls is given with `user`"),
    ("store", "a test has a store of its own"),
];

/// What a test says of a session.
struct Wanted<'v> {
    script: Option<String>,
    preset: Option<String>,
    backends: Option<Value<'v>>,
    extensions: Vec<String>,
    config: Map<String, Json>,
}

/// The servers of a session, and what reaches those that exist only in the test.
#[derive(Default)]
struct Servers {
    all: Vec<Arc<dyn Backend>>,
    reached: Vec<(String, Record)>,
}

impl<'v> Wanted<'v> {
    fn servers(
        &self,
        world: &Arc<TestWorld>,
        pool: &Pool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Servers> {
        let mut servers = Servers::default();
        let wrong = || script_error("`backends` is a dict from names to testing.backend(...)");
        let given = self.backends.map(|given| DictRef::from_value(given).ok_or_else(wrong)).transpose()?;
        let given: Vec<(Value<'v>, Value<'v>)> = given.iter().flat_map(|given| given.iter()).collect();
        for (name, server) in given {
            let name = name.unpack_str().ok_or_else(wrong)?.to_owned();
            let server = Server::from_value(server).ok_or_else(wrong)?;
            let data = server.data.to_value().downcast_ref::<ServerData>().ok_or_else(wrong)?;
            let described = Described {
                name: name.clone(),
                status: data.status,
                error: data.error.clone(),
                instructions: data.instructions.clone(),
            };
            let listed = ListRef::from_value(server.items.to_value()).ok_or_else(wrong)?;
            let items: Vec<Value<'v>> = listed.iter().collect();
            let items = items.into_iter().map(|item| fake(item, world, eval)).collect::<starlark::Result<Vec<_>>>()?;
            let backend = FakeBackend::new(described, items, world);
            servers.reached.push((name, backend.calls()));
            servers.all.push(Arc::new(backend));
        }
        for written in &self.extensions {
            let path = located(written, world);
            let loaded = extension::read(&path)
                .and_then(|source| extension::open(&source, pool, &world.reach))
                .map_err(|problem| told(&problem))?;
            let none = || script_error(format!("`{written}` describes no extension"));
            servers.all.push(Arc::new(loaded.ok_or_else(none)?));
        }
        Ok(servers)
    }

    /// The config as the file would have it, checked as the file is.
    fn config(&self, world: &TestWorld, servers: &Servers) -> starlark::Result<Config> {
        let mut sections = self.config.clone();
        for (key, cure) in ELSEWHERE {
            if sections.contains_key(key) {
                return Err(ScriptError::new(format!("`config` of a session has no `{key}`")).hint(cure).into());
            }
        }
        if let Some(params) = sections.remove("params") {
            sections.insert("sessionInit".to_owned(), json!({ "params": params }));
        }
        let names = servers.reached.iter().map(|(name, _)| (name.clone(), json!({"command": "test"})));
        sections.insert("mcpServers".to_owned(), Json::Object(names.collect()));
        let unset = |_: &str| None;
        let file = world.test.root.join("config.json");
        let loaded = config::load_text(&file, &Json::Object(sections).to_string(), &unset);
        let (mut config, _) = loaded.map_err(|problems| {
            let all: Vec<String> = problems.iter().map(plainly).collect();
            script_error(format!("the `config` of the session is wrong: {}", all.join("; ")))
        })?;
        match (&self.script, &self.preset) {
            (Some(_), Some(_)) => return Err(script_error("a session has a `script` or a `preset`, not both")),
            (Some(script), None) => config.session = SessionScript::File(located(script, world)),
            (None, Some(preset)) => config.session = SessionScript::Preset { name: preset.clone(), place: None },
            (None, None) => {}
        }
        Ok(config)
    }
}

fn plainly(problem: &Diagnostic) -> String {
    match &problem.hint {
        Some(hint) => format!("{} ({hint})", problem.message),
        None => problem.message.clone(),
    }
}

/// `//x.star` is below the root, everything else beside the test.
fn located(written: &str, world: &TestWorld) -> PathBuf {
    let beside = world.test.source.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    match written.strip_prefix("//") {
        Some(below) => world.test.root.join(below),
        None => std::path::absolute(beside.join(written)).unwrap_or_else(|_| beside.join(written)),
    }
}

/// What went wrong in another file, as an error of the line that brought it in.
fn told(problem: &Diagnostic) -> starlark::Error {
    let complaint = ScriptError::new(problem.message.clone());
    match problem.place {
        Some(_) => complaint.note(problem.render(false)).into(),
        None => problem.hint.iter().fold(complaint, |complaint, hint| complaint.hint(hint.clone())).into(),
    }
}

fn fake<'v>(item: Value<'v>, world: &TestWorld, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<FakeItem> {
    let wrong = || script_error("a server holds testing.tool(...), testing.resource(...) and testing.prompt(...) only");
    let item = Item::from_value(item).ok_or_else(wrong)?;
    let data = item.data.to_value().downcast_ref::<ItemData>().ok_or_else(wrong)?.clone();
    let returns = item.returns.to_value();
    let returns = match data.fails {
        Some(text) => Returns::Fails(text),
        None if returns.get_type() == "function" => Returns::Function(exchange::keep(world, returns, eval)?),
        None => Returns::Value(convert::to_json(returns, eval.heap())?),
    };
    Ok(FakeItem { kind: data.kind, definition: data.definition, returns })
}

fn object<'v>(
    what: &str,
    given: NoneOr<Value<'v>>,
    eval: &Evaluator<'v, '_, '_>,
) -> starlark::Result<Map<String, Json>> {
    let Some(given) = given.into_option() else { return Ok(Map::new()) };
    let wrong = || script_error(format!("`{what}` is a dict, not a `{}`", given.get_type()));
    convert::to_object(given, eval.heap())?.ok_or_else(wrong)
}

/// Everything a session needs, in the order of production: servers, config, script, surface, calls.
fn make<'v>(
    wanted: &Wanted<'v>,
    person: visitor::Wanted,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Session> {
    let world = Arc::clone(TestWorld::of(eval, "testing.session()")?);
    let pool = Pool::new(HANDLERS);
    let servers = wanted.servers(&world, &pool, eval)?;
    let config = wanted.config(&world, &servers)?;
    let script_source = gateway::script_source(&config, None).map_err(|problem| told(&problem))?;
    let views = servers.all.iter().map(|backend| backend.view()).collect();
    let snapshot = Arc::new(Snapshot { version: 1, generation: 1, backends: views });
    let visitor = person.arrive(&config)?;
    let whom = SurfaceKey { principal: visitor.caller.principal.clone(), client: Arc::clone(&visitor.caller.client) };
    let surface = script_source.build_for(&snapshot, whom).map_err(|error| told(error.diagnostic()))?;
    let log = Record::default();
    let test_overrides = TestSurroundings { world: Arc::clone(&world), log: Arc::clone(&log) };
    for line in &surface.log {
        test_overrides.log(line.level, &line.message, &line.fields);
    }
    let calls = Calls {
        dispatcher: Dispatcher::new(&servers.all),
        pool,
        store: world.store.clone(),
        waiting: WaitingRoom::default(),
        test_overrides: Some(Arc::new(test_overrides)),
    };
    world.expect_answers_of(&visitor.person);
    Ok(Session {
        surface: Arc::new(surface),
        calls,
        caller: visitor.caller,
        person: visitor.person,
        reached: servers.reached,
        log,
        world,
    })
}

#[starlark_module]
pub(super) fn register_session(builder: &mut GlobalsBuilder) {
    /// A client's session with the proxy, in which everything is real but the servers, the person and the clock. The script
    /// is `script`, a file beside the test or below the config's folder (`"//scripts/policy.star"`), or the preset `preset`;
    /// `backends` are its servers, by name, and `extensions` are files of local tools.
    ///
    /// `user` is who calls: a dict with `sub`, and `email`, `name`, `groups`, `claims`; without one somebody anonymous.
    /// `client` is a dict with `name`, `version`, `protocol_version` and `capabilities`; without capabilities it is one that
    /// can ask its person. `headers` are those of its requests. `config` has sections as in the config file, and `params`.
    /// `answers` are those of the person, in order: `{"action": "accept", "content": {...}}`, `"decline"` or `"cancel"`; one
    /// that is missing, or left, is an error.
    ///
    /// ```python
    /// s = testing.session(
    ///     preset = "default",
    ///     backends = {"db": testing.backend(tools = [testing.tool("read", returns = "rows")])},
    /// )
    /// testing.eq(unwrap(s.call("read", {})), "rows")
    /// ```
    #[expect(clippy::too_many_arguments, reason = "a built-in has as many as its users can give")]
    fn session<'v>(
        #[starlark(require = named, default = NoneOr::None)] script: NoneOr<String>,
        #[starlark(require = named, default = NoneOr::None)] preset: NoneOr<String>,
        #[starlark(require = named, default = NoneOr::None)] backends: NoneOr<Value<'v>>,
        #[starlark(require = named, default = UnpackList::default())] extensions: UnpackList<String>,
        #[starlark(require = named, default = NoneOr::None)] user: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] client: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] headers: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] config: NoneOr<Value<'v>>,
        #[starlark(require = named, default = NoneOr::None)] answers: NoneOr<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<SessionValue> {
        let user = user.into_option().map(|user| object("user", NoneOr::Other(user), eval)).transpose()?;
        let answers = answers.into_option().map(|given| convert::to_json(given, eval.heap())).transpose()?;
        let person = visitor::Wanted {
            user,
            client: object("client", client, eval)?,
            headers: object("headers", headers, eval)?,
            answers: answers.unwrap_or_else(|| json!([])),
        };
        let wanted = Wanted {
            script: script.into_option(),
            preset: preset.into_option(),
            backends: backends.into_option(),
            extensions: extensions.items,
            config: object("config", config, eval)?,
        };
        Ok(SessionValue(Arc::new(make(&wanted, person, eval)?)))
    }

    /// A session with one extension, all of it published as it is: `testing.extension("hello.star").call("greet", {})` checks
    /// arguments, fills defaults in and shapes the result as for a client.
    fn extension<'v>(path: &str, eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<SessionValue> {
        let wanted = Wanted {
            script: None,
            preset: Some("passthrough".to_owned()),
            backends: None,
            extensions: vec![path.to_owned()],
            config: Map::new(),
        };
        Ok(SessionValue(Arc::new(make(&wanted, visitor::Wanted::default(), eval)?)))
    }
}
