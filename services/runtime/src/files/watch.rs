//! Detects changes of files.
//!
//! Folders are watched instead of files, because files are replaced: by editors, or by a changed
//! symbolic link if a secret is mounted. Callers compare [`Stamp`]s to see which files have
//! changed.
//!
//! ```
//! # tokio_test::block_on(async {
//! use ziggurat_runtime::watch::{Folders, Stamp};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("key");
//! let mut folders = Folders::new("keys");
//! folders.follow([&file]);
//! assert_eq!(Stamp::of(&file), None);
//! std::fs::write(&file, "swordfish")?;
//! folders.changed().await;
//! assert!(Stamp::of(&file).is_some());
//! # Ok::<_, std::io::Error>(())
//! # }).unwrap();
//! ```

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::{sync::Notify, time};
use tracing::warn;

/// Limit on symbolic links in one path, which ends cycles.
const MAX_LINKS: usize = 32;

/// Time without changes before files are read, because some are written in several steps or belong
/// to a set of files.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// Limit on waits for such a time; the files are read after the last one.
const MAX_WAITS: u32 = 10;

/// Watches all folders in which a change can make a path lead to another file.
#[derive(Debug)]
#[must_use = "nothing is watched when it is dropped"]
pub struct Folders {
    /// Description of the files, for the log.
    what: &'static str,
    watcher: Option<RecommendedWatcher>,
    /// Device and inode by path, because a folder may be replaced.
    watched: BTreeMap<PathBuf, (u64, u64)>,
    news: Arc<Notify>,
}

/// Identity and metadata of a file, which differ after it is changed or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Path after all symbolic links.
    target: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// Stamps of files by their path; `None` stands for a missing file.
pub type Stamps = BTreeMap<PathBuf, Option<Stamp>>;

// === impl Folders ===

impl Folders {
    /// Creates a watcher; logs a warning if the system does not allow it.
    pub fn new(what: &'static str) -> Self {
        let news = Arc::new(Notify::new());
        let teller = Arc::clone(&news);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Read access is no change, and the program itself reads the files.
            if !matches!(&event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
                teller.notify_one();
            }
        });
        Self {
            what,
            watcher: watcher
                .inspect_err(|error| warn!(%error, "cannot watch {what} for changes"))
                .ok(),
            watched: BTreeMap::new(),
            news,
        }
    }

    /// Waits for a change in one of the folders since the last wait.
    pub async fn changed(&self) {
        self.news.notified().await;
    }

    /// Triggers [`changed`](Self::changed) without a change.
    pub fn trigger(&self) {
        self.news.notify_one();
    }

    /// Watches exactly the folders on the current paths to these files, links included. The files
    /// may be missing.
    pub fn follow(&mut self, paths: impl IntoIterator<Item = impl AsRef<Path>>) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let mut wanted = BTreeMap::new();
        for path in paths {
            for folder in folders_on_the_way(path.as_ref()) {
                if let Ok(about) = fs::metadata(&folder) {
                    wanted.insert(folder, (about.dev(), about.ino()));
                }
            }
        }
        self.watched.retain(|folder, is| {
            let stays = wanted.get(folder) == Some(is);
            if !stays {
                // Fails if the folder was deleted, and its watch with it.
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
                    let (folder, what) = (folder.display(), self.what);
                    warn!(%folder, %error, "cannot watch a folder of {what}");
                }
            }
        }
    }
}

// === impl Stamp ===

impl Stamp {
    /// Returns the stamp of the file at a path, or `None` if there is no file.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok()?;
        Some(Self {
            target: fs::canonicalize(path).ok()?,
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
        })
    }

    /// Returns the stamps of the files at these paths.
    pub fn of_all(paths: impl IntoIterator<Item = PathBuf>) -> Stamps {
        let paths = paths.into_iter();
        paths
            .map(|path| {
                let stamp = Self::of(&path);
                (path, stamp)
            })
            .collect()
    }
}

/// Repeats `look` until its result stops changing, for five seconds at most; returns the last
/// result.
pub async fn settled<T: PartialEq>(look: impl Fn() -> T) -> T {
    settled_for(SETTLE_TIME, look).await
}

/// Repeats `look` until its result stays the same for a time, and ten times at most; returns the last
/// result.
pub async fn settled_for<T: PartialEq>(time: Duration, look: impl Fn() -> T) -> T {
    let mut now = look();
    for _ in 0..MAX_WAITS {
        time::sleep(time).await;
        let later = look();
        if later == now {
            break;
        }
        now = later;
    }
    now
}

/// Returns the folder of a file, or its nearest existing parent, and the folders of all links on
/// the path.
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

/// Returns the folder of a file, or the current folder if the path names none.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_replaced_or_relinked_file_has_another_stamp() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("one"), "same").expect("written");
        fs::write(at("two"), "same").expect("written");
        symlink(at("one"), at("key")).expect("linked");
        let before = Stamp::of(&at("key"));
        assert!(before.is_some());
        assert_eq!(Stamp::of(&at("key")), before);
        fs::remove_file(at("key")).expect("removed");
        assert_eq!(Stamp::of(&at("key")), None);
        symlink(at("two"), at("key")).expect("linked");
        assert_ne!(Stamp::of(&at("key")), before);
    }

    #[test]
    fn every_folder_on_a_path_of_links_is_watched() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("data")).expect("created");
        fs::create_dir(at("mount")).expect("created");
        fs::write(at("data/key"), "").expect("written");
        symlink("../data", at("mount/now")).expect("linked");
        let folders = folders_on_the_way(&at("mount/now/key"));
        for expected in ["mount/now", "mount", "mount/.."] {
            assert!(folders.contains(&at(expected)), "{expected}: {folders:?}");
        }
        let missing = folders_on_the_way(&at("data/none/none"));
        assert!(missing.contains(&at("data")), "{missing:?}");
    }
}
