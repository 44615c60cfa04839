//! The parts of the measurement, and the table they print.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{env, fs};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::client::Client;
use crate::hops::{self, Hop};
use crate::identity::Issuer;
use crate::snippets::Snippets;
use crate::ways::Way;
use crate::{
    apis, check, cpu, extensions, guards, http, identity, people, replay, sessions, stdio, surface, waiting, watched,
    ways,
};

const CALLS: usize = 40_000;
/// Of which the middle one counts.
const ROUNDS: usize = 9;
const SESSIONS: usize = 10_000;
const USERS: usize = 10_000;
const PEOPLE: usize = 900;
const WRAPPED: &str = r#"
def logged(call):
    def handler(args):
        return call(args)
    return handler

for name, backend in backends().items():
    for meta, call in backend.tools():
        publish(meta, logged(call))
"#;

pub async fn run(wanted: &[String]) {
    let folder = env::temp_dir().join(format!("proxy-costs-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let bench = Bench { folder: folder.clone() };
    let all = wanted.is_empty();
    let is = |name: &str| all || wanted.iter().any(|part| part == name);
    println!("{:<58} {:>10} {:>8}", "what", "measured", "at most");
    if is("stdio") {
        bench.stdio().await;
    }
    if is("http") {
        bench.http().await;
    }
    if is("apis") {
        bench.apis().await;
    }
    if is("hops") {
        hops::measure(&bench, &bench.folder, wanted).await;
    }
    if is("surface") {
        row("script run and surface, 1,000 tools (ms)", surface::cost(), 25.0);
        row("the list of 1,000 tools for a client of a row (ms)", surface::lowering(), 40.0);
        row("a result of a megabyte in pages (ms)", surface::paging().await, 10.0);
    }
    if is("extensions") {
        bench.extensions().await;
    }
    if is("replay") {
        row("a handler run again after 20 calls (ms)", replay::cost(), 2.0);
    }
    if is("waiting") {
        bench.waiting().await;
    }
    if is("check") {
        row("`proxy check`, default preset, 1,000 tools (ms)", check::cost(&bench.proxy(), &bench.folder), 200.0);
    }
    if is("snippets") {
        bench.snippets().await;
    }
    if is("beside") {
        bench.beside().await;
    }
    if is("watched") {
        bench.watched().await;
    }
    if is("guards") {
        bench.guards().await;
    }
    if is("identity") {
        bench.identity().await;
    }
    if is("people") {
        bench.people().await;
    }
    if is("memory") {
        bench.memory().await;
    }
    if is("sessions") {
        bench.sessions().await;
    }
    if is("session-ids") {
        bench.session_ids().await;
    }
    if is("start") {
        bench.start();
    }
    let _ = fs::remove_dir_all(folder);
}

fn row(what: &str, measured: f64, limit: f64) {
    let mark = if measured <= limit { "" } else { "  over" };
    println!("{what:<58} {measured:>10.1} {limit:>8.0}{mark}");
}

/// A row of small numbers.
fn row_of(what: &str, measured: f64, limit: f64) {
    let mark = if measured <= limit { "" } else { "  over" };
    println!("{what:<58} {measured:>10.2} {limit:>8}{mark}");
}

struct Bench {
    folder: PathBuf,
}

impl Bench {
    fn me(&self) -> String {
        env::current_exe().unwrap().display().to_string()
    }

    /// The binary of this build, or the one that is named, to compare two.
    fn proxy(&self) -> String {
        env::var("PROXY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_proxy").to_owned())
    }

    fn config(&self, name: &str, servers: &str, script: Option<&str>) -> String {
        let script = script.map_or_else(String::new, |script| {
            let body: String = script.lines().map(|line| format!("    {line}\n")).collect();
            format!("sessionInit:\n  script: |\n{body}")
        });
        let path = self.folder.join(name);
        fs::write(&path, format!("mcpServers:\n{servers}{script}")).unwrap();
        path.display().to_string()
    }

    fn stdio_config(&self, wrapped: bool) -> String {
        let server = format!("  b: {{ command: {}, args: [backend] }}\n", self.me());
        self.config(if wrapped { "wrapped.yaml" } else { "plain.yaml" }, &server, wrapped.then_some(WRAPPED))
    }

    /// The proxy on a pipe.
    fn serve(&self, config: String) -> [String; 6] {
        [self.proxy(), "serve".into(), "--log".into(), "warn".into(), "--config".into(), config]
    }

    async fn waiting(&self) {
        let server = |name: &str, part: &str| {
            format!("  {name}: {{ command: {}, args: [{part}], maxConcurrent: 1000 }}\n", self.me())
        };
        let servers = server("slow", "slow-backend") + &server("quick", "backend");
        let config = self.config("waiting.yaml", &servers, Some(waiting::SCRIPT));
        let measured = waiting::measure(&self.serve(config)).await;
        let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
        row("1,000 handlers that wait 50 ms at once, all of them (ms)", millis(measured.all), 250.0);
        row("99 of 100 direct calls meanwhile (ms)", millis(measured.direct), 25.0);
    }

    async fn stdio(&self) {
        let relay = [self.me(), "relay".into(), self.me(), "backend".into()];
        let serve = |config| self.serve(config);
        let base = stdio::cost(&relay, 32, CALLS).await;
        let plain = stdio::cost(&serve(self.stdio_config(false)), 32, CALLS).await;
        let wrapped = stdio::cost(&serve(self.stdio_config(true)), 32, CALLS).await;
        let plain_many = stdio::cost(&serve(self.stdio_config(false)), 1000, CALLS).await;
        let wrapped_many = stdio::cost(&serve(self.stdio_config(true)), 1000, CALLS).await;
        println!("{:<58} {base:>10.1}", "  relay over stdio, 32 in flight (CPU µs a call)");
        println!("{:<58} {plain:>10.1}", "  proxy over stdio");
        row("unwrapped call over stdio, over the relay (CPU µs)", plain - base, 15.0);
        row("wrapped handler, over the unwrapped call (CPU µs)", wrapped - plain, 30.0);
        row("the same with 1,000 in flight (CPU µs)", wrapped_many - plain_many, 60.0);
    }

    async fn extensions(&self) {
        let file = self.folder.join("trivial.star");
        fs::write(&file, extensions::TRIVIAL).unwrap();
        let serve = |file: PathBuf| {
            let arguments = ["serve", "--log", "warn", "--extension", &file.display().to_string()].map(String::from);
            std::iter::once(self.proxy()).chain(arguments).collect::<Vec<_>>()
        };
        let trivial = stdio::cost(&serve(file), 32, CALLS).await;
        row("trivial tool of an extension, all of the call (CPU µs)", trivial, 50.0);
        let (called, started) = extensions::executable(&self.folder, serve).await;
        println!("{:<58} {called:>10.1}", "  a tool that is an executable (CPU µs, without its own)");
        println!("{:<58} {started:>10.1}", "  starting it from a small program, without fork");
        row("loading 200 extensions (ms)", extensions::loading(&self.folder, 200), 1000.0);
    }

    async fn listening(&self, arguments: &[String], from_stderr: bool) -> (Child, String) {
        let mut child = Command::new(&arguments[0])
            .args(&arguments[1..])
            .stdin(Stdio::null())
            .stdout(if from_stderr { Stdio::null() } else { Stdio::piped() })
            .stderr(if from_stderr { Stdio::piped() } else { Stdio::null() })
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut line = String::new();
        if from_stderr {
            let mut lines = BufReader::new(child.stderr.take().unwrap());
            while !line.contains("listening on ") {
                line.clear();
                assert!(lines.read_line(&mut line).await.unwrap() > 0, "the proxy ended");
            }
            tokio::spawn(async move {
                let mut rest = String::new();
                while lines.read_line(&mut rest).await.unwrap_or(0) > 0 {
                    rest.clear();
                }
            });
            let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
            return (child, address);
        }
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut line).await.unwrap();
        (child, line.trim().to_owned())
    }

    async fn serving(&self, config: String) -> (Child, String) {
        let arguments = ["serve", "--http", "127.0.0.1:0", "--log", "warn", "--config", &config].map(str::to_owned);
        self.listening(&[vec![self.proxy()], arguments.to_vec()].concat(), true).await
    }

    /// Sessions of one surface that all share, without open streams.
    async fn sessions(&self) {
        let (proxy, address) = self.serving(self.stdio_config(false)).await;
        let pid = proxy.id().unwrap();
        sessions::open(&address, 1).await;
        let before = cpu::resident(pid);
        sessions::open(&address, SESSIONS - 1).await;
        let after = cpu::resident(pid);
        println!("{:<58} {:>10.1}", "  of which each session (KB)", (after - before) * 1024.0 / SESSIONS as f64);
        row("memory with 10,000 idle sessions of a shared surface (MB)", after, 400.0);
    }

    /// Sessions that are new to a replica, and sessions that it has in its table.
    async fn session_ids(&self) {
        let server = format!("  b: {{ command: {}, args: [backend] }}\n", self.me());
        let keys = format!("serve: {{ stateKeys: [{}] }}\n", "k".repeat(44));
        let config = self.config("replica.yaml", &format!("{server}{keys}"), None);
        let (home, address) = self.serving(config.clone()).await;
        let opened = sessions::open(&address, SESSIONS / 2).await;
        drop(home);
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS / 2 {
            let (replica, address) = self.serving(config.clone()).await;
            rounds.push(sessions::costs(&address, replica.id().unwrap(), &opened).await);
        }
        let middle = |cost: fn(&sessions::Costs) -> f64| watched::middle(rounds.iter().map(cost).collect());
        println!("{:<58} {:>10.1}", "  ping of one session (CPU µs)", middle(|costs| costs.same));
        row_of("ping of one of 5,000 sessions, over that (CPU µs)", middle(|costs| costs.next - costs.same), 2.0);
        row_of("first ping of a session of another replica (CPU µs)", middle(|costs| costs.first - costs.next), 20.0);
    }

    async fn with_code_mode(&self) -> (Child, String) {
        let server = format!("  b: {{ command: {}, args: [backend] }}\n", self.me());
        let code_mode = "codeMode: { enabled: true, timeout: 5s }\n";
        self.serving(self.config("snippets.yaml", &format!("{server}{code_mode}"), None)).await
    }

    /// Scripts of models.
    async fn snippets(&self) {
        let (proxy, address) = self.with_code_mode().await;
        let pid = proxy.id().unwrap();
        let mut snippets = Snippets::at(&address).await;
        snippets.alone(20, Duration::ZERO).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        row("memory at rest with code mode, all processes (MB)", cpu::tree_memory(pid), 60.0);
        let before = cpu::tree_seconds(pid);
        let times = snippets.alone(500, Duration::ZERO).await;
        let cpu = (cpu::tree_seconds(pid) - before) * 1e3 / times.len() as f64;
        row("a script of a model with one tool call, warm (ms)", times[times.len() / 2], 15.0);
        println!("{:<58} {:>10.1}", "  p99 of these", times[times.len() * 99 / 100]);
        println!("{:<58} {cpu:>10.1}", "  CPU of each, all processes (ms)");
        let times = snippets.alone(100, Duration::from_millis(50)).await;
        println!("{:<58} {:>10.1}", "  one after a pause (ms)", times[times.len() / 2]);
        println!("{:<58} {:>10.1}", "  p99 of these", times[times.len() * 99 / 100]);
        row("ten such scripts at once, all of them (ms)", snippets.at_once(10).await, 50.0);
    }

    /// A client beside scripts of models that runs none: it may notice them by so much.
    async fn beside(&self) {
        let (_proxy, address) = self.with_code_mode().await;
        let mut snippets = Snippets::at(&address).await;
        let quiet = snippets.latency().await;
        let limit = 2.0 * quiet + 5.0;
        println!("{:<58} {quiet:>10.1}", "  p99 of a tool's calls, nobody else there (ms)");
        let (beside_many, ended) = snippets.beside_many(100).await;
        row("the same beside 100 scripts of models at once (ms)", beside_many, limit);
        println!("{:<58} {ended:>10.1}", "  of which end in a second");
        row("the same beside all bombs of another session (ms)", snippets.beside_bombs().await, limit);
    }

    async fn http(&self) {
        let (_backend, backend) = self.listening(&[self.me(), "http-backend".into()], false).await;
        let (relay, relay_address) = self.listening(&[self.me(), "tcp-relay".into(), backend.clone()], false).await;
        let server = format!("  b: {{ url: \"http://{backend}/mcp\" }}\n");
        let config = self.config("http.yaml", &server, None);
        let (proxy, proxy_address) = self.serving(config).await;
        // In turns: the machine is faster at one time than at another.
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let base = http::cost(&relay_address, relay.id().unwrap(), 32, CALLS / 4).await;
            let plain = http::cost(&proxy_address, proxy.id().unwrap(), 32, CALLS / 4).await;
            rounds.push((base, plain));
        }
        rounds.sort_by(|left, right| (left.1 - left.0).total_cmp(&(right.1 - right.0)));
        let (base, plain) = rounds[rounds.len() / 2];
        println!("{:<58} {base:>10.1}", "  relay over TCP, 32 connections (CPU µs a call)");
        println!("{:<58} {plain:>10.1}", "  proxy over HTTP, HTTP backend");
        row("unwrapped call over HTTP, over the relay (CPU µs)", plain - base, 25.0);
    }

    /// An API of a thousand operations, and calls of an API beside calls of an MCP server that does the same.
    async fn apis(&self) {
        let (_backend, backend) = self.listening(&[self.me(), "http-backend".into()], false).await;
        let mut times = Vec::new();
        let mut sizes = Vec::new();
        for round in 0..ROUNDS {
            let few = self.listed_api(&backend, round, 10).await;
            let many = self.listed_api(&backend, round, 1000).await;
            times.push(many.0 - few.0);
            sizes.push(many.1 - few.1);
        }
        row("start and list of 1,000 operations, over ten (ms)", watched::middle(times), 1000.0);
        row("memory of 1,000 operations, over ten (MB)", watched::middle(sizes), 60.0);
        fs::write(self.folder.join("echo.json"), apis::echo()).unwrap();
        let server = format!("  b: {{ url: \"http://{backend}/mcp\" }}\n");
        let (mcp, mcp_address) = self.serving(self.config("beside-api.yaml", &server, None)).await;
        let server = format!("  b: {{ openapi: echo.json, url: \"http://{backend}\" }}\n");
        let (api, api_address) = self.serving(self.config("api.yaml", &server, None)).await;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let of_mcp = http::cost(&mcp_address, mcp.id().unwrap(), 32, CALLS / 4).await;
            let of_api = http::cost(&api_address, api.id().unwrap(), 32, CALLS / 4).await;
            rounds.push((of_api / of_mcp, of_mcp, of_api));
        }
        rounds.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (ratio, of_mcp, of_api) = rounds[rounds.len() / 2];
        println!("{:<58} {of_mcp:>10.1}", "  call of a server over HTTP (CPU µs)");
        println!("{:<58} {of_api:>10.1}", "  call of an API");
        row_of("call of an API, as a ratio to that of a server over HTTP", ratio, 1.3);
    }

    /// How long it takes from the start until a client has the list, in milliseconds, and the memory then in MB.
    async fn listed_api(&self, backend: &str, round: usize, operations: usize) -> (f64, f64) {
        // A file of its own: the lists of an entry that was there before are cached.
        let name = format!("api-{round}-{operations}");
        fs::write(self.folder.join(format!("{name}.json")), apis::of_operations(operations)).unwrap();
        let server = format!("  {name}: {{ openapi: {name}.json, url: \"http://{backend}\" }}\n");
        let config = self.config(&format!("{name}.yaml"), &server, None);
        let started = Instant::now();
        let (proxy, address) = self.serving(config).await;
        let mut client = Client::connect(&address).await;
        client.open_session().await;
        let time = started.elapsed().as_secs_f64() * 1e3;
        let list = client.post(apis::LIST).await;
        assert!(list.contains(&format!("\"op{}\"", operations - 1)), "the last operation is missing");
        (time, cpu::resident(proxy.id().unwrap()))
    }

    /// Calls that are counted, audited and followed.
    async fn watched(&self) {
        row_of("counting a call while nobody reads records (µs)", watched::unread(), 0.3);
        row_of("what a call waits for while it is audited (µs)", watched::audited(&self.folder), 2.0);
        let server = format!("  b: {{ command: {}, args: [backend] }}\n", self.me());
        let (plain, plain_address) = self.serving(self.config("unwatched.yaml", &server, None)).await;
        let log = self.folder.join("audit.jsonl");
        let watched = format!(
            "{server}telemetry: {{ metrics: '127.0.0.1:0' }}\naudit: {{ file: {}, key: {} }}\n",
            log.display(),
            "k".repeat(32)
        );
        let (audited, audited_address) = self.serving(self.config("watched.yaml", &watched, None)).await;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let without = http::cost(&plain_address, plain.id().unwrap(), 32, CALLS / 4).await;
            rounds.push(http::cost(&audited_address, audited.id().unwrap(), 32, CALLS / 4).await - without);
        }
        let cost = watched::middle(rounds);
        println!("{:<58} {cost:>10.2}", "  with the thread that writes the log (CPU µs)");
        let mut client = Client::connect(&plain_address).await;
        client.open_session().await;
        let time = Duration::from_secs(5);
        let alone = watched::p99(&mut client, time).await;
        let pid = plain.id().unwrap().to_string();
        let _follower = Command::new(self.proxy())
            .args(["calls", "--follow", "--json", "--pid", &pid])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let followed = watched::p99(&mut client, time).await;
        println!("{:<58} {alone:>10.2}", "  p99 of calls that nobody follows (ms)");
        println!("{:<58} {followed:>10.2}", "  p99 of calls that somebody follows (ms)");
    }

    /// Calls of a known person that a lock, flow rules and a limit for results let pass.
    async fn guards(&self) {
        let sections = format!("  b: {{ command: {}, args: [backend] }}\n{}", self.me(), people::tokens(1));
        let (_plain, plain) = self.way(&self.folder, "unguarded.yaml", &sections).await;
        let mut processes = Vec::new();
        let mut ways = vec![plain];
        for (number, guard) in guards::GUARDS.iter().enumerate() {
            let name = format!("guarded-{number}.yaml");
            let sections = format!("{sections}{}", guard.section);
            if guard.section.starts_with("lock") {
                guards::lock(&self.proxy(), &self.config(&name, &sections, None));
            }
            let (process, way) = self.way(&self.folder, &name, &sections).await;
            processes.push(process);
            ways.push(way);
        }
        let costs = ways::costs(&ways, 2 * ROUNDS + 1, CALLS / 8).await;
        let plain = watched::middle(costs.iter().map(|round| round[0]).collect());
        println!("{:<58} {plain:>10.1}", "  call over HTTP with a token, no guards (CPU µs)");
        for (number, guard) in guards::GUARDS.iter().enumerate() {
            let what = format!("{}, over that (CPU µs)", guard.what);
            let over = ways::over(&costs, number + 1, 0);
            match guard.limit {
                Some(limit) => row_of(&what, over, limit),
                None => println!("{:<58} {over:>10.2}", format!("  {what}")),
            }
            println!("{:<58} {:>10.3}", "  the same as a ratio", ways::ratio(&costs, number + 1, 0));
        }
    }

    /// Calls of a user whose token is checked and about whom policies decide.
    async fn identity(&self) {
        row("1,000 tools and 200 policies for a new user (ms)", identity::listing(&self.folder), 30.0);
        row("a decision on arguments, 50 policies (µs)", identity::decision(&self.folder), 30.0);
        let (_backend, backend) = self.listening(&[self.me(), "http-backend".into()], false).await;
        let server = format!("  b: {{ url: \"http://{backend}/mcp\" }}\n");
        let (plain, plain_address) = self.serving(self.config("open.yaml", &server, None)).await;
        fs::write(self.folder.join("fifty.cedar"), identity::policies(50)).unwrap();
        let issuer = Issuer::start().await;
        let sections = format!("{server}{}cedar: {{ policies: [fifty.cedar] }}\n", issuer.config());
        let (guarded, guarded_address) = self.serving(self.config("guarded.yaml", &sections, None)).await;
        let (header, pid) = (issuer.header("ann", &["ops", "team1"]), guarded.id().unwrap());
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let without = http::cost(&plain_address, plain.id().unwrap(), 32, CALLS).await;
            rounds.push(http::cost_with(&header, &guarded_address, pid, 32, CALLS).await - without);
        }
        row_of("a JWT and 50 policies, over a call without (CPU µs)", watched::middle(rounds), 4.0);
        println!("{:<58} {:>10.1}", "  memory with one user (MB)", cpu::resident(pid));
        for number in 0..USERS {
            // Many groups, so that policies tell many of them apart.
            let group = format!("team{}", number % 100);
            http::drive(&issuer.header(&format!("user{number}"), &[&group]), &guarded_address, 1, 1).await;
        }
        row("memory after 10,000 users (MB)", cpu::resident(pid), 200.0);
    }

    /// Calls at the path of a profile, and calls with a person's own account.
    async fn people(&self) {
        let (_backend, backend) = self.listening(&[self.me(), "http-backend".into()], false).await;
        let url = format!("http://{backend}/mcp");
        let shared = format!("  crm: {{ url: '{url}', headers: {{ Authorization: Bearer of-everybody }} }}\n");
        let personal = format!("  crm: {{ url: '{url}', auth: {{ type: oauth, per: person }} }}\n");
        let tokens = people::tokens(1 + PEOPLE);
        let one = people::tokens(1);
        let profiles = "profiles: { some: { servers: ['*'] }, other: { servers: ['*'] } }\n";
        let state = people::logged_in(&self.folder, &url, 1 + PEOPLE);
        let (_plain, plain) = self.way(&state, "plain-people.yaml", &format!("{shared}{one}")).await;
        let (_viewed, viewed) = self.way(&state, "profiles.yaml", &format!("{shared}{one}{profiles}")).await;
        let profile = Way { address: format!("{}/mcp/some", viewed.address), ..viewed.clone() };
        let (_own, own) = self.way(&state, "own.yaml", &format!("{personal}{one}")).await;
        let costs = ways::costs(&[plain, viewed, profile, own], 3 * ROUNDS, CALLS / 8).await;
        let over = |what, base| ways::over(&costs, what, base);
        let ratio = |what, base| ways::ratio(&costs, what, base);
        let plain = watched::middle(costs.iter().map(|round| round[0]).collect());
        println!("{:<58} {plain:>10.1}", "  call with a static token, no profiles (CPU µs)");
        row_of("call at the top level beside profiles, over that (CPU µs)", over(1, 0), 0.1);
        row_of("call at a profile, over the top level (CPU µs)", over(2, 1), 0.1);
        println!("{:<58} {:>10.3}", "  the same as a ratio", ratio(2, 1));
        row_of("call with an own account, over a shared one (CPU µs)", over(3, 0), 1.0);
        println!("{:<58} {:>10.3}", "  the same as a ratio", ratio(3, 0));
        let (_many, many) = self.way(&state, "many-people.yaml", &format!("{personal}{tokens}")).await;
        http::drive(&many.headers, &many.address, 1, 1).await;
        let before = cpu::resident(many.pid);
        for number in 1..=PEOPLE {
            http::drive(&people::header(number), &many.address, 1, 1).await;
        }
        let memory = (cpu::resident(many.pid) - before) * 1024.0 / PEOPLE as f64;
        row("memory per connected person, with the lists (KB)", memory, 64.0);
    }

    /// The way of the first person to a proxy with this config and this state.
    async fn way(&self, state: &Path, name: &str, sections: &str) -> (Child, Way) {
        let state = format!("XDG_STATE_HOME={}", state.display());
        let config = self.config(name, sections, None);
        let proxy = self.proxy();
        let arguments = ["env", &state, &proxy, "serve", "--http", "127.0.0.1:0", "--log", "warn", "--config", &config];
        let (process, address) = self.listening(&arguments.map(str::to_owned), true).await;
        let pid = process.id().unwrap();
        (process, Way { headers: people::header(0), address, pid })
    }

    async fn memory(&self) {
        let servers: String =
            (0..10).map(|number| format!("  b{number}: {{ command: {}, args: [backend] }}\n", self.me())).collect();
        let config = self.config("ten.yaml", &servers, None);
        let mut child = Command::new(self.proxy())
            .args(["serve", "--config", &config])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("ready:") {
            line.clear();
            assert!(lines.read_line(&mut line).await.unwrap() > 0, "the proxy ended");
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        row("memory at rest with 10 servers (MB)", cpu::resident(child.id().unwrap()), 40.0);
    }

    fn start(&self) {
        let best = (0..20)
            .map(|_| {
                let started = Instant::now();
                let status =
                    std::process::Command::new(self.proxy()).arg("list-presets").stdout(Stdio::null()).status();
                assert!(status.unwrap().success());
                started.elapsed().as_secs_f64() * 1e3
            })
            .fold(f64::INFINITY, f64::min);
        row("`proxy list-presets` (ms)", best, 30.0);
    }
}

impl hops::Starts for Bench {
    async fn server(&self, [sdk, answer, era]: [&str; 3]) -> Hop {
        let arguments = [&self.me(), "sdk-backend", sdk, answer, era].map(str::to_owned);
        let (process, address) = self.listening(&arguments, false).await;
        Hop { process, address }
    }

    async fn proxy(&self, server: &str, wrapped: bool) -> Hop {
        let name = if wrapped { "hop-wrapped.yaml" } else { "hop-plain.yaml" };
        let config = self.config(name, &format!("  b: {server}\n"), wrapped.then_some(WRAPPED));
        let (process, address) = self.serving(config).await;
        Hop { process, address }
    }

    fn on_a_pipe(&self) -> String {
        format!("{{ command: {}, args: [backend] }}", self.me())
    }
}
