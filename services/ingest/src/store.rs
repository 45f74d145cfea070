//! Reads and writes the rows of a table.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json, json};
use ziggurat_documents::Checksum;
use ziggurat_postgres::{
    driver::{Client, DriverError, Row, Value, query},
    pool::{Lease, Pool},
    quoted,
};
use ziggurat_vector_search::vector_text;

use crate::{
    error::{During as _, IngestError},
    place::Place,
    prepared::{Origin, Prepared},
    table::Table,
};

/// Number of documents that are read at once.
const PAGE: i64 = 5000;

/// Number of rows in one statement: few enough that each ends in time while an index grows.
const ROWS: usize = 500;

/// Keys of the metadata that are not from the document.
const SOURCE: &str = "_source";
const PASSAGE: &str = "_passage";

/// The rows of one table.
#[derive(Debug)]
pub(crate) struct Store<'a> {
    pool: &'a Pool,
    pub(crate) table: Table,
}

/// Digest of a text, for sets of many.
pub(crate) type Digest = u128;

/// The documents in the table, with the digests of their checksums and sources.
#[derive(Debug, Default)]
pub(crate) struct Known(HashMap<Digest, (Digest, Digest)>);

/// Number of documents of a source, and of those of them that the run has.
#[derive(Debug, Default)]
struct Counts {
    all: usize,
    in_run: usize,
}

/// The documents of a source that are in the table.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    /// Number of all.
    pub(crate) all: usize,
    /// The ids of those that no longer exist.
    pub(crate) ids: Vec<String>,
}

/// Returns the digest of a text.
pub(crate) fn digest(text: &str) -> Digest {
    let hex = Checksum::default().with(text).finish();
    Digest::from_str_radix(&hex[..32], 16).unwrap_or_default()
}

// === impl Known ===

impl Known {
    /// Returns whether there is a document with this id.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.0.contains_key(&digest(id))
    }

    /// Returns whether a document is complete, and has the checksum and the source of this one.
    pub(crate) fn has(&self, origin: &Origin) -> bool {
        let found = self.0.get(&digest(&origin.id));
        found.is_some_and(|(checksum, source)| {
            let mut sources = [&origin.source, &origin.old_source].into_iter();
            *checksum == digest(&origin.checksum) && sources.any(|one| *source == digest(one))
        })
    }
}

// === impl Counts ===

impl Counts {
    /// Returns whether most of them are documents of the run.
    fn are_of_the_run(&self) -> bool {
        self.in_run * 2 > self.all
    }
}

// === impl Store ===

impl<'a> Store<'a> {
    pub(crate) fn new(pool: &'a Pool, table: Table) -> Self {
        Self { pool, table }
    }

    /// Reads which documents there are. A document with several checksums, or without a vector, has
    /// none.
    pub(crate) async fn known(&self) -> Result<Known, IngestError> {
        let columns = &self.table.columns;
        let (id, checksum) = (quoted(&columns.document_id), quoted(&columns.checksum));
        let sql = format!(
            "SELECT {id}, CASE WHEN min({checksum}) = max({checksum})
                 AND count({checksum}) = count(*) AND count({}) = count(*)
                 THEN min({checksum}) END, min({})
             FROM {} WHERE {id} > $1 GROUP BY {id} ORDER BY {id} LIMIT {PAGE}",
            quoted(&columns.embedding),
            self.source(),
            self.table.sql_name
        );
        let mut known = Known::default();
        let mut add = |id: &str, row: &Row| {
            let (checksum, source): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
            let of = |text: Option<String>| text.map_or(0, |text| digest(&text));
            known.0.insert(digest(id), (of(checksum), of(source)));
            Ok(())
        };
        self.pages(&sql, &[], &mut add).await?;
        Ok(known)
    }

    /// Returns the SQL of the source of a row.
    fn source(&self) -> String {
        format!("{}->>'{SOURCE}'", quoted(&self.table.columns.metadata))
    }

    /// Returns the documents of a place that are not in a set. Those of files of lines in the folder
    /// belong to it, and those of `old` sources, too.
    pub(crate) async fn missing(
        &self,
        place: &Place,
        old: &[String],
        seen: &HashSet<Digest>,
        is_unread: impl Fn(&str, &str) -> bool,
    ) -> Result<Missing, IngestError> {
        let mut missing = Missing::default();
        let sources = old.iter().chain([&place.source]).cloned().collect();
        let (condition, values) = self.of_sources(sources, place.all_lines());
        let add = |id: &str, source: &str| {
            missing.all += 1;
            if !seen.contains(&digest(id)) && !is_unread(id, source) {
                missing.ids.push(id.to_owned());
            }
        };
        self.documents(&condition, &values, add).await?;
        Ok(missing)
    }

    /// Chooses what the ids of a place begin with. Returns the other source that has ids with the
    /// beginning that the place had.
    pub(crate) async fn settle(
        &self,
        place: &mut Place,
        files: &HashSet<Digest>,
    ) -> Result<Option<String>, IngestError> {
        let id = quoted(&self.table.columns.document_id);
        let condition = format!("{id} = $2 OR starts_with({id}, $2 || '/')");
        let own = place.own_prefix();
        let with_own = self.counts(&condition, &[(&*own).into()], files).await?;
        let users = [(&*place.prefix).into()];
        let users = self.counts(&condition, &users, files).await?;
        let other = users.into_iter().find(|(source, counts)| {
            let is_old = *source == place.name && counts.are_of_the_run();
            *source != place.source && !is_old
        });
        if other.is_some() || with_own.contains_key(&place.source) {
            place.prefix = own;
        }
        Ok(other.map(|(source, _)| source))
    }

    /// Gives documents of the first version, which had the last part of a path as source, the source
    /// of a place. Returns their old sources. A source is that of the place if most of its documents
    /// are in the run: a folder of the same name elsewhere has others.
    pub(crate) async fn adopt(
        &self,
        place: &Place,
        seen: &HashSet<Digest>,
        dry_run: bool,
    ) -> Result<Vec<String>, IngestError> {
        let below = format!("{}/", place.name);
        let (condition, values) = self.of_sources(vec![place.name.clone()], below);
        let mut adopted = Vec::new();
        for (old, counts) in self.counts(&condition, &values, seen).await? {
            let new = place.new_source(&old).filter(|_| counts.are_of_the_run());
            let Some(new) = new else { continue };
            if !dry_run {
                self.rename(&old, &new).await?;
            }
            adopted.push(old);
        }
        Ok(adopted)
    }

    /// Returns the condition for some sources and those that begin with a text.
    fn of_sources(&self, sources: Vec<String>, beginning: String) -> (String, [Value; 2]) {
        let source = self.source();
        let condition = format!("{source} = ANY ($2::text[]) OR starts_with({source}, $3)");
        (condition, [Value::Texts(sources), (&*beginning).into()])
    }

    /// Counts documents by source, and those of them that are in a set.
    async fn counts(
        &self,
        condition: &str,
        values: &[Value],
        set: &HashSet<Digest>,
    ) -> Result<HashMap<String, Counts>, IngestError> {
        let mut found: HashMap<String, Counts> = HashMap::new();
        let add = |id: &str, source: &str| {
            let counts = found.entry(source.to_owned()).or_default();
            counts.all += 1;
            counts.in_run += usize::from(set.contains(&digest(id)));
        };
        self.documents(condition, values, add).await?;
        Ok(found)
    }

    /// Reads the ids and sources of documents.
    async fn documents(
        &self,
        condition: &str,
        values: &[Value],
        mut add: impl FnMut(&str, &str),
    ) -> Result<(), IngestError> {
        let id = quoted(&self.table.columns.document_id);
        let sql = format!(
            "SELECT {id}, min({}) FROM {} WHERE {id} > $1 AND ({condition})
             GROUP BY {id} ORDER BY {id} LIMIT {PAGE}",
            self.source(),
            self.table.sql_name
        );
        let mut add = |id: &str, row: &Row| {
            let source: Option<String> = row.get(1)?;
            add(id, &source.unwrap_or_default());
            Ok(())
        };
        self.pages(&sql, values, &mut add).await
    }

    /// Replaces a source, some documents at a time: an index of vectors grows with each row.
    async fn rename(&self, old: &str, new: &str) -> Result<(), IngestError> {
        let Table {
            sql_name,
            columns,
            metadata_type,
            ..
        } = &self.table;
        let (id, metadata) = (quoted(&columns.document_id), quoted(&columns.metadata));
        let source = self.source();
        let sql = format!(
            "UPDATE {sql_name} SET {metadata} = jsonb_set({metadata}::jsonb, '{{{SOURCE}}}',
                 to_jsonb($2::text))::{metadata_type}
             WHERE {source} = $1 AND {id} IN (
                 SELECT {id} FROM {sql_name} WHERE {source} = $1 LIMIT {ROWS})"
        );
        loop {
            let mut lease = self.pool.lease().await?;
            let update = query(&sql).in_catalog().bind(old).bind(new);
            let changed = update.execute(lease.begin()).await;
            let changed = changed.during(format!("giving documents the source {new}"))?;
            lease.settle();
            if changed == 0 {
                return Ok(());
            }
        }
    }

    /// Runs a query for ids and other texts, page by page.
    async fn pages(
        &self,
        sql: &str,
        values: &[Value],
        add: &mut impl FnMut(&str, &Row) -> Result<(), DriverError>,
    ) -> Result<(), IngestError> {
        let task = || format!("reading table {}", self.table.name);
        let mut last = String::new();
        loop {
            let mut lease = self.pool.lease().await?;
            let mut page = query(sql).in_catalog().bind(&*last);
            for value in values {
                page = page.bind(value.clone());
            }
            let rows = page.fetch_all(lease.begin()).await.during(task())?;
            lease.settle();
            for row in &rows {
                add(row.text(0).during(task())?, row).during(task())?;
            }
            match rows.last() {
                Some(row) => row.text(0).during(task())?.clone_into(&mut last),
                None => return Ok(()),
            }
        }
    }

    /// Replaces a document in one transaction.
    pub(crate) async fn replace(
        &self,
        document: &Prepared,
        vectors: &[Vec<f32>],
    ) -> Result<(), IngestError> {
        let mut lease = self.pool.lease().await?;
        let written = self.write(&mut lease, document, vectors).await;
        written.during(format!("writing {}", document.id))?;
        lease.settle();
        Ok(())
    }

    async fn write(
        &self,
        lease: &mut Lease,
        document: &Prepared,
        vectors: &[Vec<f32>],
    ) -> Result<(), DriverError> {
        let columns = &self.table.columns;
        lease.begin().ask("BEGIN").await?;
        let mut begun: Option<String> = None;
        if let Some(column) = &columns.created_at {
            let sql = format!(
                "SELECT min({})::text FROM {} WHERE {} = $1",
                quoted(column),
                self.table.sql_name,
                quoted(&columns.document_id)
            );
            let row = query(&sql)
                .in_catalog()
                .bind(&document.id)
                .fetch_optional(lease.begin());
            begun = row.await?.map(|row| row.get(0)).transpose()?.flatten();
        }
        self.delete(lease.begin(), &document.id).await?;
        let mut at = 0;
        for (texts, vectors) in document.passages.chunks(ROWS).zip(vectors.chunks(ROWS)) {
            self.insert(
                lease.begin(),
                document,
                begun.as_deref(),
                (at, texts, vectors),
            )
            .await?;
            at += texts.len();
        }
        lease.begin().ask("COMMIT").await?;
        Ok(())
    }

    /// Inserts passages from a number on.
    async fn insert(
        &self,
        client: &mut Client,
        document: &Prepared,
        begun: Option<&str>,
        (at, texts, vectors): (usize, &[String], &[Vec<f32>]),
    ) -> Result<(), DriverError> {
        let numbers = || at + 1..=at + texts.len();
        let ids = numbers().map(|number| format!("{}#{number}", document.id));
        let metadata = numbers().map(|number| document.metadata(number));
        let vectors = vectors.iter().map(|vector| vector_text(vector));
        let sql = self.insert_statement();
        query(&sql)
            .in_catalog()
            .bind(&document.id)
            .bind(document.title.as_deref())
            .bind(document.url.as_deref())
            .bind(&document.checksum)
            .bind(begun)
            .bind(Value::Texts(ids.collect()))
            .bind(Value::Texts(texts.to_vec()))
            .bind(Value::Texts(metadata.collect()))
            .bind(Value::Texts(vectors.collect()))
            .execute(client)
            .await
            .map(drop)
    }

    fn insert_statement(&self) -> String {
        let Table {
            sql_name,
            columns,
            vector_type,
            metadata_type,
            ..
        } = &self.table;
        let all = [
            (Some(&columns.id).filter(|_| self.table.writes_ids), "p.id"),
            (Some(&columns.document_id), "$1"),
            (columns.title.as_ref(), "$2"),
            (columns.url.as_ref(), "$3"),
            (Some(&columns.content), "p.content"),
            (
                Some(&columns.metadata),
                &format!("p.metadata::{metadata_type}"),
            ),
            (
                Some(&columns.embedding),
                &format!("p.embedding::{vector_type}"),
            ),
            (Some(&columns.checksum), "$4"),
            (
                columns.created_at.as_ref(),
                "coalesce($5::timestamptz, now())",
            ),
            (columns.updated_at.as_ref(), "now()"),
        ];
        let written: Vec<_> = all
            .iter()
            .filter_map(|(column, value)| Some((quoted((*column)?), *value)))
            .collect();
        let names: Vec<_> = written.iter().map(|(name, _)| &**name).collect();
        let values: Vec<_> = written.iter().map(|(_, value)| *value).collect();
        format!(
            "INSERT INTO {sql_name} ({}) SELECT {}
             FROM unnest($6::text[], $7::text[], $8::text[], $9::text[])
                 AS p (id, content, metadata, embedding)",
            names.join(", "),
            values.join(", ")
        )
    }

    async fn delete(&self, client: &mut Client, id: &str) -> Result<(), DriverError> {
        let column = quoted(&self.table.columns.document_id);
        let sql = format!("DELETE FROM {} WHERE {column} = $1", self.table.sql_name);
        query(&sql)
            .in_catalog()
            .bind(id)
            .execute(client)
            .await
            .map(drop)
    }

    /// Deletes a document.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), IngestError> {
        let mut lease = self.pool.lease().await?;
        let deleted = self.delete(lease.begin(), id).await;
        deleted.during(format!("deleting {id}"))?;
        lease.settle();
        Ok(())
    }
}

// === impl Prepared ===

impl Prepared {
    /// Returns the metadata of a passage as JSON.
    fn metadata(&self, passage: usize) -> String {
        let mut metadata: Map<String, Json> = self.metadata.clone();
        metadata.insert(SOURCE.to_owned(), json!(self.source));
        metadata.insert(PASSAGE.to_owned(), json!(passage));
        Json::Object(metadata).to_string()
    }
}
