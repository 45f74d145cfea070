//! The tables of a database at one moment, written in pieces.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::HeaderValue;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::task;
use ziggurat_postgres::{
    metadata::{Metadata, Table},
    statement::MaskedColumns,
};

use crate::schema::{
    described::{CatalogueDescription, SchemaDescription, TableDescription},
    storage::Storage,
};

/// Maximum number of bytes of the tables that are shown.
const MAX_BYTES: usize = 32 << 20;

/// Size from which a piece is sent.
const PIECE_BYTES: usize = 64 << 10;

/// Number of bytes of a digest that name a content.
const TAG_BYTES: usize = 16;

/// The tables of a database at one moment.
#[derive(Debug)]
pub(super) struct Catalogue {
    database: String,
    metadata: Arc<Metadata>,
    storage: Storage,
    masked: MaskedColumns,
    loaded_at: Timestamp,
    etag: HeaderValue,
    /// Number of tables that are looked at.
    end: usize,
    is_cut: bool,
}

// === impl Catalogue ===

impl Catalogue {
    /// Makes a catalogue from facts of this age, also about the masks of a caller, and names its
    /// content.
    pub(super) async fn new(
        database: &str,
        metadata: Arc<Metadata>,
        (storage, masked): (Storage, MaskedColumns),
        age: Duration,
    ) -> Self {
        let read = SystemTime::now().checked_sub(age);
        let read = read.and_then(|time| Timestamp::try_from(time).ok());
        let end = metadata.tables().len();
        let mut catalogue = Self {
            database: database.to_owned(),
            end,
            is_cut: metadata.is_cut() || storage.is_cut(),
            metadata,
            storage,
            masked,
            loaded_at: read.unwrap_or_default(),
            etag: HeaderValue::from_static(""),
        };
        catalogue.finish().await;
        catalogue
    }

    /// Finds the last table that fits, and names the content. Gives way to other tasks meanwhile.
    async fn finish(&mut self) {
        let mut digest = Sha256::new();
        let denied: Vec<_> = self.metadata.denied().collect();
        digest.update(json!([self.database, self.is_cut, denied]).to_string());
        let (mut at, mut bytes) = (Some(0), 0);
        while let Some(start) = at {
            let (piece, next) = self.tables(start);
            bytes += piece.len();
            if bytes > MAX_BYTES {
                self.end = start;
                self.is_cut = true;
                break;
            }
            digest.update(&piece);
            at = next;
            task::yield_now().await;
        }
        digest.update([u8::from(self.is_cut)]);
        let digest = digest.finalize();
        let tag = BASE64_URL_SAFE_NO_PAD.encode(&digest[..TAG_BYTES]);
        // Weak, because the moment of the load is not named.
        let etag = HeaderValue::try_from(format!("W/\"{tag}\""));
        self.etag = etag.expect("letters, digits and quotes");
    }

    /// Returns whether it was made from this.
    pub(super) fn is_of(&self, metadata: &Arc<Metadata>) -> bool {
        Arc::ptr_eq(&self.metadata, metadata)
    }

    /// Returns the name of its content.
    pub(super) fn etag(&self) -> &HeaderValue {
        &self.etag
    }

    /// Returns a piece of the whole from the table at a position on, and the position of the next.
    pub(super) fn piece(&self, start: usize) -> (Bytes, Option<usize>) {
        let mut piece = Vec::new();
        if start == 0 {
            let head = CatalogueDescription {
                database: &self.database,
                loaded_at: self.loaded_at.to_string(),
                cut: self.is_cut,
                denied: self.metadata.denied().collect(),
                schemas: [],
            };
            open(&head, &mut piece);
        }
        let (tables, next) = self.tables(start);
        piece.extend_from_slice(&tables);
        if next.is_none() {
            piece.push(b'}');
        }
        (piece.into(), next)
    }

    /// Writes tables from a position on, with their schemas around them. Returns also the position
    /// of the next, if there is one.
    fn tables(&self, start: usize) -> (Vec<u8>, Option<usize>) {
        let mut json = Vec::new();
        let shown = |table: &Table<'_>| !table.is_partition();
        // The schema of the table before.
        let mut before = start.checked_sub(1).and_then(|last| {
            let tables = self.metadata.tables();
            // Only partitions may stand between.
            let mut tables = tables.take(last + 1).filter(shown);
            tables.by_ref().last().map(Table::schema)
        });
        let count = self.end - start;
        for (at, table) in self.metadata.tables_from(start).take(count).enumerate() {
            if shown(&table) {
                self.table(table, before, &mut json);
                before = Some(table.schema());
            }
            if json.len() >= PIECE_BYTES && at + 1 < count {
                return (json, Some(start + at + 1));
            }
        }
        json.extend_from_slice(if before.is_some() { b"]}]" } else { b"]" });
        (json, None)
    }

    /// Writes a table, and the beginning of its schema unless the table before has it too.
    fn table(&self, table: Table<'_>, before: Option<&str>, json: &mut Vec<u8>) {
        if before == Some(table.schema()) {
            json.push(b',');
        } else {
            if before.is_some() {
                json.extend_from_slice(b"]},");
            }
            let (name, tables) = (table.schema(), []);
            open(&SchemaDescription { name, tables }, json);
        }
        let described = TableDescription::new(table, &self.storage, &self.masked);
        write(&described, json);
    }
}

/// Writes an object that ends with a list, up to the first member of that list.
fn open(value: &impl Serialize, json: &mut Vec<u8>) {
    write(value, json);
    json.truncate(json.len() - "]}".len());
}

fn write(value: &impl Serialize, json: &mut Vec<u8>) {
    let written = serde_json::to_writer(json, value);
    written.expect("names and numbers are JSON");
}
