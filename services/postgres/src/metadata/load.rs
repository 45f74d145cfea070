//! Reads the catalogue.

use std::{sync::Arc, time::Instant};

use tracing::debug;

use crate::{
    LOG_TARGET,
    driver::{DriverError, Event, Row},
    error::{Phase, QueryError},
    metadata::{
        ColumnEntry, Content, Identity, Metadata, TableEntry, TableKind,
        enums::EnumsBuilder,
        field::{number, text},
        interner::{InternerBuilder, TextId},
        keys::KeysBuilder,
        query,
    },
    pool::{Lease, milliseconds},
    statement_log::{Counts, StatementLog, commented},
};

/// Limits on the stored metadata.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) tables: usize,
    pub(super) columns: usize,
    /// In bytes.
    pub(super) text: usize,
}

struct Reader {
    words: InternerBuilder,
    metadata: Content,
    enums: EnumsBuilder,
    keys: KeysBuilder,
    limits: Limits,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            tables: 100_000,
            columns: 1_000_000,
            text: 64 << 20,
        }
    }
}

// === impl Metadata ===

impl Metadata {
    /// Reads the catalogue, in a read-only transaction limited by the query timeout of the
    /// database.
    ///
    /// # Errors
    /// Fails when PostgreSQL refuses it or takes too long, and when the connection breaks.
    pub async fn load(lease: Lease) -> Result<Self, QueryError> {
        Self::load_within(lease, Limits::default()).await
    }

    pub(super) async fn load_within(mut lease: Lease, limits: Limits) -> Result<Self, QueryError> {
        let message = query::message(milliseconds(lease.database().query_timeout()), limits);
        let mut reader = Reader::new(limits);
        let began = Instant::now();
        let log = StatementLog::without_event(&lease, &message);
        let comment = log.comment(&lease);
        let read = reader
            .read(&mut lease, &commented(&comment, &message))
            .await;
        let read = read.map_err(|error| QueryError::new(error, Phase::Run, comment.len()));
        log.close(read.as_ref().map(|()| Counts::read(0)));
        read?;
        lease.settle();
        let metadata = reader.finish();
        debug!(
            target: LOG_TARGET,
            database = lease.database().name(),
            process = lease.process(),
            tables = metadata.content.tables.len(),
            columns = metadata.content.columns.len(),
            duration_ms = began.elapsed().as_secs_f64() * 1e3,
            "catalogue read"
        );
        Ok(metadata)
    }
}

// === impl Reader ===

impl Reader {
    fn new(limits: Limits) -> Self {
        Self {
            words: InternerBuilder::default(),
            metadata: Content::default(),
            enums: EnumsBuilder::default(),
            keys: KeysBuilder::default(),
            limits,
        }
    }

    async fn read(&mut self, lease: &mut Lease, message: &str) -> Result<(), DriverError> {
        let client = lease.begin();
        client.queue(message);
        client.flush().await?;
        let mut completed = 0;
        while let Some(event) = client.next().await? {
            match event {
                Event::Completed { .. } => completed += 1,
                Event::Row(row) => match completed {
                    query::VERSION_AT => {
                        self.metadata.version = text(&row, 0)?.into_owned();
                    }
                    query::POWERS_AT => {
                        self.metadata.powers.push(text(&row, 0)?.into_owned());
                    }
                    query::DENIED_AT => self.denied(&row)?,
                    query::TABLES_AT => self.table(&row)?,
                    query::TYPES_AT => {
                        self.enums.read(&row, &mut self.words, self.limits.text)?;
                    }
                    query::COLUMNS_AT => self.column(&row)?,
                    query::KEYS_AT => self.keys.key(&row)?,
                    query::FUNCTIONS_AT => {
                        let words = self.words(&row, [0, 1, 2, 3, 4])?;
                        self.metadata.functions.extend(words);
                    }
                    _ => {}
                },
                Event::Parameters(_)
                | Event::Columns(_)
                | Event::Oversized { .. }
                | Event::Ready => {}
            }
        }
        Ok(())
    }

    fn denied(&mut self, row: &Row) -> Result<(), DriverError> {
        if let Some(schema) = self.word(row, 0)? {
            self.metadata.denied.push(schema);
        }
        Ok(())
    }

    fn table(&mut self, row: &Row) -> Result<(), DriverError> {
        let texts = (self.word(row, 0)?, self.word(row, 1)?, self.word(row, 4)?);
        let (Some(schema), Some(name), Some(comment)) = texts else {
            self.metadata.is_cut = true;
            return Ok(());
        };
        let metadata = &mut self.metadata;
        // After the first table that is left out, none is stored, so that the result is the
        // beginning of the list.
        if metadata.is_cut || metadata.tables.len() == self.limits.tables {
            metadata.is_cut = true;
            return Ok(());
        }
        metadata.tables.push(TableEntry {
            schema,
            name,
            comment,
            kind: match &*text(row, 2)? {
                "p" => TableKind::Partitioned,
                "v" => TableKind::View,
                "m" => TableKind::MaterializedView,
                "f" => TableKind::Foreign,
                _ => TableKind::Table,
            },
            is_partition: text(row, 3)? == "t",
            is_readable: text(row, 8)? != "f",
            has_vectors: false,
            oid: number(row, 5)?,
            columns: 0..0,
            rows: number(row, 6)?,
            primary_key: 0..0,
            foreign_keys: 0..0,
            referenced_by: 0..0,
        });
        self.keys.table(row)
    }

    fn column(&mut self, row: &Row) -> Result<(), DriverError> {
        let place: usize = number(row, 0)?;
        if place >= self.metadata.tables.len() {
            // Its table was left out.
            return Ok(());
        }
        let entry = if self.metadata.columns.len() < self.limits.columns {
            self.column_entry(row)?
        } else {
            None
        };
        let Some(entry) = entry else {
            self.cut(place);
            return Ok(());
        };
        let Content {
            tables, columns, ..
        } = &mut self.metadata;
        let table = &mut tables[place];
        let count = u32::try_from(columns.len()).unwrap_or(u32::MAX);
        if table.columns.is_empty() {
            table.columns.start = count;
        }
        table.columns.end = count + 1;
        table.has_vectors |= entry.vector_dims.is_some();
        columns.push(entry);
        self.keys.column(row)
    }

    fn column_entry(&mut self, row: &Row) -> Result<Option<ColumnEntry>, DriverError> {
        let Some(words) = self.words(row, [1, 2, 4, 5, 7])? else {
            return Ok(None);
        };
        let [name, data_type, comment, references, default] = words;
        let dims = text(row, 8)?;
        Ok(Some(ColumnEntry {
            name,
            data_type,
            comment,
            references,
            default,
            // A vector type without dimensions has -1.
            vector_dims: (!dims.is_empty()).then(|| dims.parse().unwrap_or(0)),
            identity: match &*text(row, 6)? {
                "a" => Some(Identity::Always),
                "d" => Some(Identity::ByDefault),
                _ => None,
            },
            facts: number(row, 3)?,
            number: number(row, 10)?,
            enum_type: self.enums.find(&text(row, 9)?),
        }))
    }

    /// Removes a table and all after it.
    fn cut(&mut self, place: usize) {
        let metadata = &mut self.metadata;
        metadata.is_cut = true;
        let cut = metadata.tables.drain(place..).next();
        if let Some(table) = cut.filter(|table| !table.columns.is_empty()) {
            metadata.columns.truncate(table.columns.start as usize);
        }
    }

    /// Keeps five texts of a row, or returns `None` if there is no room for all.
    fn words(&mut self, row: &Row, places: [usize; 5]) -> Result<Option<[TextId; 5]>, DriverError> {
        let mut words = [TextId::EMPTY; 5];
        for (word, index) in words.iter_mut().zip(places) {
            match self.word(row, index)? {
                Some(kept) => *word = kept,
                None => return Ok(None),
            }
        }
        Ok(Some(words))
    }

    fn word(&mut self, row: &Row, index: usize) -> Result<Option<TextId>, DriverError> {
        Ok(self.words.keep(&text(row, index)?, self.limits.text))
    }

    fn finish(self) -> Metadata {
        let mut metadata = self.metadata;
        metadata.tables.shrink_to_fit();
        metadata.columns.shrink_to_fit();
        metadata.functions.shrink_to_fit();
        let words = self.words.finish();
        // PostgreSQL sorts by the bytes of the database encoding. Look-ups need the order of UTF-8.
        let place = |entry: &TableEntry| (words.text(entry.schema), words.text(entry.name));
        metadata
            .tables
            .sort_by(|one, two| place(one).cmp(&place(two)));
        metadata.denied.sort_by_key(|&schema| words.text(schema));
        metadata.words = words;
        metadata.enums = self.enums.finish();
        metadata.keys = self.keys.finish(&mut metadata.tables);
        Metadata {
            content: Arc::new(metadata),
            seen: None,
        }
    }
}
