//! Files that change while the server runs, and tokens that end.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::{
    sync::Notify,
    task::spawn_blocking,
    time::{Instant, timeout, timeout_at},
};
use tracing::{error, warn};

use super::{Accounts, Shared, file::folder_of};

/// A change that is followed by another within this time is not looked at yet: editors and
/// `cp` change a file several times.
const QUIET: Duration = Duration::from_millis(30);

/// After this time it is looked at in any case.
const PATIENCE: Duration = Duration::from_millis(60);

const SWEEP: Duration = Duration::from_mins(5);

/// More links than this in one path are a circle.
const MAX_LINKS: usize = 32;

/// Keeps accounts current while it [runs](Self::run): applies changes of the files within
/// 100 ms, and lets expired tokens go.
#[derive(Debug)]
#[must_use = "nothing is watched unless it runs"]
pub struct Watch {
    accounts: Accounts,
    paths: [PathBuf; 2],
    folders: Folders,
    news: Arc<Notify>,
}

/// The folders that are watched: all those in which a change can make a path lead to another
/// file. Folders and not files, because files are replaced.
#[derive(Debug, Default)]
struct Folders {
    watcher: Option<RecommendedWatcher>,
    /// By path; another folder may come to be there.
    watched: BTreeMap<PathBuf, (u64, u64)>,
}

// === impl Accounts ===

impl Accounts {
    /// Begins to watch the files: what changes from now on is seen when the [`Watch`] runs.
    /// Files that are not there yet are watched for.
    pub fn watch(&self) -> Watch {
        let news = Arc::new(Notify::new());
        let teller = Arc::clone(&news);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Reading is no news; and we read.
            if !matches!(&event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
                teller.notify_one();
            }
        });
        let watcher = watcher
            .inspect_err(|error| warn!(%error, "account files are not watched for changes"))
            .ok();
        // What has changed since the files were opened is news as well.
        news.notify_one();
        let mut watch = Watch {
            accounts: self.clone(),
            paths: self.shared.paths.clone(),
            folders: Folders {
                watcher,
                ..Folders::default()
            },
            news,
        };
        watch.folders.follow(&watch.paths);
        watch
    }
}

// === impl Watch ===

impl Watch {
    /// Never ends; drop it to stop.
    pub async fn run(mut self) {
        let mut sweep_at = Instant::now() + self.until_sweep();
        loop {
            if timeout_at(sweep_at, self.news.notified()).await.is_ok() {
                self.settle().await;
                // First, so that what changes while the files are read is seen.
                self.folders.follow(&self.paths);
                self.with_accounts(Shared::reload).await;
                sweep_at = sweep_at.min(Instant::now() + self.until_sweep());
            } else {
                self.with_accounts(Shared::sweep).await;
                sweep_at = Instant::now() + self.until_sweep();
            }
        }
    }

    /// Waits for a series of changes to end.
    async fn settle(&self) {
        let latest = Instant::now() + PATIENCE;
        while Instant::now() < latest && timeout(QUIET, self.news.notified()).await.is_ok() {}
    }

    /// When the next token ends its connections should close, so that is worth a sweep.
    fn until_sweep(&self) -> Duration {
        let shared = &self.accounts.shared;
        let next = shared.known.load().next_end();
        let left = next.map(|at| at.duration_since(shared.clock.now()));
        let left = left.and_then(|left| Duration::try_from(left).ok());
        let at_least = Duration::from_secs(1);
        next.map_or(SWEEP, |_| left.unwrap_or_default().clamp(at_least, SWEEP))
    }

    async fn with_accounts(&self, work: fn(&Shared)) {
        let shared = Arc::clone(&self.accounts.shared);
        if let Err(error) = spawn_blocking(move || work(&shared)).await {
            error!(%error, "keeping the accounts current failed");
        }
    }
}

// === impl Folders ===

impl Folders {
    /// Watches the folders on the way to these files, as the links lead at the moment.
    fn follow(&mut self, paths: &[PathBuf]) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let mut wanted = BTreeMap::new();
        for path in paths {
            for folder in folders_on_the_way(path) {
                if let Ok(about) = fs::metadata(&folder) {
                    wanted.insert(folder, (about.dev(), about.ino()));
                }
            }
        }
        self.watched.retain(|folder, is| {
            let stays = wanted.get(folder) == Some(is);
            if !stays {
                // It may be gone, and its watch with it.
                let _ = watcher.unwatch(folder);
            }
            stays
        });
        for (folder, is) in wanted {
            if self.watched.contains_key(&folder) {
                continue;
            }
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder, is);
                }
                Err(error) => {
                    let folder = folder.display();
                    warn!(%folder, %error, "a folder of account files is not watched");
                }
            }
        }
    }
}

/// The folder of a file, or the nearest that is there, and those of all links that are
/// followed on the way to it.
fn folders_on_the_way(path: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut to_follow = vec![path.to_owned()];
    let mut links = 0;
    while let Some(path) = to_follow.pop() {
        let nearest = path.ancestors().skip(1).find(|folder| folder.is_dir());
        folders.push(nearest.map_or_else(|| folder_of(&path).to_owned(), Path::to_owned));
        for part in path.ancestors() {
            if let Ok(target) = fs::read_link(part)
                && links < MAX_LINKS
            {
                links += 1;
                folders.push(folder_of(part).to_owned());
                to_follow.push(folder_of(part).join(target));
            }
        }
    }
    folders
}
