//! The programs whose configs can be imported: where they keep them, and what their words mean.

use std::path::{Path, PathBuf};

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
}

/// A program that has servers in a config of its own.
#[derive(Debug)]
pub struct ImportClient {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Its configs, those that take precedence first.
    places: &'static [Place],
    /// Files with rules about tools and servers.
    rules: &'static [Place],
    /// The meaning of the key `timeout`; `None` if it is not documented.
    pub(super) timeout: Option<TimeKey>,
    pub(super) syntax: Syntax,
    /// Whether servers of a project run in its folder.
    pub(super) runs_in_project: bool,
}

const PLAIN: ImportClient = ImportClient {
    name: "",
    title: "",
    places: &[],
    rules: &[],
    timeout: None,
    syntax: Syntax::BRACES,
    runs_in_project: false,
};

/// For a file that no client is known to have written.
pub(super) static UNKNOWN: ImportClient = PLAIN;

pub static CLIENTS: [ImportClient; 12] = [
    ImportClient {
        name: "claude-desktop",
        title: "Claude Desktop",
        places: &[Place::Application("Claude/claude_desktop_config.json")],
        ..PLAIN
    },
    ImportClient {
        name: "claude-code",
        title: "Claude Code",
        places: &[Place::Project(".mcp.json"), Place::Home(".claude.json")],
        rules: &[
            Place::Project(".claude/settings.local.json"),
            Place::Project(".claude/settings.json"),
            Place::Home(".claude/settings.json"),
            Place::Home(".claude.json"),
        ],
        timeout: Some(TimeKey::Request(Unit::Milliseconds)),
        syntax: Syntax::SHELL_BRACES,
        ..PLAIN
    },
    ImportClient {
        name: "cursor",
        title: "Cursor",
        places: &[Place::Project(".cursor/mcp.json"), Place::Home(".cursor/mcp.json")],
        ..PLAIN
    },
    ImportClient {
        name: "vscode",
        title: "VS Code",
        places: &[
            Place::Project(".vscode/mcp.json"),
            Place::Application("Code/User/mcp.json"),
            Place::Application("Code/User/settings.json"),
        ],
        runs_in_project: true,
        ..PLAIN
    },
    ImportClient {
        name: "windsurf",
        title: "Windsurf",
        places: &[Place::Home(".codeium/windsurf/mcp_config.json")],
        ..PLAIN
    },
    ImportClient {
        name: "zed",
        title: "Zed",
        places: &[Place::Project(".zed/settings.json"), Place::Config("zed/settings.json")],
        timeout: Some(TimeKey::Request(Unit::Seconds)),
        syntax: Syntax::NONE,
        ..PLAIN
    },
    ImportClient {
        name: "codex",
        title: "Codex",
        places: &[Place::Project(".codex/config.toml"), Place::Home(".codex/config.toml")],
        syntax: Syntax::NONE,
        ..PLAIN
    },
    ImportClient {
        name: "gemini",
        title: "Gemini CLI",
        places: &[Place::Project(".gemini/settings.json"), Place::Home(".gemini/settings.json")],
        rules: &[Place::Home(".gemini/mcp-server-enablement.json")],
        timeout: Some(TimeKey::Request(Unit::Milliseconds)),
        syntax: Syntax::SHELL,
        ..PLAIN
    },
    ImportClient {
        name: "opencode",
        title: "opencode",
        places: &[
            Place::Project("opencode.jsonc"),
            Place::Project("opencode.json"),
            Place::Project(".opencode/opencode.jsonc"),
            Place::Project(".opencode/opencode.json"),
            Place::Config("opencode/opencode.jsonc"),
            Place::Config("opencode/opencode.json"),
        ],
        timeout: Some(TimeKey::Start(Unit::Milliseconds)),
        syntax: Syntax::CURLY,
        ..PLAIN
    },
    ImportClient {
        name: "continue",
        title: "Continue",
        places: &[Place::Home(".continue/config.yaml")],
        syntax: Syntax::SECRETS,
        ..PLAIN
    },
    ImportClient {
        name: "goose",
        title: "goose",
        places: &[Place::Config("goose/config.yaml")],
        rules: &[Place::Config("goose/permission.yaml")],
        timeout: Some(TimeKey::Request(Unit::Seconds)),
        syntax: Syntax::NONE,
        ..PLAIN
    },
    ImportClient {
        name: "cline",
        title: "Cline",
        places: &[
            Place::Application("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
            Place::Home(".cline/data/settings/cline_mcp_settings.json"),
        ],
        timeout: Some(TimeKey::Request(Unit::Seconds)),
        ..PLAIN
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
            Place::Project(relative) if path.ends_with(relative) => {
                path.ancestors().nth(Path::new(relative).components().count()).map(Path::to_owned)
            }
            _ => None,
        };
        self.places.iter().find_map(of_place)
    }

    /// The usual configs of this client, whether they exist or not.
    pub fn usual_files(&'static self, surroundings: &Surroundings) -> Vec<ClientFile> {
        let file = |place: &Place| {
            let is_project = matches!(place, Place::Project(_));
            let workspace = surroundings.current_folder.clone();
            Some(ClientFile { client: self, path: place.path(surroundings)?, is_project, workspace })
        };
        self.places.iter().filter_map(file).collect()
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
}

impl Place {
    fn relative(self) -> &'static str {
        match self {
            Place::Home(path) | Place::Config(path) | Place::Application(path) | Place::Project(path) => path,
        }
    }

    fn path(self, surroundings: &Surroundings) -> Option<PathBuf> {
        let home = surroundings.home.as_ref();
        Some(match self {
            Place::Home(path) => home?.join(path),
            Place::Application(path) if cfg!(target_os = "macos") => {
                home?.join("Library/Application Support").join(path)
            }
            Place::Config(path) | Place::Application(path) => surroundings.config_folder.as_ref()?.join(path),
            Place::Project(path) => surroundings.current_folder.join(path),
        })
    }
}
