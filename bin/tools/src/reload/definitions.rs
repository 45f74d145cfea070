//! Changes of the files of definitions.

use std::{future::pending, path::PathBuf, time::Duration};

use tokio::time;
use ziggurat_postgres_tools::custom::DefinitionFiles;
use ziggurat_runtime::watch::{Folders, Stamp, Stamps, settled_for};

/// Time for which files stay the same before they are read, because some programs write a file in
/// several steps.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Limit on reading files again that have changed while they were read.
const MAX_READS: u32 = 5;

/// The files of the definitions in use, and the files of definitions that could not be used.
#[derive(Default)]
pub(crate) struct WatchedDefinitions {
    folders: Option<Folders>,
    used: Option<DefinitionFiles>,
    tried: Option<DefinitionFiles>,
    /// The files when they were last read or compared.
    stamps: Stamps,
    /// The digest of the contents that were read last.
    digest: Option<u64>,
}

// === impl WatchedDefinitions ===

impl WatchedDefinitions {
    /// Watches the files of the definitions in use.
    pub(crate) fn new(files: Option<DefinitionFiles>) -> Self {
        let mut watched = Self {
            digest: files.as_ref().map(DefinitionFiles::digest),
            ..Self::default()
        };
        watched.follow(files);
        if let Some(folders) = &watched.folders {
            // The files may have changed since they were read.
            folders.trigger();
        }
        watched
    }

    /// Waits until a file may have changed.
    pub(crate) async fn changed(&self) {
        match &self.folders {
            Some(folders) => folders.changed().await,
            None => pending().await,
        }
    }

    /// Returns whether the files have changed since they were read. Other files in their folders may
    /// change all the time, such as an audit trail, so it then takes a moment.
    pub(crate) async fn have_changed(&self) -> bool {
        if self.look(&[]) != self.stamps {
            return true;
        }
        time::sleep(SETTLE_TIME).await;
        false
    }

    /// Reads files when nothing writes them, and again if they have changed meanwhile. `others` are
    /// files that are read besides the definitions.
    pub(crate) async fn read<T>(&mut self, others: &[PathBuf], mut read: impl FnMut() -> T) -> T {
        let mut reads = 1;
        loop {
            let before = settled_for(SETTLE_TIME, || self.look(others)).await;
            // Reading files may block, and a slow disk must not delay other tasks of this thread.
            let result = tokio::task::block_in_place(&mut read);
            if self.look(others) == before || reads == MAX_READS {
                self.stamps = before;
                self.stamps.retain(|path, _| !others.contains(path));
                return result;
            }
            reads += 1;
        }
    }

    /// Remembers the contents that were read, and returns whether they are others than before.
    pub(crate) fn are_new(&mut self, files: &DefinitionFiles) -> bool {
        self.digest.replace(files.digest()) != Some(files.digest())
    }

    /// Watches the files of the definitions in use.
    pub(crate) fn follow(&mut self, used: Option<DefinitionFiles>) {
        self.used = used;
        self.tried = None;
        self.watch();
    }

    /// Also watches the files of definitions that could not be used.
    pub(crate) fn follow_also(&mut self, tried: Option<DefinitionFiles>) {
        self.tried = tried;
        self.watch();
    }

    fn watch(&mut self) {
        if self.files().next().is_none() {
            self.folders = None;
            return;
        }
        let paths: Vec<_> = self.files().flat_map(DefinitionFiles::paths).collect();
        let folders = &mut self.folders;
        let folders = folders.get_or_insert_with(|| Folders::new("definitions"));
        folders.follow(paths);
    }

    fn files(&self) -> impl Iterator<Item = &DefinitionFiles> {
        self.used.iter().chain(&self.tried)
    }

    fn look(&self, others: &[PathBuf]) -> Stamps {
        let files = self.files().flat_map(DefinitionFiles::paths);
        Stamp::of_all(files.chain(others.iter().cloned()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ziggurat_postgres_tools::custom::Definitions;
    use ziggurat_sql_tools::Environment;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn contents_are_new_once_and_a_file_with_the_same_contents_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("own.yaml");
        let load = || Definitions::load(&path, &Environment::default()).0;
        let write = |text: &str| fs::write(&path, text).expect("written");
        write("glossary: []");
        let mut watched = WatchedDefinitions::new(Some(load()));
        for (text, expected) in [
            ("glossary: []", false),
            ("tools: [", true),
            ("tools: [", false),
            ("prompts: []", true),
        ] {
            write(text);
            watched.changed().await;
            assert!(watched.have_changed().await, "{text}");
            let files = watched.read(&[], load).await;
            assert_eq!(watched.are_new(&files), expected, "{text}");
            assert!(!watched.have_changed().await, "{text}");
        }
    }
}
