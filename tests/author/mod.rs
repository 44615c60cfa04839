//! The tools of whoever writes scripts: the language server in an editor, the prompt.

mod language_server;
mod prompt;

use crate::support::config::Config;
use crate::support::programs::fake_backend;
use crate::support::proxy::Proxy;

/// One server, seen once, so that its tools are known without starting it.
async fn seen() -> Proxy {
    let proxy = Proxy::new(&Config::new().server("one", &fake_backend(["--only", "echo,search,slow,fail"])));
    proxy.run(["list-servers"]).await.expect(0);
    proxy
}
