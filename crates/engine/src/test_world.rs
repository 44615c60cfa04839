//! A gateway for unit tests: its only backend is an extension, so that it starts no process.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::calls::{ItemCall, RequestContext};
use crate::gateway::{Gateway, GatewayOptions, SurfaceHandle};
use crate::surface::{BuildError, Surface};
use proxy_base::diagnostic::Diagnostic;
use proxy_json::raw;
use proxy_mcp_client::{CallError, StartPolicy};
use proxy_model::{ClientProfile, ItemKind, Principal, SurfaceKey};

/// The extension `kit`: `echo` returns its arguments, `broken` fails, and `slow` never ends.
const EXTENSION: &str = "
def echo(params):
    return params

def broken(params):
    fail('out of order')

def slow(params):
    time.sleep(3600)

def describe_extension():
    text = ToolParameter(name = 'text', param_type = 'string', required = False)
    return Extension(
        name = 'kit', version = '1', description = 'for tests',
        tools = [
            Tool(name = 'echo', description = '', handler = echo, parameters = [text]),
            Tool(name = 'broken', description = '', handler = broken),
            Tool(name = 'slow', description = '', handler = slow),
        ],
    )
";

pub(crate) struct TestWorld {
    pub(crate) gateway: Arc<Gateway>,
    _folder: TestFolder,
}

impl TestWorld {
    /// A gateway with this session script.
    pub(crate) fn new(script: &str) -> Self {
        Self::with_sections(script, &json!({}))
    }

    /// The same with more sections of the config.
    pub(crate) fn with_sections(script: &str, sections: &Value) -> Self {
        Self::start(script, sections).unwrap_or_else(|problems| panic!("the gateway starts: {problems:?}"))
    }

    pub(crate) fn start(script: &str, sections: &Value) -> Result<Self, Vec<Diagnostic>> {
        let folder = TestFolder::new();
        std::fs::write(folder.0.join("kit.star"), EXTENSION).unwrap();
        let mut config = json!({"extensions": {"paths": ["kit.star"]}, "sessionInit": {"script": script}});
        config.as_object_mut().unwrap().extend(sections.as_object().unwrap().clone());
        let path = folder.0.join("proxy.json");
        std::fs::write(&path, config.to_string()).unwrap();
        let (config, _) = proxy_config::load_files(&[path], &|_| None)?;
        let options = GatewayOptions {
            cache_folder: None,
            state_folder: None,
            executable: std::env::current_exe().unwrap(),
            variables: Vec::new(),
            first_user: None,
            bundled: false,
            sole_client: false,
            client: None,
            search_by_meaning: false,
            start: StartPolicy::All,
            ignores_lock: false,
        };
        Ok(TestWorld { gateway: Arc::new(Gateway::start(&config, &options)?), _folder: folder })
    }

    /// How this person's client gets its surface.
    pub(crate) fn handle(person: &Principal) -> SurfaceHandle {
        let key = SurfaceKey::of(person.clone(), Arc::default());
        SurfaceHandle::of(key, ClientProfile::default())
    }

    pub(crate) async fn surface(&self, person: &Principal) -> Result<Arc<Surface>, Arc<BuildError>> {
        self.gateway.surface(&Self::handle(person)).await
    }

    /// The names of the tools that this person sees.
    pub(crate) async fn tools(&self, person: &Principal) -> Vec<String> {
        let surface = self.surface(person).await.unwrap();
        surface.tools().map(|item| item.definition.key().to_owned()).collect()
    }

    /// A request of this person.
    pub(crate) async fn request(&self, person: &Principal) -> RequestContext {
        RequestContext {
            scope_rules: self.gateway.scope_rules(),
            ..RequestContext::local(person.clone(), self.surface(person).await.unwrap(), None)
        }
    }

    /// Calls a tool in this request.
    pub(crate) async fn call(
        &self,
        request: &RequestContext,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, CallError> {
        let params = raw(&json!({"name": tool, "arguments": arguments}));
        let call = ItemCall::new(&request.surface, ItemKind::Tool, tool, params);
        let result = self.gateway.calls().item(request, call).await?;
        Ok(serde_json::from_str(result.get()).unwrap())
    }
}

/// A folder that goes with the test.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("proxy-engine-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        TestFolder(folder)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
