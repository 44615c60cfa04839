//! Starts the proxy in a world of its own: config, home, cache and runtime directories are the test's.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::config::Config;
use super::finished::Finished;
use super::http_client::HttpClient;
use super::program::Program;
use super::programs;
use super::stdio_client::StdioClient;
use super::temp_dir::TempDir;

/// How to start it. The directory lives as long as this or what was started from it.
pub struct Proxy {
    pub directory: TempDir,
    program: Vec<OsString>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Proxy {
    pub fn new(config: &Config) -> Self {
        Self::with_config_text(&config.text())
    }

    /// The config file as it is written.
    pub fn with_config_text(text: &str) -> Self {
        let directory = TempDir::new();
        directory.write("proxy.yaml", text);
        let program = vec![programs::proxy().get_program().to_owned()];
        Self { directory, program, arguments: Vec::new(), environment: Vec::new() }
    }

    /// Another program in the proxy's place, as a shell script: the same test then runs without the proxy.
    pub fn stand_in(mut self, script: &str) -> Self {
        let script = self.directory.write("stand-in.sh", script);
        self.program = vec!["sh".into(), script.into()];
        self
    }

    /// Another file beside the config, such as a script.
    pub fn file(self, name: &str, text: &str) -> Self {
        self.directory.write(name, text);
        self
    }

    /// A program beside the config.
    pub fn executable(self, name: &str, text: &str) -> Self {
        let file = self.directory.write(name, text);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
        self
    }

    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Any command of the proxy in this world, for tests of the command line.
    pub fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).current_dir(self.directory.path()).args(arguments).args(&self.arguments);
        for (name, folder) in [("HOME", "home"), ("XDG_CACHE_HOME", "cache"), ("XDG_RUNTIME_DIR", "runtime")] {
            command.env(name, self.directory.directory(folder));
        }
        // The user's own settings must not reach a test.
        for name in [
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
            "PROXY_CONFIG",
            "NO_COLOR",
            "BROWSER",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
        ] {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    pub fn serve_command(&self) -> Command {
        self.command(["serve", "--config", "proxy.yaml"])
    }

    fn serve_http_command(&self) -> Command {
        self.command(["serve", "--http", "127.0.0.1:0", "--config", "proxy.yaml"])
    }

    /// Serves on a free port and ends because something is wrong. On stdio the servers, and with them the first run of the
    /// script, would wait for a client.
    pub async fn refused(&self) -> Finished {
        Finished::run(self.serve_http_command()).await.expect(1)
    }

    /// Serves on stdio.
    pub fn stdio(self) -> StdioProxy {
        let client = StdioClient::start(self.serve_command());
        StdioProxy { client, world: self }
    }

    /// Serves on this port.
    pub async fn http_at(self, port: u16) -> HttpProxy {
        let command = self.command(["serve", "--http", &format!("127.0.0.1:{port}"), "--config", "proxy.yaml"]);
        let (program, url) = Program::start_server(command).await;
        HttpProxy { program, url, world: self }
    }

    /// Serves on a free port.
    pub async fn http(self) -> HttpProxy {
        let (program, url) = Program::start_server(self.serve_http_command()).await;
        HttpProxy { program, url, world: self }
    }
}

/// Fields are dropped in order: the program ends before its directory goes.
pub struct StdioProxy {
    pub client: StdioClient,
    pub world: Proxy,
}

pub struct HttpProxy {
    pub program: Program,
    pub url: String,
    pub world: Proxy,
}

impl From<Proxy> for StdioProxy {
    fn from(proxy: Proxy) -> Self {
        proxy.stdio()
    }
}

impl StdioProxy {
    /// The tools that a client of a session sees now.
    pub async fn tools(&mut self) -> Vec<String> {
        self.client.request("tools/list", "{}").await.tool_names()
    }
}

impl HttpProxy {
    /// A new client with a session of its own.
    pub fn client(&self) -> HttpClient {
        HttpClient::new(&self.url, self.program.stderr.clone())
    }
}
