//! Links that make a client ask whether to install the proxy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::args::{InstallArgs, LinkClient, Place, Scope};
use super::launcher;
use crate::cli::commands::init;
use crate::cli::failure::CommandFailure;
use crate::cli::output;
use proxy_config::import::ImportClient;

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn print(link: LinkClient, args: &InstallArgs) -> Result<(), CommandFailure> {
    let name = match link {
        LinkClient::VsCode => "vscode",
        LinkClient::Cursor => "cursor",
    };
    let surroundings = init::surroundings()?;
    let client = ImportClient::by_name(name).and_then(|client| Some((client, client.own_entry?)));
    let Some((client, own_entry)) = client else { return Err(CommandFailure::usage("no such client")) };
    let is_project = args.scope == Scope::Project;
    let Some(file) = client.entry_file(is_project, &surroundings) else {
        return Err(CommandFailure::usage("`HOME` is not set"));
    };
    let place = Place { client, own_entry, file, surroundings, is_project };
    let words = launcher::launcher(&place, args.config.as_deref(), args.profile.as_deref())?.words;
    let (command, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
    let link = match link {
        LinkClient::VsCode => {
            let entry = json!({"name": args.name, "type": "stdio", "command": command, "args": arguments});
            format!("vscode:mcp/install?{}", escaped(&entry.to_string()))
        }
        LinkClient::Cursor => {
            let entry = json!({"command": command, "args": arguments}).to_string();
            let entry = escaped(&STANDARD.encode(entry));
            format!("cursor://anysphere.cursor-deeplink/mcp/install?name={}&config={entry}", escaped(&args.name))
        }
    };
    output::out(&link);
    Ok(())
}
