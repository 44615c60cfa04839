//! The servers of the tasks, and the files, pages and repository that the tasks are about.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::config::Config;
use crate::support::message::Message;
use crate::support::office_servers as office;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::{Proxy, StdioProxy};
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

/// What the tasks call the folder and the site, which are elsewhere on each machine.
const FOLDER: &str = "/srv";
const SITE: &str = "http://wiki.example";

/// Tools with a name that an earlier server of LiveMCPBench has too: there they are published with a prefix.
const PREFIXED: [(&str, &str); 4] = [
    ("filesystem", "read_file"),
    ("filesystem", "read_multiple_files"),
    ("filesystem", "search_files"),
    ("fetch", "fetch"),
];

/// Fields are dropped in order: the programs end before their directory goes.
pub struct World {
    proxy: StdioProxy,
    _site: Program,
    /// Places of this machine, and what the tasks call them.
    places: [(String, &'static str); 2],
    _directory: TempDir,
}

impl World {
    /// The proxy in front of the servers, once it lists these tools. `None` where the servers cannot be installed.
    pub async fn start(tools: &[String]) -> Option<World> {
        let directory = TempDir::new();
        let folder = directory.directory("srv");
        write_files(&directory, &folder)?;
        let (command, address) = real_servers::site(&directory.path().join("site"));
        let (mut site, _stdin, _stdout) = Program::start(command);
        site.stderr.patience = LONG_PATIENCE;
        site.stderr.line("Serving HTTP").await;
        let mut proxy = Proxy::new(&config(&directory, &folder)?).stdio();
        proxy.client.program.stderr.patience = LONG_PATIENCE;
        proxy.client.initialize("2025-11-25").await.result();
        proxy.client.tools_until(|names| tools.iter().all(|tool| names.contains(tool))).await;
        let places = [(folder.display().to_string(), FOLDER), (address, SITE)];
        Some(World { proxy, _site: site, places, _directory: directory })
    }

    /// What a model is told of a call.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let here = self.places.iter().fold(arguments.to_string(), |text, (place, name)| text.replace(name, place));
        let answer = self.proxy.client.call(tool, &here).await;
        let text = told(&answer);
        self.places.iter().fold(text, |text, (place, name)| text.replace(place, name))
    }
}

/// The published name of a server's tool.
pub fn published(server: &str, tool: &str) -> String {
    if PREFIXED.contains(&(server, tool)) { format!("{server}_{tool}") } else { tool.to_owned() }
}

fn told(answer: &Message) -> String {
    let result = &answer.value()["result"];
    assert_ne!(result["isError"], true, "{}", answer.raw);
    let blocks = result["content"].as_array().unwrap_or_else(|| panic!("no content in {}", answer.raw));
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

fn config(directory: &TempDir, folder: &Path) -> Option<Config> {
    let overrides = |server: &str| {
        let tools = PREFIXED.iter().filter(|prefixed| prefixed.0 == server).map(|prefixed| prefixed.1);
        let named = tools.map(|tool| (tool.to_owned(), json!({"name": published(server, tool)})));
        json!({"workload": server, "overrides": Value::Object(named.collect())})
    };
    let renamed = json!({"tools": [overrides("filesystem"), overrides("fetch")]});
    Some(
        Config::new()
            .server("time", &real_servers::time()?)
            .server("filesystem", &real_servers::filesystem(folder)?)
            .server("memory", &real_servers::memory(directory.path())?)
            .server("git", &git_server(&folder.join("app"))?)
            .server("fetch", &real_servers::fetch()?)
            .server("excel", &office::excel()?)
            .server("taskmanager", &office::task_manager(directory.path())?)
            .server("Bazi", &office::chinese_calendar()?)
            .server("word-document-server", &office::word()?)
            .server("ppt", &office::power_point()?)
            .server("calculator", &office::calculator()?)
            .section("codeMode: {enabled: true}")
            .section(&format!("aggregation: {}", renamed)),
    )
}

fn git_server(repository: &Path) -> Option<Command> {
    let mut command = real_servers::python()?;
    command.args(["-m", "mcp_server_git", "--repository"]).arg(repository).envs(identity(START + 10 * DAY));
    Some(command)
}

/// When the first commit was made, in seconds as Git counts them.
const START: u64 = 1_777_626_000;
const DAY: u64 = 86_400;

/// Who commits, and when: a commit's digest depends on both.
fn identity(time: u64) -> [(&'static str, String); 6] {
    let date = format!("{time} +0000");
    [
        ("GIT_AUTHOR_NAME", "Ann Archer".to_owned()),
        ("GIT_AUTHOR_EMAIL", "ann@example.com".to_owned()),
        ("GIT_AUTHOR_DATE", date.clone()),
        ("GIT_COMMITTER_NAME", "Ann Archer".to_owned()),
        ("GIT_COMMITTER_EMAIL", "ann@example.com".to_owned()),
        ("GIT_COMMITTER_DATE", date),
    ]
}

fn write_files(directory: &TempDir, folder: &Path) -> Option<()> {
    let documentation = "node_modules/@modelcontextprotocol/server-everything/dist/docs";
    let pages = read_pages(&real_servers::npm_folder()?.join(documentation));
    for (name, text) in &pages {
        directory.write(&format!("srv/handbook/{name}"), text);
    }
    directory.write("srv/notes.txt", "Begin with the handbook.\nWe recieve the keys on Monday.\n");
    directory.write("site/deploy.html", include_str!("deploy.html"));
    office::write_workbook(&folder.join("budget.xlsx"), "Q1", &expenses().to_string())?;
    write_repository(directory, &folder.join("app"), &pages);
    Some(())
}

/// The Markdown files of a folder, by name.
fn read_pages(folder: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).expect("the package has documentation");
    let mut pages: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((path.file_name()?.to_str()?.to_owned(), std::fs::read_to_string(&path).ok()?))
        })
        .collect();
    pages.sort();
    pages
}

/// A repository in which each of the last commits adds a page of the handbook, and in which a note is not committed.
fn write_repository(directory: &TempDir, repository: &Path, pages: &[(String, String)]) {
    directory.write("srv/app/notes.txt", "Read before you change anything.\n");
    run_git(repository, START, &["init", "-q", "-b", "main"]);
    commit(repository, START, "notes: say what to read");
    for ((name, text), day) in pages.iter().zip(1..) {
        directory.write(&format!("srv/app/handbook/{name}"), text);
        commit(repository, START + day * DAY, &format!("handbook: add {name}"));
    }
    directory.write("srv/app/notes.txt", "Read before you change anything.\nBegin with the architecture.\n");
}

fn commit(repository: &Path, time: u64, message: &str) {
    run_git(repository, time, &["add", "."]);
    run_git(repository, time, &["commit", "-q", "-m", message]);
}

fn run_git(repository: &Path, time: u64, arguments: &[&str]) {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).envs(identity(time)).output();
    assert!(output.is_ok_and(|output| output.status.success()), "git {arguments:?}");
}

/// The rows of a sheet: eighty expenses of five departments.
fn expenses() -> Value {
    const DEPARTMENTS: [&str; 5] = ["Sales", "Research", "Support", "Design", "Legal"];
    const KINDS: [&str; 4] = ["travel", "hardware", "training", "licences"];
    let row = |number: usize| {
        let sum = (number * 37 % 90 + 10) as f64 * 12.5;
        json!([DEPARTMENTS[number % 5], KINDS[number % 4], sum, format!("2026-0{}-1{}", number % 3 + 1, number % 9)])
    };
    let mut rows = vec![json!(["department", "kind", "sum", "date"])];
    rows.extend((0..80).map(row));
    Value::from(rows)
}
