//! Splits large results, keeps them, and finds them again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use super::kept_in_memory::{KeptInMemory, MAX_RESULT};
use super::kept_result::{KeptResult, ToolBehind};
use super::own_items::{is_id, new_id};
use super::payload::{Oversized, oversized};
use super::read_request::ReadRequest;
use super::sealed_results::{self, SealedResult};
use super::settings::{OTHER, PageLimit, ResultSettings};
use super::wire_form::{Addressee, PageContent, of_error};
use proxy_base::seal::Sealer;
use proxy_config::Results;
use proxy_dialects::Dialects;
use proxy_json::Raw;
use proxy_model::Owner;
use proxy_store::{Store, StoreError};

/// The large results of this process.
#[derive(Debug)]
pub struct PagedResults {
    settings: ArcSwap<ResultSettings>,
    /// A result of at most so many bytes is within every limit.
    smallest: AtomicUsize,
    memory: KeptInMemory,
    /// Encrypts results for a store that other processes use. `None` if none of them has the keys.
    sealer: Option<Sealer>,
    /// How many results were split, by the client's row.
    paged: Mutex<BTreeMap<Cow<'static, str>, u64>>,
}

/// A result that may be too large, and what its pages depend on.
#[derive(Debug)]
pub struct LargeResult {
    pub result: Raw,
    pub limit: PageLimit,
    pub tool: ToolBehind,
    pub owner: Owner,
    pub addressee: Addressee,
    /// Whether the other pages may be kept.
    pub keeps: bool,
}

/// What the client gets of a large result.
#[derive(Debug)]
pub struct FittedResult {
    pub result: Raw,
    /// The id under which the pages are kept.
    pub id: Option<String>,
}

/// A large result in pages.
struct Split {
    result: Raw,
    /// `None` for an error, and for what cannot be kept.
    stored: Option<Stored>,
}

/// A result to be kept.
struct Stored {
    id: String,
    kept: Arc<KeptResult>,
    /// For a shared store.
    sealed: Option<Vec<u8>>,
}

/// Why a kept result is not found.
#[derive(Debug)]
pub(crate) enum FindError {
    /// There is none of this id for this owner.
    NotKept,
    /// The store did not answer.
    Unavailable(StoreError),
}

impl Default for PagedResults {
    fn default() -> Self {
        PagedResults::new(&Results::default(), &Dialects::built_in(), None)
    }
}

impl PagedResults {
    /// Without `sealer`, results are kept in the memory of this process.
    pub(crate) fn new(config: &Results, dialects: &Arc<Dialects>, sealer: Option<Sealer>) -> Self {
        let settings = ResultSettings::new(config, dialects);
        PagedResults {
            smallest: AtomicUsize::new(settings.smallest()),
            settings: ArcSwap::from_pointee(settings),
            memory: KeptInMemory::default(),
            sealer,
            // The row of most clients is there from the beginning, so that its first increase is seen.
            paged: Mutex::new(BTreeMap::from([(OTHER.into(), 0)])),
        }
    }

    /// Replaces the settings. What is kept stays.
    pub(crate) fn set(&self, config: &Results, dialects: &Arc<Dialects>) {
        let now = self.settings.load();
        if now.config == *config && now.dialects == *dialects {
            return;
        }
        let settings = ResultSettings::new(config, dialects);
        self.smallest.store(settings.smallest(), Ordering::Relaxed);
        self.settings.store(Arc::new(settings));
    }

    /// Whether a result of so many bytes may be above a limit. This is all that a small result costs.
    pub fn may_be_large(&self, bytes: usize) -> bool {
        bytes > self.smallest.load(Ordering::Relaxed)
    }

    pub fn settings(&self) -> Arc<ResultSettings> {
        self.settings.load_full()
    }

    /// How long results are kept.
    pub(crate) fn keep(&self) -> Duration {
        self.settings.load().config.keep
    }

    /// The size of what is kept in the memory of this process, in bytes.
    pub fn kept_bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// How many results were split, by the client's row.
    pub fn paged(&self) -> Vec<(String, u64)> {
        self.paged.lock().iter().map(|(row, count)| (row.to_string(), *count)).collect()
    }

    /// The first page of a result that is above the limit, and the whole of any other. The pages are kept. Results are split on
    /// a thread for blocking work.
    pub async fn fitted(self: &Arc<Self>, store: &Store, large: LargeResult) -> FittedResult {
        let large = Arc::new(large);
        let replicas = if self.sealer.is_some() { store.replicas() } else { None };
        let is_shared = replicas.is_some();
        let results = Arc::clone(self);
        let original = Arc::clone(&large);
        let split = spawn_blocking(move || results.split(&original, is_shared)).await;
        let whole = || FittedResult { result: Raw::clone(&large.result), id: None };
        let Ok(Some(Split { result, stored })) = split else { return whole() };
        *self.paged.lock().entry(large.limit.row.clone()).or_default() += 1;
        let Some(Stored { id, kept, sealed }) = stored else { return FittedResult { result, id: None } };
        if let (Some(replicas), Some(sealed)) = (replicas, sealed) {
            let keep = self.keep();
            if let Err(error) = sealed_results::put(replicas, &large.owner, &id, sealed, keep).await {
                tracing::warn!(tool = large.tool.name, "a large result cannot be kept: {error}");
                let original = Arc::clone(&large);
                let lost = spawn_blocking(move || first_page(&original, &kept, None)).await;
                return lost.ok().flatten().map_or_else(whole, |result| FittedResult { result, id: None });
            }
            // The next page is often read here.
            self.remember(&large.owner, &id, kept, keep);
        }
        FittedResult { result, id: Some(id) }
    }

    /// Blocking. `None` if the result is within the limit.
    fn split(&self, large: &LargeResult, is_shared: bool) -> Option<Split> {
        let limit = large.limit.size;
        let Oversized { result, payload, is_error, blocks } = oversized(&large.result, limit)?;
        if is_error {
            let result = of_error(payload.text(), limit.of_page()).in_place_of(&result, &blocks);
            return Some(Split { result, stored: None });
        }
        let kept = Arc::new(KeptResult::new(large.tool.clone(), payload, limit.of_page()));
        let stored = self.stored(large, Arc::clone(&kept), is_shared);
        let content =
            PageContent::first(&kept, stored.as_ref().map(|stored| stored.id.as_str()), self.keep(), &large.addressee);
        Some(Split { result: content.in_place_of(&result, &blocks), stored })
    }

    /// Keeps a result in memory, or prepares it for the shared store. `None` if it is too large for that.
    fn stored(&self, large: &LargeResult, kept: Arc<KeptResult>, is_shared: bool) -> Option<Stored> {
        let id = new_id().ok()?;
        if !large.keeps || kept.bytes() > MAX_RESULT {
            return None;
        }
        if is_shared {
            let sealed = sealed_results::sealed(self.sealer.as_ref()?, &large.owner, &id, &kept)?;
            return Some(Stored { id, kept, sealed: Some(sealed) });
        }
        let is_kept = self.remember(&large.owner, &id, Arc::clone(&kept), self.keep());
        is_kept.then_some(Stored { id, kept, sealed: None })
    }

    fn remember(&self, owner: &Owner, id: &str, kept: Arc<KeptResult>, keep: Duration) -> bool {
        self.memory.put(owner, id, kept, keep, self.settings.load().config.memory)
    }

    /// Finds a result of this owner.
    pub(crate) async fn find(
        self: &Arc<Self>,
        store: &Store,
        owner: &Owner,
        id: &str,
    ) -> Result<Arc<KeptResult>, FindError> {
        if !is_id(id) {
            return Err(FindError::NotKept);
        }
        if let Some(kept) = self.memory.get(owner, id) {
            return Ok(kept);
        }
        let replicas = store.replicas().ok_or(FindError::NotKept)?;
        let sealer = self.sealer.clone().ok_or(FindError::NotKept)?;
        let found = replicas.result(owner, id).await.map_err(FindError::Unavailable)?;
        let (sealed, left) = found.ok_or(FindError::NotKept)?;
        let sealed = SealedResult { owner: owner.clone(), id: id.to_owned(), content: sealed };
        let opened = spawn_blocking(move || sealed.opened(&sealer)).await;
        let kept = Arc::new(opened.ok().flatten().ok_or(FindError::NotKept)?);
        self.remember(owner, id, Arc::clone(&kept), left);
        Ok(kept)
    }

    /// A page of a kept result, or of a part of it. To find the part, or an example of a path, takes milliseconds in a large
    /// result: that is done on a thread for blocking work.
    ///
    /// # Errors
    /// What is wrong with the page or the path, for the model.
    pub(crate) async fn page(
        &self,
        kept: Arc<KeptResult>,
        request: ReadRequest,
        addressee: Addressee,
    ) -> Result<PageContent, String> {
        let keep = self.keep();
        let page = spawn_blocking(move || {
            if request.path.is_empty() {
                return PageContent::of(&kept, &request, keep, &addressee);
            }
            PageContent::of(&kept.part(&request.path)?, &request, keep, &addressee)
        });
        page.await.map_err(|error| error.to_string())?
    }
}

/// The first page of a result that is not kept. Blocking.
fn first_page(large: &LargeResult, kept: &KeptResult, id: Option<&str>) -> Option<Raw> {
    let Oversized { result, blocks, .. } = oversized(&large.result, large.limit.size)?;
    Some(PageContent::first(kept, id, Duration::ZERO, &large.addressee).in_place_of(&result, &blocks))
}
