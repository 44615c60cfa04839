//! The file of `proxy calls --record`: JSON Lines. The first line has the catalog; a line follows for each call and for each
//! change of the catalog.

mod call_line;
mod catalog_line;
mod file;
mod redact;

pub use call_line::CallLine;
pub(super) use call_line::ServerCallLine;
pub use catalog_line::CatalogLine;
pub(super) use catalog_line::OfferedServer;
pub use file::{RecordingError, RecordingFile};

use serde::{Deserialize, Serialize};

/// The version of the format. A file of another version is not read.
const VERSION: u32 = 1;

/// One line of a recording, as an object with one member.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordingLine {
    /// The first line.
    Start(StartLine),
    /// What the servers offer, or the script, has changed.
    Catalog(CatalogLine),
    /// A call is over.
    Call(Box<CallLine>),
    /// So many calls are missing here: they were not read in time.
    Dropped(u64),
}

/// The first line of a recording.
#[derive(Debug, Serialize, Deserialize)]
pub struct StartLine {
    pub version: u32,
    /// The version of the proxy.
    pub proxy: String,
    pub catalog: CatalogLine,
}

impl StartLine {
    pub fn new(catalog: CatalogLine) -> Self {
        StartLine { version: VERSION, proxy: proxy_base::VERSION.to_owned(), catalog }
    }
}

/// One recorded call and what the servers offer.
#[derive(Debug)]
pub struct SingleRecording {
    pub catalog: CatalogLine,
    pub call: CallLine,
}
