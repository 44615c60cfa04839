//! Loads config files and environment variables into a validated [`Config`], and imports the configs of other MCP clients. It
//! reports all errors at once, each with its line and key path. It only reads configuration and starts nothing: whoever loads a
//! config runs the commands in it.

pub mod entries;
mod files;
mod find;
pub mod import;
mod load;
mod lock_file;
pub mod quick;
mod schema;
mod sections;
mod shareable;
mod syntax;
#[cfg(test)]
mod testing;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde_json::{Map, Value};

use proxy_base::diagnostic::{Diagnostic, Location};
use proxy_dialects::Dialects;
use proxy_model::Secret;

pub use find::{find, old_place};
pub use load::{load, load_files, load_files_with, load_text};
pub use schema::json_schema;
pub use sections::aggregation::{
    Aggregation, ConflictResolution, ItemPattern, NamedWorkload, PatternKind, Visibility, WorkloadItems,
};
pub use sections::audit::{Audit, AuditDetail};
pub use sections::auth::{Algorithm, Authentication, Introspection, IssuerConfig, SignIn, Token};
pub use sections::cedar::{Cedar, PolicyPath};
pub use sections::code_mode::CodeMode;
pub use sections::embedding::{Embedding, EmbeddingProvider, EmbeddingServer};
pub use sections::flow::{Flow, FlowOwner, FlowRule, LabelRule};
pub use sections::lock::LockSettings;
pub use sections::oauth_values::is_scope;
pub use sections::optimizer::{AnswerForm, Optimizer};
pub use sections::profiles::{Profile, ProfileAccess, ServerSelection, is_profile_name};
pub use sections::rate_limiting::{ItemRate, Rate, RateLimiting};
pub use sections::results::{ResultLimit, Results, ToolResultLimit};
pub use sections::serve::{Serve, serving_threads};
pub use sections::server::{
    AuthConfig, CircuitBreaker, ClientCredentialsConfig, ClientProof, DescriptionPlace, EnterpriseConfig, IdToken,
    LogInAdvice, Naming, OAuthConfig, OAuthEndpoints, OpenApiConfig, PROTOCOL_VERSIONS, PersonalAccounts,
    ProtocolChoice, RegisteredClient, ResourceChoice, RestSettings, ServerConfig, SignedConfig, SigningAlgorithm,
    SubjectTokenType, TokenExchangeConfig, TransportConfig, namings, with_same_url,
};
pub use sections::session_script::{InlineScript, SessionScript};
pub use sections::store::{RedisAddress, StoreAddress};
pub use sections::telemetry::{OtlpSettings, TRACE_SAMPLERS, TelemetrySettings, TraceSampler, parse_endpoint};
pub use shareable::ShareableConfig;
pub use syntax::reader::{BlockPosition, LateValue};
pub use syntax::sources::{CommandRunner, SecretCommand, SecretValues};
pub use syntax::substitute::VariableLookup;
pub use syntax::units::duration;
pub use syntax::yaml_value::read_yaml;
pub use texts::ConfigTexts;

/// The settings of a config file, with defaults for missing keys.
#[derive(Clone, Debug)]
pub struct Config {
    /// The config file, if there is one. If there are several, the first.
    pub path: Option<PathBuf>,
    /// All files given on the command line, without the files they include.
    pub files: Vec<PathBuf>,
    /// Base of relative paths: the folder of the file, or else the current folder.
    pub folder: PathBuf,
    /// In file order, which decides name conflicts.
    pub servers: IndexMap<String, ServerConfig>,
    pub extensions: Vec<ExtensionPath>,
    /// Whether the proxy reloads extensions when their files change.
    pub watch_extensions: bool,
    pub session: SessionScript,
    pub aggregation: Aggregation,
    pub optimizer: Optimizer,
    pub code_mode: CodeMode,
    pub rate_limiting: RateLimiting,
    /// The parameters of the session script.
    pub params: Map<String, Value>,
    pub serve: Serve,
    pub store: StoreAddress,
    pub telemetry: TelemetrySettings,
    /// `None` if there is no audit log.
    pub audit: Option<Audit>,
    /// `None` if there are no policies: everybody may use everything.
    pub cedar: Option<Cedar>,
    /// What happens when a server lists something else than what is approved.
    pub lock: LockSettings,
    /// How large results of tools may be.
    pub results: Results,
    /// `None` if no labels are tracked.
    pub flow: Option<Flow>,
    /// What clients accept.
    pub dialects: Arc<Dialects>,
    /// Who may use the proxy over HTTP.
    pub auth: Authentication,
    /// The views at paths of their own.
    pub profiles: IndexMap<String, Profile>,
    /// The profile that this is the config of; `None` at the top level.
    pub selection: Option<Arc<ServerSelection>>,
    /// The script sections that the file sets. If the script never reads one of them, that is reported as an error later.
    pub set_sections: Vec<SetSection>,
    /// Whether the command line replaced the script of the file.
    pub script_for_once: bool,
    /// The only tools to publish, if the command line names any.
    pub only_tools: Vec<glob::Pattern>,
    /// The keys of values from files, credentials and commands that were not read.
    pub unread: Vec<String>,
    /// All of these values that were read.
    pub secret_values: Vec<Secret>,
    /// The digest of the file's text. `None` if there is no file, or if the command line adds to it.
    pub digest: Option<String>,
}

/// A file, folder or glob of local tools.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtensionPath {
    pub written: String,
    /// The path joined to the folder of the config; may contain `*` and `?`.
    pub path: PathBuf,
    pub place: Option<Location>,
}

/// A section that has no effect unless the script reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSection {
    /// The key under which a script reads it: `config()["aggregation"]`.
    pub name: &'static str,
    pub place: Location,
}

impl Config {
    /// The config without a file.
    pub fn default_for(folder: &Path) -> Config {
        Config {
            path: None,
            files: Vec::new(),
            folder: folder.to_owned(),
            servers: IndexMap::new(),
            extensions: Vec::new(),
            watch_extensions: true,
            session: SessionScript::default(),
            aggregation: Aggregation::default(),
            optimizer: Optimizer::default(),
            code_mode: CodeMode::default(),
            rate_limiting: RateLimiting::default(),
            params: Map::new(),
            serve: Serve::default(),
            store: StoreAddress::default(),
            telemetry: TelemetrySettings::default(),
            audit: None,
            cedar: None,
            lock: LockSettings::default(),
            results: Results::default(),
            flow: None,
            dialects: Dialects::built_in(),
            auth: Authentication::default(),
            profiles: IndexMap::new(),
            selection: None,
            set_sections: Vec::new(),
            script_for_once: false,
            only_tools: Vec::new(),
            unread: Vec::new(),
            secret_values: Vec::new(),
            digest: None,
        }
    }

    /// Adds a server named on the command line.
    pub fn add_server(&mut self, name: String, server: ServerConfig) -> Result<(), Diagnostic> {
        self.digest = None;
        match self.servers.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(server);
                Ok(())
            }
            Entry::Occupied(occupied) => {
                let problem = Diagnostic::error(format!("server `{}` is already defined", occupied.key()));
                Err(problem.hint("choose another name: `--server NAME=COMMAND`"))
            }
        }
    }

    /// Runs the script named on the command line instead of the one the file names.
    pub fn set_script_file(&mut self, path: &Path) -> Result<(), Diagnostic> {
        if !path.is_file() {
            return Err(Diagnostic::error(format!("`--script`: file `{}` not found", path.display())));
        }
        self.session = SessionScript::File(path.to_owned());
        self.script_for_once = true;
        self.digest = None;
        Ok(())
    }

    /// Publishes only the tools named on the command line: names or globs.
    pub fn set_only_tools(&mut self, names: &[String]) -> Result<(), Diagnostic> {
        for name in names {
            let pattern = glob::Pattern::new(name.trim()).ok().filter(|pattern| !pattern.as_str().is_empty());
            let Some(pattern) = pattern else {
                let problem = Diagnostic::error(format!("`--tools`: `{name}` is neither a name nor a glob"));
                return Err(problem.hint("write `--tools search,\"get_*\"`"));
            };
            self.only_tools.push(pattern);
            self.digest = None;
        }
        Ok(())
    }

    /// The keys that differ from another config and take effect only after a restart.
    pub fn fixed_differences(&self, other: &Config) -> Vec<&'static str> {
        let mut keys = self.serve.differences(&other.serve);
        keys.extend(self.telemetry.differences(&other.telemetry));
        keys.extend(Audit::differences(self.audit.as_ref(), other.audit.as_ref()));
        keys
    }

    /// Adds local tools named on the command line, relative to the current folder.
    pub fn add_extension(&mut self, written: &str, current_folder: &Path) {
        self.digest = None;
        self.extensions.push(ExtensionPath {
            written: written.to_owned(),
            path: current_folder.join(written),
            place: None,
        });
    }
}

/// The commented file that `proxy init` writes.
pub fn template() -> &'static str {
    include_str!("template.yaml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_adds_to_a_config() {
        let mut config = Config::default_for(Path::new("/folder"));
        let (name, server) = quick::server_from_argument("time=uvx mcp-server-time", &[]).unwrap();
        config.add_server(name.clone(), server.clone()).unwrap();
        assert_eq!(config.add_server(name, server).unwrap_err().message, "server `time` is already defined");
        config.add_extension("hello.star", Path::new("/elsewhere"));
        assert_eq!(config.extensions[0].path, Path::new("/elsewhere/hello.star"));
        let error = config.set_script_file(Path::new("/no/policy.star")).unwrap_err();
        assert_eq!(error.message, "`--script`: file `/no/policy.star` not found");
    }
}
