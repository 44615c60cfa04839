//! The current version of a description. A file is read again when it changes, a URL after its `ttl`. A version that cannot
//! be used does not replace the last good one. All connections to an API share it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::fetch::fetch;
use super::files::DescriptionFolder;
use super::read_api::{ApiSettings, DescriptionText, ReadApi};
use proxy_base::memory;
use proxy_base::watch::{FileStamp, WatchedPaths, Watcher, stamps};
use proxy_config::{DescriptionPlace, ServerConfig, TransportConfig};

/// The longest time until a description is fetched again that could not be.
const RETRY: Duration = Duration::from_secs(60);

/// One version of a description.
struct Version {
    api: Arc<ReadApi>,
    /// The files of it, in the order in which they were read, and what they looked like.
    files: Vec<(PathBuf, FileStamp)>,
}

pub(crate) struct Description {
    server: String,
    settings: ApiSettings,
    current: ArcSwap<Version>,
    /// Why a newer version is not used.
    problem: Mutex<Option<String>>,
    /// What the files looked like when they were tried last.
    tried: Mutex<Vec<(PathBuf, FileStamp)>>,
    changes: watch::Sender<u64>,
    _stop: DropGuard,
}

impl fmt::Debug for Description {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Description").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Description {
    pub(super) async fn read(server: &str, settings: &ApiSettings) -> Result<Arc<Self>, String> {
        let version = read(settings).await.map_err(|problem| format!("cannot use {}: {problem}", named(settings)))?;
        let stop = CancellationToken::new();
        let description = Arc::new(Description {
            server: server.to_owned(),
            settings: settings.clone(),
            tried: Mutex::new(version.files.clone()),
            current: ArcSwap::from_pointee(version),
            problem: Mutex::default(),
            changes: watch::Sender::default(),
            _stop: stop.clone().drop_guard(),
        });
        let follow = follow(Arc::downgrade(&description), settings.clone());
        if let Some(default) = &description.api().default_host {
            tracing::info!(server, "{default}");
        }
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = follow => {}
            }
        });
        Ok(description)
    }

    pub(crate) fn api(&self) -> Arc<ReadApi> {
        Arc::clone(&self.current.load().api)
    }

    /// Why a newer version is not used.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Changes with everything that is known of the API.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn note_change(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn watched_paths(&self) -> WatchedPaths {
        let mut paths = WatchedPaths::default();
        for (file, _) in &self.current.load().files {
            paths.file(file);
        }
        paths
    }

    /// Reads the files again if they have changed since they were tried last. Returns whether they have.
    async fn read_changed_files(&self) -> bool {
        let tried = self.tried.lock().iter().map(|(file, _)| file.clone()).collect();
        let now = stamps(tried).await;
        if now == *self.tried.lock() {
            return false;
        }
        *self.tried.lock() = now;
        self.read_again().await;
        true
    }

    /// Returns whether the description could be used.
    async fn read_again(&self) -> bool {
        let outcome = match read(&self.settings).await {
            Ok(version) => self.check_host(version),
            Err(problem) => Err(problem),
        };
        let is_good = outcome.is_ok();
        let before = self.problem.lock().clone();
        match outcome {
            Ok(version) => {
                *self.tried.lock() = version.files.clone();
                let tools = version.api.definitions().len();
                self.current.store(Arc::new(version));
                *self.problem.lock() = None;
                tracing::info!(server = %self.server, tools, "read {} again", named(&self.settings));
            }
            Err(problem) => {
                let named = named(&self.settings);
                let problem = format!("cannot use the new version of {named}, so the last good one stays: {problem}");
                if before.as_ref() == Some(&problem) {
                    return false;
                }
                tracing::warn!(server = %self.server, "{problem}");
                *self.problem.lock() = Some(problem);
            }
        }
        self.note_change();
        is_good
    }

    /// Requests go to one host, which a description cannot change while it is used.
    fn check_host(&self, version: Version) -> Result<Version, String> {
        let old = &self.current.load().api.base;
        let new = &version.api.base;
        if old.origin() == new.origin() {
            return Ok(version);
        }
        let shown = |url: &Url| url.origin().ascii_serialization();
        Err(format!("its `servers` names `{}` now and not `{}`: set `url`", shown(new), shown(old)))
    }
}

/// Keeps a description up to date for as long as it is used.
async fn follow(description: Weak<Description>, settings: ApiSettings) {
    match (&settings.openapi.description, settings.openapi.ttl) {
        (DescriptionPlace::File(_), _) => follow_files(&description).await,
        (DescriptionPlace::Url(_), Some(ttl)) => follow_url(&description, ttl).await,
        (DescriptionPlace::Url(_), None) => {}
    }
}

async fn follow_files(description: &Weak<Description>) {
    let mut watcher = Watcher::default();
    loop {
        let Some(current) = description.upgrade() else { return };
        // A change before the files were watched is seen here, and other files may belong to it afterwards.
        loop {
            watcher.look_at(current.watched_paths()).await;
            if !current.read_changed_files().await {
                break;
            }
        }
        drop(current);
        watcher.changed().await;
    }
}

async fn follow_url(description: &Weak<Description>, ttl: Duration) {
    let mut delay = ttl;
    loop {
        tokio::time::sleep(delay).await;
        let Some(current) = description.upgrade() else { return };
        delay = if current.read_again().await { ttl } else { ttl.min(RETRY) };
    }
}

/// How a description is called in messages. Clients may see them, so they have no folder.
fn named(settings: &ApiSettings) -> String {
    match &settings.openapi.description {
        DescriptionPlace::File(path) => {
            format!("the description `{}`", path.file_name().unwrap_or_default().display())
        }
        DescriptionPlace::Url(_) => "the description".to_owned(),
    }
}

async fn read(settings: &ApiSettings) -> Result<Version, String> {
    let settings = settings.clone();
    match settings.openapi.description.clone() {
        DescriptionPlace::File(path) => blocking(move || read_file(&settings, &path)).await,
        DescriptionPlace::Url(url) => {
            let url = Url::parse(&url).map_err(|error| error.to_string())?;
            let text = fetch(&url).await?;
            blocking(move || read_fetched(&settings, &url, &text)).await
        }
    }
}

/// Reads on a thread that may take its time. A parsed description takes many times the memory of its tools.
async fn blocking(read: impl FnOnce() -> Result<Version, String> + Send + 'static) -> Result<Version, String> {
    let read = tokio::task::spawn_blocking(move || {
        let version = read();
        memory::give_back();
        version
    });
    read.await.unwrap_or_else(|_| Err("it cannot be read".to_owned()))
}

fn read_file(settings: &ApiSettings, path: &Path) -> Result<Version, String> {
    let (folder, text) = DescriptionFolder::open(path)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let api = ReadApi::read(&DescriptionText { text: &text, file: &file, others: &folder, url: None }, settings)?;
    Ok(Version { api: Arc::new(api), files: folder.into_files() })
}

fn read_fetched(settings: &ApiSettings, url: &Url, text: &str) -> Result<Version, String> {
    let api = ReadApi::read(&DescriptionText { text, file: "openapi", others: &(), url: Some(url) }, settings)?;
    Ok(Version { api: Arc::new(api), files: Vec::new() })
}

/// What `check` tells of an API whose description is a file: where requests go if the config does not say so, and what an
/// operator should know. `None` for any other server. The error is a sentence.
pub fn read_description(server: &ServerConfig) -> Option<Result<DescriptionFacts, String>> {
    let TransportConfig::OpenApi(openapi) = &server.transport else { return None };
    let DescriptionPlace::File(path) = &openapi.description else { return None };
    let settings = ApiSettings { openapi: openapi.clone(), has_auth: server.auth.is_some() };
    let read = read_file(&settings, path).map_err(|problem| format!("cannot use {}: {problem}", named(&settings)));
    Some(read.map(|version| {
        let default_host = version.api.default_host.clone();
        DescriptionFacts { default_host, warnings: version.api.remarks.clone() }
    }))
}

/// What a description says beside its tools.
#[derive(Clone, Debug)]
pub struct DescriptionFacts {
    pub default_host: Option<String>,
    pub warnings: Vec<String>,
}
