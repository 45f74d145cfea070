//! Reads and writes the rows of a table.

use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};
use ziggurat_postgres::{
    driver::{Client, DriverError, Value, query},
    pool::{Lease, Pool},
    quoted,
};
use ziggurat_vector_search::vector_text;

use crate::{
    error::{During as _, IngestError},
    place::{Digest, LINES, Place, Seen, digest},
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

/// The documents in the table, with the digests of their checksums and sources.
#[derive(Debug, Default)]
pub(crate) struct Known(HashMap<Digest, Digest>);

/// The documents of a source that are in the table.
#[derive(Debug, Default)]
struct Documents {
    all: usize,
    /// Number of those that the run has.
    in_run: usize,
    /// The ids of those that no longer exist.
    gone: Vec<String>,
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
        let mut sources = [&origin.source, &origin.old_source].into_iter();
        sources.any(|source| found == Some(&digest(&format!("{} {source}", origin.checksum))))
    }
}

// === impl Documents ===

impl Documents {
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
                 THEN concat(min({checksum}), ' ', min({})) END
             FROM {} WHERE {id} > $1 GROUP BY {id} ORDER BY {id} LIMIT {PAGE}",
            quoted(&columns.embedding),
            self.source(),
            self.table.sql_name
        );
        let mut known = Known::default();
        let mut add = |id: &str, checksum: Option<&str>| {
            let checksum = checksum.map_or(0, digest);
            known.0.insert(digest(id), checksum);
        };
        self.pages(&sql, &[], &mut add).await?;
        Ok(known)
    }

    /// Returns the SQL of the source of a row.
    fn source(&self) -> String {
        format!("{}->>'{SOURCE}'", quoted(&self.table.columns.metadata))
    }

    /// Chooses what the ids of a place begin with. Returns the other source that has ids with the
    /// beginning that the place had.
    pub(crate) async fn settle(
        &self,
        place: &mut Place,
        seen: &Seen,
    ) -> Result<Option<String>, IngestError> {
        let id = quoted(&self.table.columns.document_id);
        let condition = format!("{id} = $2 OR starts_with({id}, $2 || '/')");
        let own = place.own_prefix();
        let with_own = self.documents(&condition, &[&own], seen).await?;
        let users = self.documents(&condition, &[&place.prefix], seen).await?;
        let other = users.into_iter().find(|(source, documents)| {
            let is_old = *source == place.name && documents.are_of_the_run();
            !place.owns(source) && !is_old
        });
        if other.is_some() || with_own.contains_key(&place.source) {
            place.prefix = own;
        }
        Ok(other.map(|(source, _)| source))
    }

    /// Returns the number of documents of a place, and the ids of those that no longer exist.
    ///
    /// Documents of the first version have the last part of a path as source. They are documents of
    /// the place if most of them are in the run, since a folder of the same name elsewhere has
    /// others, and get its source with `adopt`.
    pub(crate) async fn gone(
        &self,
        place: &Place,
        seen: &Seen,
        adopt: bool,
    ) -> Result<(usize, Vec<String>), IngestError> {
        let source = self.source();
        let condition = format!(
            "{source} IN ($2, $3) OR starts_with({source}, $2 || '{LINES}')
             OR starts_with({source}, $3 || '/')"
        );
        let sources = [&*place.source, &*place.name];
        let (mut all, mut gone) = (0, Vec::new());
        for (source, documents) in self.documents(&condition, &sources, seen).await? {
            if !place.owns(&source) {
                if !documents.are_of_the_run() {
                    continue;
                }
                if adopt {
                    self.rename(&source, &place.lines(&source)).await?;
                }
            }
            all += documents.all;
            gone.extend(documents.gone);
        }
        Ok((all, gone))
    }

    /// Reads documents, by source.
    async fn documents(
        &self,
        condition: &str,
        values: &[&str],
        seen: &Seen,
    ) -> Result<HashMap<String, Documents>, IngestError> {
        let id = quoted(&self.table.columns.document_id);
        let sql = format!(
            "SELECT {id}, min({}) FROM {} WHERE {id} > $1 AND ({condition})
             GROUP BY {id} ORDER BY {id} LIMIT {PAGE}",
            self.source(),
            self.table.sql_name
        );
        let mut found: HashMap<String, Documents> = HashMap::new();
        let mut add = |id: &str, source: Option<&str>| {
            let source = source.unwrap_or_default();
            let documents = found.entry(source.to_owned()).or_default();
            documents.all += 1;
            if seen.has(id) {
                documents.in_run += 1;
            } else if !seen.is_unread(id, source) {
                documents.gone.push(id.to_owned());
            }
        };
        self.pages(&sql, values, &mut add).await?;
        Ok(found)
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

    /// Runs a query for ids and another text, page by page.
    async fn pages(
        &self,
        sql: &str,
        values: &[&str],
        add: &mut impl FnMut(&str, Option<&str>),
    ) -> Result<(), IngestError> {
        let task = || format!("reading table {}", self.table.name);
        let mut last = String::new();
        loop {
            let mut lease = self.pool.lease().await?;
            let mut page = query(sql).in_catalog().bind(&*last);
            for value in values {
                page = page.bind(*value);
            }
            let rows = page.fetch_all(lease.begin()).await.during(task())?;
            lease.settle();
            for row in &rows {
                let value: Option<String> = row.get(1).during(task())?;
                add(row.text(0).during(task())?, value.as_deref());
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

    /// Has PostgreSQL count the rows and their words anew: searches depend on the counts, and a new
    /// table has none for minutes. If the role does not own the table, or another task holds it,
    /// nothing happens.
    pub(crate) async fn analyze(&self) -> Result<(), IngestError> {
        let mut lease = self.pool.lease().await?;
        let analyzed = lease
            .begin()
            .ask(&format!("ANALYZE (SKIP_LOCKED) {}", self.table.sql_name))
            .await;
        analyzed.during("analyzing the table")?;
        lease.settle();
        Ok(())
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
