//! Reads and writes the rows of a table.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json, json};
use ziggurat_documents::Checksum;
use ziggurat_postgres::{
    driver::{Client, DriverError, Value, query},
    pool::{Lease, Pool},
    quoted,
};
use ziggurat_vector_search::vector_text;

use crate::{
    error::{During as _, IngestError},
    prepared::Prepared,
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

/// The documents in the table, with the digests of their checksums.
#[derive(Debug, Default)]
pub(crate) struct Known(HashMap<Digest, Digest>);

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

    /// Returns whether a document with this id is complete and has this checksum.
    pub(crate) fn has(&self, id: &str, checksum: &str) -> bool {
        self.0.get(&digest(id)) == Some(&digest(checksum))
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
                 THEN min({checksum}) END
             FROM {} WHERE {id} > $1 GROUP BY {id} ORDER BY {id} LIMIT {PAGE}",
            quoted(&columns.embedding),
            self.table.name
        );
        let mut known = Known::default();
        let mut add = |id: &str, checksum: Option<&str>| {
            let checksum = checksum.map_or(0, digest);
            known.0.insert(digest(id), checksum);
        };
        self.pages(&sql, &[], &mut add).await?;
        Ok(known)
    }

    /// Returns the ids of the documents of some sources that are not in a set. A source includes
    /// those below it.
    pub(crate) async fn missing(
        &self,
        sources: &[String],
        seen: &HashSet<Digest>,
        is_unread: impl Fn(&str, &str) -> bool,
    ) -> Result<Vec<String>, IngestError> {
        let columns = &self.table.columns;
        let id = quoted(&columns.document_id);
        let source = format!("{}->>'{SOURCE}'", quoted(&columns.metadata));
        let sql = format!(
            "SELECT {id}, min({source}) FROM {} WHERE {id} > $1 AND EXISTS (
                 SELECT FROM unnest($2::text[]) AS s (name)
                 WHERE {source} = s.name OR starts_with({source}, s.name || '/'))
             GROUP BY {id} ORDER BY {id} LIMIT {PAGE}",
            self.table.name
        );
        let mut missing = Vec::new();
        let mut add = |id: &str, source: Option<&str>| {
            if !seen.contains(&digest(id)) && !is_unread(id, source.unwrap_or_default()) {
                missing.push(id.to_owned());
            }
        };
        self.pages(&sql, &[Value::Texts(sources.to_vec())], &mut add)
            .await?;
        Ok(missing)
    }

    /// Runs a query for ids and another text, page by page.
    async fn pages(
        &self,
        sql: &str,
        values: &[Value],
        add: &mut impl FnMut(&str, Option<&str>),
    ) -> Result<(), IngestError> {
        let task = || format!("reading table {}", self.table.name);
        let mut last = String::new();
        loop {
            let mut lease = self.pool.lease().await?;
            let mut page = query(sql).bind(&*last);
            for value in values {
                page = page.bind(value.clone());
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
                self.table.name,
                quoted(&columns.document_id)
            );
            let row = query(&sql).bind(&document.id).fetch_optional(lease.begin());
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
            name,
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
            "INSERT INTO {name} ({}) SELECT {}
             FROM unnest($6::text[], $7::text[], $8::text[], $9::text[])
                 AS p (id, content, metadata, embedding)",
            names.join(", "),
            values.join(", ")
        )
    }

    async fn delete(&self, client: &mut Client, id: &str) -> Result<(), DriverError> {
        let column = quoted(&self.table.columns.document_id);
        let sql = format!("DELETE FROM {} WHERE {column} = $1", self.table.name);
        query(&sql).bind(id).execute(client).await.map(drop)
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
