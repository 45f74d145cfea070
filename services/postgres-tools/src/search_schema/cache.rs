//! What is derived from the metadata of databases and kept as long as that.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, Weak},
};

use tokio::{sync::OnceCell, task};
use ziggurat_mcp::Error;
use ziggurat_postgres::metadata::Metadata;
use ziggurat_runtime::lock;

use super::index::Index;
use crate::custom::Glossary;

/// Limit on the indexes; a database has one.
const MAX_INDEXES: usize = 100;

/// Indexes of the metadata that is in use. Metadata is the same for all callers of a database.
#[derive(Debug, Default)]
pub(super) struct Cache {
    indexes: Mutex<VecDeque<(Weak<Metadata>, Arc<OnceCell<Arc<Index>>>)>>,
}

// === impl Cache ===

impl Cache {
    /// Returns the index of metadata; it is made once, and calls meanwhile wait for it.
    pub(super) async fn index(
        &self,
        metadata: &Arc<Metadata>,
        database: &str,
        glossary: &Arc<Glossary>,
    ) -> Result<Arc<Index>, Error> {
        let cell = self.cell(metadata);
        let make = async || {
            let (metadata, glossary) = (Arc::clone(metadata), Arc::clone(glossary));
            let database = database.to_owned();
            // It reads all names and comments, which takes a second for the largest databases.
            let made = task::spawn_blocking(move || Index::new(&metadata, &database, &glossary));
            made.await.map(Arc::new).map_err(Error::internal)
        };
        cell.get_or_try_init(make).await.cloned()
    }

    fn cell(&self, metadata: &Arc<Metadata>) -> Arc<OnceCell<Arc<Index>>> {
        let mut indexes = lock(&self.indexes);
        indexes.retain(|(of, _)| of.strong_count() > 0);
        // The address of metadata in use is that of no other, and of no earlier one that is kept.
        let known = indexes
            .iter()
            .find(|(of, _)| of.as_ptr() == Arc::as_ptr(metadata));
        if let Some((_, cell)) = known {
            return Arc::clone(cell);
        }
        let cell = Arc::default();
        if indexes.len() == MAX_INDEXES {
            indexes.pop_front();
        }
        indexes.push_back((Arc::downgrade(metadata), Arc::clone(&cell)));
        cell
    }
}
