//! Hot reload: follows the config file, the lock, the session script with the files it loads, and the local tools. A change that
//! fails is logged, and the old version stays in use.

mod config;
mod extensions;
mod lock;
mod policies;
mod report;
mod script;

use std::sync::Arc;

use super::Gateway;
use super::installation::LocalTools;
use proxy_base::diagnostic::Diagnostic;
use proxy_base::watch::{WatchedPaths, Watcher};
use proxy_config::{Config, ConfigTexts};

/// Reads the config again, with the command-line options of the start.
pub type Reread = Arc<dyn Fn() -> Result<Config, Vec<Diagnostic>> + Send + Sync>;

/// Learns of a config when it takes effect.
pub(super) type OnInstall = Box<dyn Fn(&Config) + Send + Sync>;

struct Reloader {
    gateway: Arc<Gateway>,
    reread: Reread,
    on_install: OnInstall,
    /// The config in force.
    config: Config,
    /// The config at the start, which is in force for the keys that only a restart changes.
    at_start: Config,
    /// The texts of the config when they were last read.
    last_texts: ConfigTexts,
}

impl Gateway {
    /// Follows the files of `config`, which must be the config in force, until the proxy stops.
    pub fn follow_files(
        self: Arc<Self>,
        config: Config,
        reread: Reread,
        on_install: OnInstall,
    ) -> impl Future<Output = ()> + Send {
        // Read the text now and not at the first poll, so that a change in between is noticed.
        let last_texts = config::texts(&config);
        report::new_problems(&LocalTools::default(), &self.installed.local());
        let mut reloader =
            Reloader { gateway: Arc::clone(&self), reread, on_install, at_start: config.clone(), config, last_texts };
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
        let mut built = self.gateway.surface_versions();
        loop {
            // A path that was not watched until now may have changed before the watch began.
            while watcher.look_at(self.watched_paths()).await {
                self.reload().await;
            }
            tokio::select! {
                () = watcher.changed() => self.reload().await,
                // The last run of the script may have loaded other files.
                _ = built.changed() => {}
            }
        }
    }

    fn watched_paths(&self) -> WatchedPaths {
        let mut paths = WatchedPaths::default();
        for (path, _) in &self.last_texts.files {
            paths.file(path);
        }
        for folder in &self.last_texts.folders {
            paths.folder(folder);
        }
        let edition = self.gateway.installed.editions.borrow();
        for path in edition.scripts().flat_map(|script_source| script_source.source.paths()) {
            paths.file(&path);
        }
        lock::watch(&self.config, &mut paths);
        policies::watch(&self.config, self.gateway.installed.policies().get().as_deref(), &mut paths);
        if self.config.watch_extensions {
            self.gateway.installed.local().watch(&self.config, &mut paths);
        }
        paths
    }

    async fn reload(&mut self) {
        self.reload_config().await;
        self.reload_policies().await;
        self.reload_lock().await;
        self.reload_script().await;
        self.reload_extensions().await;
    }
}

/// Runs a blocking job on tokio's blocking pool; `None` if it panicked.
async fn run_blocking<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let done = tokio::task::spawn_blocking(job).await;
    done.inspect_err(|error| tracing::error!(%error, "a reload crashed")).ok()
}
