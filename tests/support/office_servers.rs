//! Real servers for the work of an office: sheets, documents, slides, plans. Pinned, as in [`super::real_servers`].

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::real_servers::{install, install_with_npm, install_with_pip};

const NPM_PACKAGES: [&str; 3] = ["@negokaz/excel-mcp-server@0.12.0", "@kazuph/mcp-taskmanager@1.1.1", "bazi-mcp@0.1.0"];

const PYTHON_PACKAGES: [&str; 4] = [
    "mcp-server-calculator==0.2.1",
    "mcp-text-editor==1.0.2",
    "office-word-mcp-server==1.1.11",
    "office-powerpoint-mcp-server==2.0.7",
];

/// Sheets of Excel files.
pub fn excel() -> Option<Command> {
    node_program("excel-mcp-server")
}

/// Requests and their tasks, in a file of this directory.
pub fn task_manager(directory: &Path) -> Option<Command> {
    let mut command = node_program("mcp-taskmanager")?;
    command.env("TASK_MANAGER_FILE_PATH", directory.join("tasks.json"));
    Some(command)
}

/// The Chinese calendar.
pub fn chinese_calendar() -> Option<Command> {
    node_program("bazi-mcp")
}

/// Documents of Word.
pub fn word() -> Option<Command> {
    python_program("word_mcp_server")
}

/// Slides of PowerPoint.
pub fn power_point() -> Option<Command> {
    python_program("ppt_mcp_server")
}

pub fn calculator() -> Option<Command> {
    python_program("mcp-server-calculator")
}

pub fn text_editor() -> Option<Command> {
    python_program("mcp-text-editor")
}

/// Writes a file of Excel with one sheet, whose rows this JSON lists.
pub fn write_workbook(file: &Path, sheet: &str, rows: &str) -> Option<()> {
    const PROGRAM: &str = "
import json, sys, xlsxwriter
with xlsxwriter.Workbook(sys.argv[1]) as book:
    sheet = book.add_worksheet(sys.argv[2])
    for number, row in enumerate(json.loads(sys.argv[3])):
        sheet.write_row(number, 0, row)
";
    let status = python_program("python")?.args(["-c", PROGRAM]).arg(file).args([sheet, rows]).status();
    assert!(status.is_ok_and(|status| status.success()), "{} could not be written", file.display());
    Some(())
}

fn node_program(name: &str) -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("office-npm", &NPM_PACKAGES, install_with_npm)).as_ref()?;
    let mut command = Command::new("node");
    command.arg(folder.join("node_modules/.bin").join(name));
    Some(command)
}

fn python_program(name: &str) -> Option<Command> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = INSTALLED.get_or_init(|| install("office-python", &PYTHON_PACKAGES, install_with_pip)).as_ref()?;
    Some(Command::new(folder.join("bin").join(name)))
}
