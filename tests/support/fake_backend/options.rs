//! The command line: which transport, which era, which misbehaviour.

use crate::old_sse::OldSse;
use crate::sse::Spelling;

#[derive(Clone, Debug)]
pub enum Transport {
    Stdio,
    Http(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eras {
    pub legacy: bool,
    pub modern: bool,
}

#[derive(Debug)]
pub struct Options {
    pub transport: Transport,
    pub eras: Eras,
    pub flip_era: bool,
    /// The one revision `initialize` answers with; without it the client's own, if known.
    pub version: Option<String>,
    /// Revisions a modern request may name; any other gets -32022 with this list.
    pub only_versions: Option<Vec<String>>,
    pub name: String,
    pub instructions: Option<String>,

    pub tools_file: Option<String>,
    pub results_file: Option<String>,
    /// A JSON object with `tools` and `instructions` that are read at every list and handshake, so that they may change.
    pub live_file: Option<String>,
    pub builtin_tools: bool,
    /// Built-in tools to list, in this order; all when absent.
    pub only: Option<Vec<String>>,
    pub malformed_tool: bool,
    pub bad_headers: bool,
    pub pages: usize,
    pub repeat_cursor: bool,
    /// Pages without end, each with a cursor of its own.
    pub endless_pages: bool,
    /// So many pages in place of the other tools, each with so many tools, each with a description of so many bytes.
    pub fat: Option<[usize; 3]>,
    /// The last page says `"nextCursor": null`.
    pub null_cursor: bool,
    /// What the modern era's lists and resources say about being kept.
    pub ttl: u64,
    pub scope: String,
    pub list_changed: bool,
    pub subscribe: bool,
    pub resources: bool,
    pub prompts: bool,
    /// How many values a completion has; without it there is no completion.
    pub completions: Option<usize>,
    /// More members of the capabilities, as text without braces.
    pub capabilities: Option<String>,
    /// The tools are not a capability of this server.
    pub no_tools: bool,
    /// Methods that begin with `vendor/` are answered with what they were given.
    pub vendor: bool,
    /// Two more tools that work as tasks, and the methods that go with them.
    pub tasks: bool,
    /// In the modern era it cannot ask, sends no log messages, says less about errors and has one tool less.
    pub poor_modern: bool,
    /// Capabilities that only the legacy era has.
    pub modern_lacks: Vec<String>,
    /// Capabilities that only the modern era has.
    pub legacy_lacks: Vec<String>,
    /// Lists the tool `with_form` to clients that can be asked by forms.
    pub form_tool: bool,
    /// Asks for the client's folders as soon as the handshake is over, and on a pipe whenever they change.
    pub asks_roots: bool,

    /// While this file is there, each of its lines `refuse METHOD` or `ignore METHOD` is obeyed.
    pub faults_file: Option<String>,
    pub exit_immediately: Option<i32>,
    pub start_delay: Option<u64>,
    pub banner: bool,
    pub stderr: Option<String>,
    pub never_answer: bool,
    pub exit_on_discover: bool,
    pub silent_on_discover: bool,
    pub discover_error: Option<i64>,
    /// How long `server/discover` takes, in milliseconds.
    pub discover_delay: Option<u64>,
    pub crlf: bool,

    pub pretty: bool,
    pub json: bool,
    pub get: bool,
    pub session: bool,
    pub expire_session_after: Option<usize>,
    pub priming_retry: Option<u64>,
    pub drop_stream: bool,
    /// The status of `initialize` and `server/discover`, with an empty body.
    pub status: Option<u16>,
    /// The same for `server/discover` alone.
    pub discover_status: Option<u16>,
    /// Errors of the older era come with an HTTP status of their own, too.
    pub error_status: bool,
    pub html: bool,
    pub require_bearer: Option<String>,
    pub redirect: Option<String>,
    pub sse: Spelling,
    /// The transport of 2024-11-05 in place of Streamable HTTP.
    pub old_sse: Option<OldSse>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            transport: Transport::Stdio,
            eras: Eras { legacy: true, modern: true },
            flip_era: false,
            version: None,
            only_versions: None,
            name: "fake-backend".to_owned(),
            instructions: None,
            tools_file: None,
            results_file: None,
            live_file: None,
            builtin_tools: false,
            only: None,
            malformed_tool: false,
            bad_headers: false,
            pages: 1,
            repeat_cursor: false,
            endless_pages: false,
            fat: None,
            null_cursor: false,
            ttl: 0,
            scope: "private".to_owned(),
            list_changed: true,
            subscribe: true,
            resources: false,
            prompts: false,
            completions: None,
            capabilities: None,
            no_tools: false,
            vendor: false,
            tasks: false,
            poor_modern: false,
            modern_lacks: Vec::new(),
            legacy_lacks: Vec::new(),
            form_tool: false,
            asks_roots: false,
            faults_file: None,
            exit_immediately: None,
            start_delay: None,
            banner: false,
            stderr: None,
            never_answer: false,
            exit_on_discover: false,
            silent_on_discover: false,
            discover_error: None,
            discover_delay: None,
            crlf: false,
            pretty: false,
            json: false,
            get: true,
            session: true,
            expire_session_after: None,
            priming_retry: None,
            drop_stream: false,
            status: None,
            discover_status: None,
            error_status: false,
            html: false,
            require_bearer: None,
            redirect: None,
            sse: Spelling::default(),
            old_sse: None,
        }
    }
}

impl Options {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = Arguments { rest: arguments };
        while let Some(flag) = arguments.rest.next() {
            options.apply(&flag, &mut arguments)?;
        }
        Ok(options)
    }

    fn apply<I: Iterator<Item = String>>(&mut self, flag: &str, rest: &mut Arguments<I>) -> Result<(), String> {
        match flag {
            "--stdio" => self.transport = Transport::Stdio,
            "--http" => self.transport = Transport::Http(rest.text(flag)?),
            "--era" => self.eras = era(&rest.text(flag)?)?,
            "--flip-era" => self.flip_era = true,
            "--version" => self.version = Some(rest.text(flag)?),
            "--only-versions" => self.only_versions = Some(rest.list(flag)?),
            "--name" => self.name = rest.text(flag)?,
            "--instructions" => self.instructions = Some(rest.text(flag)?),
            "--tools" => self.tools_file = Some(rest.text(flag)?),
            "--live" => self.live_file = Some(rest.text(flag)?),
            "--results" => self.results_file = Some(rest.text(flag)?),
            "--builtin" => self.builtin_tools = true,
            "--only" => self.only = Some(rest.list(flag)?),
            "--malformed-tool" => self.malformed_tool = true,
            "--bad-headers" => self.bad_headers = true,
            "--pages" => self.pages = rest.number(flag)?,
            "--repeat-cursor" => self.repeat_cursor = true,
            "--endless-pages" => self.endless_pages = true,
            "--fat" => self.fat = Some(three_numbers(&rest.list(flag)?)?),
            "--null-cursor" => self.null_cursor = true,
            "--ttl" => self.ttl = rest.number(flag)?,
            "--scope" => self.scope = rest.text(flag)?,
            "--no-list-changed" => self.list_changed = false,
            "--no-subscribe" => self.subscribe = false,
            "--resources" => self.resources = true,
            "--prompts" => self.prompts = true,
            "--completions" => self.completions = Some(rest.number(flag)?),
            "--capabilities" => self.capabilities = Some(rest.text(flag)?),
            "--no-tools" => self.no_tools = true,
            "--vendor" => self.vendor = true,
            "--tasks" => self.tasks = true,
            "--poor-modern" => self.poor_modern = true,
            "--modern-lacks" => self.modern_lacks = rest.list(flag)?,
            "--legacy-lacks" => self.legacy_lacks = rest.list(flag)?,
            "--form-tool" => self.form_tool = true,
            "--asks-roots" => self.asks_roots = true,
            "--faults" => self.faults_file = Some(rest.text(flag)?),
            "--exit-immediately" => self.exit_immediately = Some(rest.number(flag)?),
            "--start-delay" => self.start_delay = Some(rest.number(flag)?),
            "--banner" => self.banner = true,
            "--stderr" => self.stderr = Some(rest.text(flag)?),
            "--never-answer" => self.never_answer = true,
            "--exit-on-discover" => self.exit_on_discover = true,
            "--silent-on-discover" => self.silent_on_discover = true,
            "--discover-error" => self.discover_error = Some(rest.number(flag)?),
            "--discover-delay" => self.discover_delay = Some(rest.number(flag)?),
            "--crlf" => self.crlf = true,
            "--pretty" => self.pretty = true,
            "--json" => self.json = true,
            "--no-get" => self.get = false,
            "--session" => self.session = on_or_off(&rest.text(flag)?)?,
            "--expire-session-after" => self.expire_session_after = Some(rest.number(flag)?),
            "--priming-retry" => self.priming_retry = Some(rest.number(flag)?),
            "--drop-stream" => self.drop_stream = true,
            "--status" => self.status = Some(rest.number(flag)?),
            "--discover-status" => self.discover_status = Some(rest.number(flag)?),
            "--error-status" => self.error_status = true,
            "--html" => self.html = true,
            "--redirect" => self.redirect = Some(rest.text(flag)?),
            "--old-sse" => self.old_sse = Some(OldSse::parse(&rest.text(flag)?)?),
            "--sse" => self.sse = Spelling::parse(&rest.text(flag)?)?,
            "--require-bearer" => self.require_bearer = Some(rest.text(flag)?),
            other => return Err(format!("unknown flag `{other}`")),
        }
        Ok(())
    }
}

struct Arguments<I> {
    rest: I,
}

impl<I: Iterator<Item = String>> Arguments<I> {
    fn text(&mut self, flag: &str) -> Result<String, String> {
        self.rest.next().ok_or_else(|| format!("`{flag}` needs a value"))
    }

    fn list(&mut self, flag: &str) -> Result<Vec<String>, String> {
        Ok(self.text(flag)?.split(',').map(str::to_owned).collect())
    }

    fn number<N: std::str::FromStr>(&mut self, flag: &str) -> Result<N, String> {
        let text = self.text(flag)?;
        text.parse().map_err(|_| format!("`{flag}` needs a number, not `{text}`"))
    }
}

/// An era by name, or `@FILE` for the name in a file: another start may then find another era.
fn era(text: &str) -> Result<Eras, String> {
    let text = match text.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).map_err(|problem| format!("cannot read {path}: {problem}"))?,
        None => text.to_owned(),
    };
    match text.trim() {
        "legacy" => Ok(Eras { legacy: true, modern: false }),
        "modern" => Ok(Eras { legacy: false, modern: true }),
        "both" => Ok(Eras { legacy: true, modern: true }),
        other => Err(format!("`--era` is legacy, modern or both, not `{other}`")),
    }
}

fn three_numbers(texts: &[String]) -> Result<[usize; 3], String> {
    let numbers: Vec<usize> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    numbers.try_into().map_err(|_| format!("`--fat` needs three numbers, not {texts:?}"))
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(format!("`--session` is on or off, not `{other}`")),
    }
}
