//! Indexes and details of tables, kept as long as the metadata they belong to.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, Weak},
};

use tokio::{sync::OnceCell, task};
use ziggurat_answers::client;
use ziggurat_databases::Current;
use ziggurat_mcp::{Error, Reported};
use ziggurat_postgres::{error::QueryError, metadata::Metadata};
use ziggurat_runtime::lock;

use crate::{
    Glossary,
    search_schema::{index::Index, lines::Lines},
    table_details::{DetailOptions, TableDetails},
};

/// Limit on the indexes; a database has one.
const MAX_INDEXES: usize = 100;

/// Limit on the number of tables with details in the cache.
const MAX_DETAILS: usize = 1000;

/// Indexes of the metadata that is in use, and details of tables that were shown. Metadata is the
/// same for all callers of a database, who share its role, and lives for its `metadata_ttl`.
#[derive(Debug, Default)]
pub(super) struct Cache {
    indexes: Mutex<VecDeque<(Weak<Metadata>, IndexCell)>>,
    /// By metadata and the position of the table in it; the oldest first.
    details: Mutex<VecDeque<KnownTable>>,
}

/// An index that may still be in the making.
type IndexCell = Arc<OnceCell<Arc<Index>>>;

/// Details of the table at a position in metadata.
type KnownTable = (Weak<Metadata>, usize, Arc<TableDetails>);

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

    fn cell(&self, metadata: &Arc<Metadata>) -> IndexCell {
        let mut indexes = lock(&self.indexes);
        indexes.retain(|(of, _)| of.strong_count() > 0);
        // Addresses identify metadata in use, and the entries of all other metadata are gone now.
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

    /// Adds the details of tables to the lines about them: those that are not kept are read in one
    /// round trip.
    pub(super) async fn add_details(
        &self,
        lines: &mut Lines<'_>,
        tables: &[usize],
        metadata: &Arc<Metadata>,
        current: &Current,
        options: DetailOptions,
    ) -> Result<(), Error> {
        let mut missing = Vec::new();
        // Details are kept for callers without masks only.
        let is_kept = current.database().masks().is_none();
        for &at in tables {
            let known = self.known(metadata, at).filter(|_| is_kept);
            match (known, lines.table(at)) {
                (Some(known), _) => _ = lines.details.insert(at, known),
                (None, Some(table)) => missing.push((at, (table.schema(), table.name()))),
                (None, None) => {}
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let lease = current.pool().lease().await;
        let lease = lease.map_err(|error| client::unavailable(&error))?;
        let names: Vec<_> = missing.iter().map(|(_, name)| *name).collect();
        let loaded = TableDetails::load(lease, &names, options).await;
        for details in loaded.map_err(|error| unread(&error))? {
            let name = (&*details.schema, &*details.name);
            let found = missing.iter().find(|(_, missing)| *missing == name);
            if let Some(&(at, _)) = found {
                let details = Arc::new(details);
                if is_kept {
                    self.keep(metadata, at, Arc::clone(&details));
                }
                lines.details.insert(at, details);
            }
        }
        Ok(())
    }

    fn known(&self, metadata: &Arc<Metadata>, table: usize) -> Option<Arc<TableDetails>> {
        let details = lock(&self.details);
        let is_it = |of: &Weak<Metadata>, at| at == table && of.as_ptr() == Arc::as_ptr(metadata);
        let known = details.iter().find(|(of, at, _)| is_it(of, *at));
        known.map(|(.., details)| Arc::clone(details))
    }

    fn keep(&self, metadata: &Arc<Metadata>, table: usize, loaded: Arc<TableDetails>) {
        let mut details = lock(&self.details);
        details.retain(|(of, ..)| of.strong_count() > 0);
        if details.len() == MAX_DETAILS {
            details.pop_front();
        }
        details.push_back((Arc::downgrade(metadata), table, loaded));
    }
}

/// Describes the failure to read details.
fn unread(error: &QueryError) -> Reported {
    match error {
        QueryError::Lease(cause) => client::unavailable(cause),
        QueryError::Failed { report, .. } => {
            Reported::new(format!("Failed to read the details of tables: {report}"))
        }
        _ => Reported::new(
            "Failed to read the details of tables: the connection to the database was lost",
        ),
    }
}
