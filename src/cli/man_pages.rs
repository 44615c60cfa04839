//! The manual pages of packages: one for the program and one for each subcommand, from what `--help` knows.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use clap_mangen::Man;

/// The first argument of a run that writes them; the second is the folder.
pub const ARGUMENT: &str = "internal-man-pages";

pub fn write(folder: &OsStr) -> io::Result<()> {
    let folder = Path::new(folder);
    let mut command = super::command();
    command.build();
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        let title = format!("proxy-{}", subcommand.get_name());
        // clap shares the name with its parent's in `--help`; a page is looked up by `man proxy-serve`.
        write_page(folder, &title, subcommand.clone().display_name(title.clone()))?;
    }
    // The template of `--help` is a screen of its own, which a page does not need: it has a list of subcommands.
    write_page(folder, "proxy", command)
}

fn write_page(folder: &Path, title: &str, command: clap::Command) -> io::Result<()> {
    let mut page = Vec::new();
    let source = format!("starlark-mcp-proxy {}", proxy_base::VERSION);
    Man::new(command).title(title).section("1").date("").source(source).manual("").render(&mut page)?;
    std::fs::write(folder.join(format!("{title}.1")), page)
}
