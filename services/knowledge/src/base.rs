//! The file of a knowledge base, its cached contents, and the detection of changes.

mod snapshot;

use std::{
    error::Error as StdError,
    fmt, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::{fs, sync::Semaphore};
use tracing::warn;

pub(super) use self::snapshot::{ProductIndex, Snapshot, Vectors};
use crate::{Error, Filter, Product, Provider, Search};

/// Default for the maximum number of bytes of vectors in memory.
const DEFAULT_MAX_BYTES: usize = 256 << 20;

/// Multiple of the time for reading a file: for this long, the old contents are searched while the
/// file is being written to.
const STALE_FACTOR: u32 = 20;

/// Searches one file, and notices when it changes or is replaced. Clones share the cached contents.
#[derive(Clone)]
pub struct KnowledgeBase {
    shared: Arc<Shared>,
    model: Option<Arc<str>>,
    max_bytes: usize,
}

struct Shared {
    path: PathBuf,
    provider: Provider,
    latest: ArcSwapOption<Loaded>,
    /// One task reads the file at a time; the others wait for it.
    loading: Semaphore,
    /// Limits the searches that keep a processor busy.
    searching: Arc<Semaphore>,
}

/// The contents of the file, and the state in which they were read.
struct Loaded {
    snapshot: Arc<Snapshot>,
    state: State,
    since: Instant,
    took: Duration,
}

/// Identifies one state of a file.
///
/// Made from the metadata, without opening the file: closing it would drop the locks that SQLite
/// holds on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

// === impl KnowledgeBase ===

impl KnowledgeBase {
    /// Searches this file with vectors of this provider. The file is opened on first use.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, provider: Provider) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, Into::into);
        Self {
            shared: Arc::new(Shared {
                path: path.into(),
                provider,
                latest: ArcSwapOption::empty(),
                loading: Semaphore::new(1),
                searching: Arc::new(Semaphore::new(processors)),
            }),
            model: None,
            max_bytes: DEFAULT_MAX_BYTES,
        }
    }

    /// Sets the model that makes the vectors: a file that names another model is not searched.
    #[must_use]
    pub fn with_model(mut self, model: &str) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets how many bytes of vectors may be kept in memory (256 MiB by default). If a file has
    /// more, each question reads the whole file, which takes longer.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Reads the file now, so that the first search does not have to, and returns the number of
    /// chunks.
    ///
    /// # Errors
    /// Fails if the file cannot be searched.
    pub async fn warm(&self) -> Result<u64, Error> {
        let snapshot = self.snapshot().await?;
        Ok(snapshot.products.iter().map(|product| product.chunks).sum())
    }

    /// Returns the products in the file, by name and version.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub async fn products(&self) -> Result<Vec<Product>, Error> {
        Ok(self.snapshot().await?.products.clone())
    }

    /// Prepares a search among some products.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if there is no such product, and if the vectors were made
    /// by another provider or model.
    pub async fn search(&self, filter: &Filter) -> Result<Search, Error> {
        let snapshot = self.snapshot().await?;
        let selected = filter.select(&snapshot.products)?;
        self.check_model(&snapshot)?;
        let searching = Arc::clone(&self.shared.searching);
        let search = Search::new(snapshot, self.shared.provider, selected, searching);
        search.check()?;
        Ok(search)
    }

    fn check_model(&self, snapshot: &Snapshot) -> Result<(), Error> {
        match (&snapshot.model, &self.model) {
            (Some(built), Some(configured)) if **built != **configured => Err(Error::Model {
                provider: self.shared.provider.name(),
                built: built.clone(),
                configured: configured.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// Returns the contents of the file, which may be a moment old.
    async fn snapshot(&self) -> Result<Arc<Snapshot>, Error> {
        let shared = &*self.shared;
        if let Some(snapshot) = shared.known(State::of(&shared.path).await?) {
            return Ok(snapshot);
        }
        let _turn = shared.loading.acquire().await.expect("it is never closed");
        // Another task may have read it in the meantime.
        let state = State::of(&shared.path).await?;
        if let Some(snapshot) = shared.known(state) {
            return Ok(snapshot);
        }
        let since = Instant::now();
        let snapshot = Snapshot::load(&shared.path, shared.provider, self.max_bytes)
            .await
            .inspect_err(|error| {
                let error = error as &dyn StdError;
                warn!(error, path = %shared.path.display(), "the knowledge base cannot be read");
            })?;
        let snapshot = Arc::new(snapshot);
        shared.latest.store(Some(Arc::new(Loaded {
            snapshot: Arc::clone(&snapshot),
            state,
            since: Instant::now(),
            took: since.elapsed(),
        })));
        Ok(snapshot)
    }
}

impl fmt::Debug for KnowledgeBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnowledgeBase")
            .field("path", &self.shared.path)
            .field("provider", &self.shared.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    /// Returns the cached contents, if they are current, or too recent for reading the file again.
    fn known(&self, now: State) -> Option<Arc<Snapshot>> {
        let latest = self.latest.load();
        let latest = latest.as_ref()?;
        // A build writes at short intervals while it runs.
        let is_recent = latest.state.place == now.place
            && latest.took > Duration::from_millis(50)
            && latest.since.elapsed() < latest.took * STALE_FACTOR;
        (latest.state == now || is_recent).then(|| Arc::clone(&latest.snapshot))
    }
}

// === impl State ===

impl State {
    async fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path).await?;
        Ok(Self {
            place: (file.dev(), file.ino()),
            size: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        })
    }
}
