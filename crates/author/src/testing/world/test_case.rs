//! One test function of a test file.

use std::path::Path;
use std::sync::Arc;

use proxy_engine::extension;
use proxy_host_io::HostIo;
use proxy_script::Source;

#[derive(Clone, Debug)]
pub(crate) struct TestCase {
    pub source: Arc<Source>,
    /// The folder that `//` paths start at.
    pub root: Arc<Path>,
    /// The name of the function.
    pub name: String,
    pub host_io: Arc<HostIo>,
    /// The permissions of handlers that the test calls directly, without a session.
    pub local: Arc<extension::ExtensionRuntime>,
}
