//! Changes of files taken up while the proxy runs: of the config, the session script with what it loads, and the local
//! tools. A change that does not work is told, and everything stays as it was.

mod config;
mod extensions;
mod report;
mod script;

use std::sync::Arc;

use super::Gateway;
use super::local::LocalTools;
use crate::config::Config;
use crate::diagnostic::Diagnostic;
use crate::watch::{Wanted, Watcher};

/// Reads the config again, in the way it was read at the start.
pub type Reread = Arc<dyn Fn() -> Result<Config, Vec<Diagnostic>> + Send + Sync>;

struct Reloader {
    gateway: Arc<Gateway>,
    reread: Reread,
    /// The one in force.
    config: Config,
    /// The text of the config file that was last looked at.
    seen: Option<String>,
}

impl Gateway {
    /// Follows all the files that `config`, which is in force, comes from. Runs until the proxy stops.
    pub fn follow_files(self: Arc<Self>, config: Config, reread: Reread) -> impl Future<Output = ()> + Send {
        // Now, and not when somebody first waits for this: what is written from here on is another text.
        let seen = config.path.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        report::new_problems(&LocalTools::default(), &self.installed.local());
        let mut reloader = Reloader { gateway: Arc::clone(&self), reread, config, seen };
        async move {
            tokio::select! {
                () = reloader.run() => {}
                () = self.stopping() => {}
            }
        }
    }
}

impl Reloader {
    async fn run(&mut self) {
        let mut watcher = Watcher::default();
        let mut built = self.gateway.current.clone();
        loop {
            // Where nobody looked before, something may have happened before somebody did.
            while watcher.look_at(self.wanted()) {
                self.look().await;
            }
            tokio::select! {
                () = watcher.changed() => self.look().await,
                // A run of the script may have loaded other files.
                _ = built.changed() => {}
            }
        }
    }

    fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        if let Some(path) = &self.config.path {
            wanted.file(path);
        }
        let edition = self.gateway.installed.editions.borrow();
        for path in edition.script_source.iter().flat_map(|script_source| script_source.source.paths()) {
            wanted.file(&path);
        }
        if self.config.watch_extensions {
            self.gateway.installed.local().watch(&self.config, &mut wanted);
        }
        wanted
    }

    async fn look(&mut self) {
        self.look_at_config().await;
        self.look_at_script().await;
        self.look_at_extensions().await;
    }
}

/// Runs what blocks on a thread of its own.
async fn aside<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(job).await;
    done.inspect_err(|error| tracing::error!(%error, "a reload broke down")).ok()
}
