//! Which server an entry means: entries with the same name that start the same program or have the same address share what is
//! known of them.

use std::path::{Path, PathBuf};

use proxy_config::{DescriptionPlace, ServerConfig, TransportConfig};

/// What tells a server from others of the same name. `base` is the folder in which it starts if its entry names none.
pub(super) fn of(server: &ServerConfig, base: Option<&Path>) -> String {
    let written = server.written_transport();
    match written.as_ref() {
        TransportConfig::Stdio { command, args, cwd, .. } => {
            let folder = cwd.clone().or_else(|| own_folder(&server.transport, base?));
            format!("{command}\0{}\0{folder:?}", args.join("\0"))
        }
        TransportConfig::Http { url, .. } => url.clone(),
        TransportConfig::OpenApi(api) => format!("{:?}\0{:?}", absolute(&api.description, base), api.url),
    }
}

/// The folder in which the server starts, if a word of the command is a file in it. `python3 server.py` is another program in
/// another folder; `npx some-server` is the same everywhere.
fn own_folder(transport: &TransportConfig, base: &Path) -> Option<PathBuf> {
    let TransportConfig::Stdio { command, args, .. } = transport else { return None };
    let is_file_here = |word: &String| Path::new(word).is_relative() && base.join(word).is_file();
    let is_own = std::iter::once(command).chain(args).any(is_file_here);
    is_own.then(|| base.to_owned())
}

fn absolute(place: &DescriptionPlace, base: Option<&Path>) -> DescriptionPlace {
    match place {
        DescriptionPlace::File(file) => {
            let file = base.map_or_else(|| file.clone(), |base| base.join(file));
            DescriptionPlace::File(std::path::absolute(&file).unwrap_or(file))
        }
        DescriptionPlace::Url(_) => place.clone(),
    }
}
