//! The file, what is kept of it in memory, and when to look again.

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

pub(super) use self::snapshot::{Places, Snapshot, Vectors};
use super::{Error, Filter, Product, Provider, Search};

/// How many bytes of vectors are kept in memory unless it is told otherwise.
const DEFAULT_MAX_BYTES: usize = 256 << 20;

/// How much longer a file that is being written to is searched as it was than it took to read.
const PATIENCE: u32 = 20;

/// Searches one file, and notices when it changes or is replaced. Clones share what is known of
/// it.
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
    /// One reads it at a time, and the others wait for that.
    loading: Semaphore,
    /// Searches that keep a processor busy.
    searching: Arc<Semaphore>,
}

/// What the file holds, and when that was so.
struct Loaded {
    snapshot: Arc<Snapshot>,
    state: State,
    since: Instant,
    took: Duration,
}

/// Tells one state of a file from another.
///
/// The file must not be opened for that: closing it would drop the locks SQLite holds on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    place: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

// === impl KnowledgeBase ===

impl KnowledgeBase {
    /// Searches this file with vectors of this provider. The file is opened when it is first
    /// needed.
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

    /// Says which model makes the vectors: a file that was built with another is not searched,
    /// if it says so.
    #[must_use]
    pub fn with_model(mut self, model: &str) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets how many bytes of vectors may be kept in memory (256 MiB by default). A file with
    /// more is read through for each question, which takes longer.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Reads the file now, so that the first search does not have to, and says how many chunks
    /// there are.
    ///
    /// # Errors
    /// Fails if it cannot be searched.
    pub async fn warm(&self) -> Result<u64, Error> {
        let snapshot = self.snapshot().await?;
        Ok(snapshot.products.iter().map(|product| product.chunks).sum())
    }

    /// The products there are, by name and version.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub async fn products(&self) -> Result<Vec<Product>, Error> {
        Ok(self.snapshot().await?.products.clone())
    }

    /// Prepares a search among some products.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if there is no such product, and if what there is was
    /// made by another provider or model.
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

    /// What the file holds now, or a moment ago.
    async fn snapshot(&self) -> Result<Arc<Snapshot>, Error> {
        let shared = &*self.shared;
        if let Some(snapshot) = shared.known(State::of(&shared.path).await?) {
            return Ok(snapshot);
        }
        let _turn = shared.loading.acquire().await.expect("it is never closed");
        // Somebody else may have read it meanwhile.
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
    /// What is known, if it is still so, or was when reading it again would not have paid.
    fn known(&self, now: State) -> Option<Arc<Snapshot>> {
        let latest = self.latest.load();
        let latest = latest.as_ref()?;
        // A build writes every few moments for as long as it takes.
        let is_recent = latest.state.place == now.place
            && latest.took > Duration::from_millis(50)
            && latest.since.elapsed() < latest.took * PATIENCE;
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
