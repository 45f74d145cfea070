//! Settings for keeping the vectors of tables in step with their texts.

use ziggurat_postgres::pool::Pool;
use ziggurat_runtime::config::Section;
use ziggurat_sync::{SyncedTable, TableSync, WorkerSettings};

use crate::configuration::ingest::Ingest;

/// Limit on the batches at once.
const MAX_CONCURRENCY: usize = 64;

/// The checked settings of the tables with `sync: true`.
#[derive(Clone, Debug)]
pub(crate) struct SyncSettings {
    pub(crate) tables: Vec<SyncedTable>,
    pub(crate) settings: WorkerSettings,
    /// The server does the work itself.
    pub(crate) in_server: bool,
}

// === impl SyncSettings ===

impl SyncSettings {
    /// Reads the section `ingest.sync`; returns `None` if no table has `sync: true`.
    pub(super) fn read(
        section: &Section<'_>,
        ingest: Option<&Ingest>,
        tables: Vec<SyncedTable>,
    ) -> Option<Self> {
        if !tables.is_empty() && !section.is_present() {
            section.key("database").problem(
                "required, because a table has sync: true: vectors are written by a role of its own",
            );
        }
        let file = section.section("sync");
        let default = WorkerSettings::default();
        let settings = WorkerSettings {
            batch_size: ingest.and_then(|ingest| ingest.settings.batch_size),
            concurrency: file
                .key("concurrency")
                .whole(1..=MAX_CONCURRENCY)
                .unwrap_or(default.concurrency),
            poll_interval: file
                .key("poll_interval")
                .some_time()
                .unwrap_or(default.poll_interval),
        };
        let value = file.key("in_server");
        let in_server = value.boolean().unwrap_or(false);
        value.check(
            !in_server || !tables.is_empty(),
            "has no effect, because no table of the pipeline has sync: true",
        );
        (!tables.is_empty()).then_some(Self {
            tables,
            settings,
            in_server,
        })
    }

    /// Returns whether a table is kept in step.
    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|synced| synced.table == table)
    }

    /// Returns the tables, each with the role of a pool that writes.
    pub(crate) fn written_by(&self, pool: &Pool) -> Vec<TableSync> {
        let tables = self.tables.iter();
        tables
            .map(|table| TableSync::new(pool.clone(), table.clone()))
            .collect()
    }
}
