//! How often flow rules disturb a person whose servers are honest: a day's work with real servers, and the questions of the
//! proxy during it.

use serde_json::{Value, json};

use crate::elicitation::Client;
use crate::support::config::Config;
use crate::support::patience::LONG_PATIENCE;
use crate::support::program::Program;
use crate::support::proxy::Proxy;
use crate::support::real_servers;
use crate::support::temp_dir::TempDir;

/// Servers that ask for folders as well would be told of some.
const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;
const RULE: &str = "  rules:\n  - {when: [untrusted, secret], then: egress, do: ask}\n";
/// The customers' files are secret, and everything else goes by the hints of the servers.
const BY_HINTS: &str = "flow:\n  labels:\n  - {name: '*', server: customers, labels: [secret]}\n";
/// As well, one site is the person's own: what it says is their own word, and it may be told everything.
const TRUSTED_SITE: &str =
    "flow:\n  labels:\n  - {name: '*', server: customers, labels: [secret]}\n  - {name: handbook_*, labels: []}\n";

/// As if no server gave hints.
const WITHOUT_HINTS: &str = "flow:\n  labels:\n  - {name: '*', server: customers, labels: [secret]}\n  - {name: '*', labels: [untrusted, egress]}\n";

/// The folders and the site of the day.
struct Office {
    directory: TempDir,
    site: String,
    _site: Program,
}

impl Office {
    async fn open() -> Self {
        let directory = TempDir::new();
        for (file, content) in [
            ("repository/notes.md", "# Release\n\n- write the changelog\n- answer Ms Gray\n"),
            ("repository/src/main.py", "def main():\n    print(\"hello\")\n"),
            ("customers/gray.md", "Ms Gray, contract 4711, pays by invoice.\n"),
            (
                "site/index.html",
                "<html><body><article><h1>Help</h1><p>This is how it is done.</p></article></body></html>",
            ),
            ("customers/green.md", "Mr Green, contract 4712, wants a discount.\n"),
        ] {
            directory.write(file, content);
        }
        let (command, site) = real_servers::site(&directory.path().join("site"));
        let (mut program, _stdin, _stdout) = Program::start(command);
        program.stderr.patience = LONG_PATIENCE;
        program.stderr.line("Serving HTTP").await;
        Office { directory, site, _site: program }
    }

    /// All servers, or nothing where they cannot be installed.
    fn config(&self, flow: &str) -> Option<Config> {
        let folder = |name: &str| self.directory.path().join(name);
        let config = Config::new()
            .server("files", &real_servers::filesystem(&folder("repository"))?)
            .server("customers", &real_servers::filesystem(&folder("customers"))?)
            .server("git", &real_servers::git(&self.directory)?)
            .server("memory", &real_servers::memory(self.directory.path())?)
            .server("time", &real_servers::time()?)
            .server("web", &real_servers::fetch()?)
            .server("handbook", &real_servers::fetch()?)
            .section("aggregation: {conflictResolution: prefix}")
            .section(&format!("{flow}{RULE}"));
        Some(config)
    }

    /// The calls of the day, in their order.
    fn day(&self) -> Vec<(String, Value)> {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let repository = || json!({"repo_path": path("repository")});
        let with = |mut arguments: Value, member: &str, value: Value| {
            arguments[member] = value;
            arguments
        };
        let page = |name: &str| json!({"url": format!("{}/?{name}", self.site)});
        let calls: Vec<(&str, Value)> = vec![
            // The morning: what is there to do?
            ("time_get_current_time", json!({"timezone": "Europe/Berlin"})),
            ("memory_read_graph", json!({})),
            ("files_list_directory", json!({"path": path("repository")})),
            ("files_read_text_file", json!({"path": path("repository/notes.md")})),
            ("git_git_status", repository()),
            ("git_git_log", with(repository(), "max_count", json!(5))),
            ("files_search_files", json!({"path": path("repository"), "pattern": "**/*.py"})),
            ("files_read_text_file", json!({"path": path("repository/src/main.py")})),
            // How did others solve it?
            ("web_fetch", page("search")),
            ("web_fetch", page("answer-1")),
            ("web_fetch", page("answer-2")),
            (
                "files_edit_file",
                json!({
                    "path": path("repository/src/main.py"),
                    "edits": [{"oldText": "hello", "newText": "good morning"}],
                }),
            ),
            ("files_write_file", json!({"path": path("repository/changelog.md"), "content": "- says good morning\n"})),
            ("git_git_diff_unstaged", repository()),
            ("git_git_add", with(repository(), "files", json!(["."]))),
            ("git_git_diff_staged", repository()),
            ("git_git_create_branch", with(repository(), "branch_name", json!("morning"))),
            ("git_git_checkout", with(repository(), "branch_name", json!("morning"))),
            (
                "memory_create_entities",
                json!({
                    "entities": [{"name": "release", "entityType": "task", "observations": ["the greeting is done"]}],
                }),
            ),
            ("git_git_commit", with(repository(), "message", json!("Says good morning"))),
            ("web_fetch", page("documentation")),
            // After lunch: a customer writes.
            ("handbook_fetch", page("how-to-answer-customers")),
            ("customers_search_files", json!({"path": path("customers"), "pattern": "**/*gray*"})),
            ("customers_read_text_file", json!({"path": path("customers/gray.md")})),
            (
                "customers_read_multiple_files",
                json!({"paths": [path("customers/gray.md"), path("customers/green.md")]}),
            ),
            (
                "customers_edit_file",
                json!({
                    "path": path("customers/gray.md"),
                    "edits": [{"oldText": "invoice", "newText": "card"}],
                }),
            ),
            (
                "time_convert_time",
                json!({
                    "source_timezone": "Europe/Berlin", "time": "15:00", "target_timezone": "America/New_York",
                }),
            ),
            (
                "memory_add_observations",
                json!({
                    "observations": [{"entityName": "release", "contents": ["Ms Gray waits for it"]}],
                }),
            ),
            ("handbook_fetch", page("discounts")),
            ("customers_write_file", json!({"path": path("customers/answer.md"), "content": "Dear Ms Gray, ...\n"})),
            // Back to the project, and to the web.
            ("web_fetch", page("how-to-release")),
            (
                "files_edit_file",
                json!({
                    "path": path("repository/notes.md"),
                    "edits": [{"oldText": "- answer Ms Gray\n", "newText": ""}],
                }),
            ),
            ("git_git_show", with(repository(), "revision", json!("HEAD"))),
            ("web_fetch", page("version-numbers")),
            ("handbook_fetch", page("release-checklist")),
            ("memory_search_nodes", json!({"query": "release"})),
            ("files_directory_tree", json!({"path": path("repository")})),
            ("git_git_branch", with(repository(), "branch_type", json!("local"))),
            ("time_get_current_time", json!({"timezone": "Europe/Berlin"})),
            ("git_git_status", repository()),
        ];
        calls.into_iter().map(|(tool, arguments)| (tool.to_owned(), arguments)).collect()
    }
}

/// The calls that the person was asked about, by their tools, with how many calls there were.
async fn asked_about(flow: &str, modern: bool) -> Option<(Vec<String>, usize)> {
    let office = Office::open().await;
    let world = Proxy::new(&office.config(flow)?);
    // These servers take seconds to start. A first look waits for them; later starts then list them at once.
    let looked = world.command(["list-tools"]).output().expect("the proxy runs");
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    let mut client = Client::at(world, modern, FORMS).await;
    client.proxy.client.program.stderr.patience = LONG_PATIENCE;
    let mut asked = Vec::new();
    let calls = office.day();
    for (tool, arguments) in &calls {
        let (questions, outcome) = client.converse(tool, arguments.clone(), json!({"action": "accept"})).await;
        assert!(outcome["result"].is_object() && outcome["result"]["isError"] != true, "{tool}: {outcome}");
        let is_of_flow = |question: &Value| question.to_string().contains("This conversation has read");
        assert!(questions.iter().all(is_of_flow), "{tool}: {questions:?}");
        asked.extend(questions.iter().map(|_| tool.clone()));
    }
    Some((asked, calls.len()))
}

#[tokio::test]
#[ignore = "real servers of other people, which are installed first"]
async fn a_day_of_forty_calls_with_servers_that_give_hints_is_interrupted_four_times() {
    // By the hints of the servers alone, whatever goes to the web after a customer's file was read is asked about
    for modern in [false, true] {
        let Some((asked, calls)) = asked_about(BY_HINTS, modern).await else { return };
        assert_eq!(calls, 40);
        assert_eq!(asked, ["handbook_fetch", "web_fetch", "web_fetch", "handbook_fetch"], "modern: {modern}");
    }
    // With labels for the person's own site, only what goes to strangers
    let (asked, _) = asked_about(TRUSTED_SITE, true).await.expect("they are installed");
    assert_eq!(asked, ["web_fetch", "web_fetch"]);
    // Without hints, every call after the first customer's file
    let (asked, _) = asked_about(WITHOUT_HINTS, true).await.expect("they are installed");
    assert_eq!(asked.len(), 17, "{asked:?}");
}
