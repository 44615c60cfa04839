//! The programs whose configs can be imported: where their config files are, and how to read their keys. Those that
//! `proxy install` knows too say how they hold an entry.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::own_entry::{EntryForm, OwnEntry};

use self::Place::{Application, Config, Home, Movable, Project};
use super::variables::Syntax;

/// What a key with a bare number of time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeKey {
    /// A limit for each request.
    Request(Unit),
    /// A limit for the start, up to the first list.
    Start(Unit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Milliseconds,
}

/// A file of a client, by the folder that it is relative to.
#[derive(Clone, Copy, Debug)]
enum Place {
    Home(&'static str),
    /// `$XDG_CONFIG_HOME`, or `~/.config`.
    Config(&'static str),
    /// `~/Library/Application Support` on macOS, or else as `Config`.
    Application(&'static str),
    /// The current folder.
    Project(&'static str),
    /// The folder that a variable of the client names, or else as `Home`.
    Movable {
        variable: &'static str,
        below: &'static str,
        in_home: &'static str,
    },
}

/// The variables that move the files of clients.
pub const FOLDER_VARIABLES: [&str; 2] = [CLAUDE_CODE_FOLDER, CODEX_FOLDER];
const CLAUDE_CODE_FOLDER: &str = "CLAUDE_CONFIG_DIR";
const CODEX_FOLDER: &str = "CODEX_HOME";

const fn of_claude_code(below: &'static str, in_home: &'static str) -> Place {
    Movable { variable: CLAUDE_CODE_FOLDER, below, in_home }
}

const fn of_codex(below: &'static str, in_home: &'static str) -> Place {
    Movable { variable: CODEX_FOLDER, below, in_home }
}

/// A program that has servers in a config of its own.
#[derive(Debug)]
pub struct ImportClient {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Its config files, in order of precedence.
    places: &'static [Place],
    /// Files with rules about tools and servers.
    rules: &'static [Place],
    /// The meaning of the key `timeout`; `None` if it is not documented.
    pub(super) timeout: Option<TimeKey>,
    pub(super) syntax: Syntax,
    /// Whether servers of a project run in its folder.
    pub(super) runs_in_project: bool,
    /// How the proxy is one of its servers; `None` if `proxy install` does not know that.
    pub own_entry: Option<OwnEntry>,
}

/// A client without anything special.
const fn client(name: &'static str, title: &'static str, places: &'static [Place]) -> ImportClient {
    ImportClient {
        name,
        title,
        places,
        rules: &[],
        timeout: None,
        syntax: Syntax::BRACES,
        runs_in_project: false,
        own_entry: None,
    }
}

/// Most clients have a map of servers with this name.
const MCP_SERVERS: Option<OwnEntry> = Some(OwnEntry { section: &["mcpServers"], form: EntryForm::Plain });

const fn own_entry(section: &'static [&'static str], form: EntryForm) -> Option<OwnEntry> {
    Some(OwnEntry { section, form })
}

/// For a file that no client is known to have written.
pub(super) static UNKNOWN: ImportClient = client("", "", &[]);

pub static CLIENTS: [ImportClient; 12] = [
    ImportClient {
        own_entry: MCP_SERVERS,
        ..client("claude-desktop", "Claude Desktop", &[Application("Claude/claude_desktop_config.json")])
    },
    ImportClient {
        rules: &[
            Project(".claude/settings.local.json"),
            Project(".claude/settings.json"),
            of_claude_code("settings.json", ".claude/settings.json"),
            of_claude_code(".claude.json", ".claude.json"),
        ],
        timeout: Some(TimeKey::Request(Unit::Milliseconds)),
        syntax: Syntax::SHELL_BRACES,
        own_entry: own_entry(&["mcpServers"], EntryForm::Typed),
        ..client("claude-code", "Claude Code", &[Project(".mcp.json"), of_claude_code(".claude.json", ".claude.json")])
    },
    ImportClient {
        own_entry: MCP_SERVERS,
        ..client("cursor", "Cursor", &[Project(".cursor/mcp.json"), Home(".cursor/mcp.json")])
    },
    ImportClient {
        runs_in_project: true,
        own_entry: own_entry(&["servers"], EntryForm::Typed),
        ..client(
            "vscode",
            "VS Code",
            &[Project(".vscode/mcp.json"), Application("Code/User/mcp.json"), Application("Code/User/settings.json")],
        )
    },
    ImportClient {
        own_entry: MCP_SERVERS,
        ..client("windsurf", "Windsurf", &[Home(".codeium/windsurf/mcp_config.json")])
    },
    ImportClient {
        timeout: Some(TimeKey::Request(Unit::Seconds)),
        syntax: Syntax::NONE,
        own_entry: own_entry(&["context_servers"], EntryForm::Custom),
        ..client("zed", "Zed", &[Project(".zed/settings.json"), Config("zed/settings.json")])
    },
    ImportClient {
        syntax: Syntax::NONE,
        own_entry: own_entry(&["mcp_servers"], EntryForm::Plain),
        ..client("codex", "Codex", &[Project(".codex/config.toml"), of_codex("config.toml", ".codex/config.toml")])
    },
    ImportClient {
        rules: &[Home(".gemini/mcp-server-enablement.json")],
        timeout: Some(TimeKey::Request(Unit::Milliseconds)),
        syntax: Syntax::SHELL,
        own_entry: MCP_SERVERS,
        ..client("gemini", "Gemini CLI", &[Project(".gemini/settings.json"), Home(".gemini/settings.json")])
    },
    ImportClient {
        timeout: Some(TimeKey::Start(Unit::Milliseconds)),
        syntax: Syntax::CURLY,
        own_entry: own_entry(&["mcp"], EntryForm::Local),
        ..client(
            "opencode",
            "opencode",
            &[
                Project("opencode.jsonc"),
                Project("opencode.json"),
                Project(".opencode/opencode.jsonc"),
                Project(".opencode/opencode.json"),
                Config("opencode/opencode.jsonc"),
                Config("opencode/opencode.json"),
            ],
        )
    },
    ImportClient { syntax: Syntax::SECRETS, ..client("continue", "Continue", &[Home(".continue/config.yaml")]) },
    ImportClient {
        rules: &[Config("goose/permission.yaml")],
        timeout: Some(TimeKey::Request(Unit::Seconds)),
        syntax: Syntax::NONE,
        ..client("goose", "goose", &[Config("goose/config.yaml")])
    },
    ImportClient {
        timeout: Some(TimeKey::Request(Unit::Seconds)),
        ..client(
            "cline",
            "Cline",
            &[
                Application("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
                Home(".cline/data/settings/cline_mcp_settings.json"),
            ],
        )
    },
];

impl ImportClient {
    pub fn by_name(name: &str) -> Option<&'static ImportClient> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The client that keeps a file of this name in such a folder.
    pub(super) fn by_path(path: &Path) -> Option<&'static ImportClient> {
        // Several clients have files of these names, in folders of their own.
        const COMMON: [&str; 4] = ["mcp.json", "settings.json", "config.toml", "config.yaml"];
        let is_like = |place: &Place| {
            let relative = Path::new(place.relative());
            let is_common = COMMON.iter().any(|name| relative.ends_with(name));
            path.ends_with(relative) || (!is_common && path.file_name() == relative.file_name())
        };
        CLIENTS.iter().find(|client| client.places.iter().any(is_like))
    }

    /// The folder of the project that a file with this path would belong to.
    pub(super) fn project_of(&self, path: &Path) -> Option<PathBuf> {
        let of_place = |place: &Place| match place {
            Project(relative) if path.ends_with(relative) => {
                path.ancestors().nth(Path::new(relative).components().count()).map(Path::to_owned)
            }
            _ => None,
        };
        self.places.iter().find_map(of_place)
    }

    /// The usual configs of this client, whether they exist or not.
    pub fn usual_files(&'static self, surroundings: &Surroundings) -> Vec<ClientFile> {
        let file = |place: &Place| {
            let is_project = matches!(place, Project(_));
            let workspace = surroundings.current_folder.clone();
            Some(ClientFile { client: self, path: place.path(surroundings)?, is_project, workspace })
        };
        self.places.iter().filter_map(file).collect()
    }

    /// The config that an entry for the user, or for the project, is written to: the first one that exists, else the one
    /// that the client itself would make.
    pub fn entry_file(&'static self, is_project: bool, surroundings: &Surroundings) -> Option<ClientFile> {
        // VS Code reads servers there from earlier versions only.
        let is_older = |file: &ClientFile| self.name == "vscode" && file.path.ends_with("settings.json");
        let usual = self.usual_files(surroundings).into_iter();
        let files: Vec<ClientFile> = usual.filter(|file| file.is_project == is_project && !is_older(file)).collect();
        let is_made = |file: &&ClientFile| self.name != "opencode" || file.path.ends_with("opencode.json");
        files.iter().find(|file| file.path.exists()).or_else(|| files.iter().find(is_made)).cloned()
    }

    pub(super) fn rule_files(&self, surroundings: &Surroundings) -> Vec<PathBuf> {
        self.rules.iter().filter_map(|place| place.path(surroundings)).filter(|path| path.is_file()).collect()
    }
}

/// A config of a client.
#[derive(Clone, Debug)]
pub struct ClientFile {
    pub client: &'static ImportClient,
    pub path: PathBuf,
    /// Whether it belongs to a project, and not to the user.
    pub is_project: bool,
    /// The folder that the client works in, for relative paths.
    pub workspace: PathBuf,
}

/// The folders that configs are looked for in. A parameter, so that importing does not depend on the process.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub home: Option<PathBuf>,
    pub config_folder: Option<PathBuf>,
    pub current_folder: PathBuf,
    /// The values of [`FOLDER_VARIABLES`] that are set.
    pub moved: HashMap<&'static str, PathBuf>,
}

impl Place {
    fn relative(self) -> &'static str {
        match self {
            Home(path) | Config(path) | Application(path) | Project(path) | Movable { in_home: path, .. } => path,
        }
    }

    fn path(self, surroundings: &Surroundings) -> Option<PathBuf> {
        let home = surroundings.home.as_ref();
        Some(match self {
            Home(path) => home?.join(path),
            Application(path) if cfg!(target_os = "macos") => home?.join("Library/Application Support").join(path),
            Config(path) | Application(path) => surroundings.config_folder.as_ref()?.join(path),
            Project(path) => surroundings.current_folder.join(path),
            Movable { variable, below, in_home } => match surroundings.moved.get(variable) {
                Some(folder) => surroundings.current_folder.join(folder).join(below),
                None => home?.join(in_home),
            },
        })
    }
}
