//! The table that documents are written to.

mod create;

use ziggurat_postgres::{
    driver::{Client, query},
    quoted,
};

pub(crate) use self::create::{may_create, statements};
use crate::{
    error::{During as _, IngestError},
    settings::{Columns, TableName},
};

/// The name of a table with its schema, in quotes.
const NAME: &str = "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = pg_catalog.to_regclass($1)";

/// The columns of a table, with their types.
const COLUMNS: &str = "SELECT a.attname, t.typname,
        pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypmod::int8
    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped";

/// A table as it is.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// The name with its schema, in quotes.
    pub(crate) sql_name: String,
    pub(crate) columns: Columns,
    /// Type of the vectors, as a cast writes it.
    pub(crate) vector_type: String,
    /// Number of dimensions, if the column has a fixed one.
    pub(crate) dimensions: Option<usize>,
    /// Type of the metadata.
    pub(crate) metadata_type: String,
    /// True if ids are texts, so that they are written; others have a default.
    pub(crate) writes_ids: bool,
}

/// A column of a table.
struct Column {
    name: String,
    type_name: String,
    /// With its schema and its dimensions.
    written_type: String,
    modifier: i64,
}

// === impl Table ===

impl Table {
    /// Reads the definition of a table; `None` if the table does not exist.
    pub(crate) async fn load(
        name: &TableName,
        client: &mut Client,
    ) -> Result<Option<Self>, IngestError> {
        let task = || format!("reading the definition of table {}", name.table);
        // The only name that is looked up in the path of the role.
        let found = query(NAME).bind(&name.table).fetch_optional(client).await;
        let Some(found) = found.during(task())? else {
            return Ok(None);
        };
        let sql_name: String = found.get(0).during(task())?;
        let columns = query(COLUMNS).in_catalog().bind(&sql_name);
        let rows = columns.fetch_all(client).await;
        let columns = rows.during(task())?;
        let columns = columns.iter().map(|row| {
            Ok(Column {
                name: row.get(0)?,
                type_name: row.get(1)?,
                written_type: row.get(2)?,
                modifier: row.get(3)?,
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().during(task())?;
        Self::of(name, sql_name, &columns).map(Some)
    }

    fn of(name: &TableName, sql_name: String, found: &[Column]) -> Result<Self, IngestError> {
        let find = |wanted: &str| found.iter().find(|column| column.name == wanted);
        let problem = |problem: String| IngestError::Table {
            table: name.table.clone(),
            problem,
        };
        let columns = name
            .columns
            .clone()
            .without(|column| find(column).is_none());
        let missing: Vec<_> = columns
            .definitions("vector")
            .into_iter()
            .filter(|definition| find(definition.column).is_none())
            .map(|definition| {
                format!(
                    "ADD COLUMN {} {}",
                    quoted(definition.column),
                    definition.type_name
                )
            })
            .collect();
        if !missing.is_empty() {
            return Err(problem(format!(
                "columns are missing: name others in pipelines[].ingest.columns, or run: ALTER \
                 TABLE {} {}",
                name.table,
                missing.join(", ")
            )));
        }
        let column = |wanted: &str| {
            find(wanted).ok_or_else(|| problem(format!("there is no column {wanted}")))
        };
        let vector = column(&columns.embedding)?;
        if !matches!(&*vector.type_name, "vector" | "halfvec") {
            return Err(problem(format!(
                "column {} has type {} and not vector or halfvec",
                columns.embedding, vector.written_type
            )));
        }
        let metadata = column(&columns.metadata)?;
        if !matches!(&*metadata.type_name, "json" | "jsonb") {
            return Err(problem(format!(
                "column {} has type {} and not jsonb",
                columns.metadata, metadata.written_type
            )));
        }
        Ok(Self {
            name: name.table.clone(),
            sql_name,
            vector_type: vector.written_type.clone(),
            dimensions: usize::try_from(vector.modifier).ok(),
            metadata_type: metadata.written_type.clone(),
            writes_ids: matches!(&*column(&columns.id)?.type_name, "text" | "varchar"),
            columns,
        })
    }

    /// Checks that vectors of a length fit.
    pub(crate) fn check_dimensions(&self, length: usize) -> Result<(), IngestError> {
        match self.dimensions {
            Some(dimensions) if dimensions != length => Err(IngestError::Table {
                table: self.name.clone(),
                problem: format!(
                    "column {} has {dimensions} dimensions, and the vectors of the model have \
                     {length}",
                    self.columns.embedding
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Column of a new table.
struct Definition<'a> {
    column: &'a str,
    type_name: String,
    constraint: &'static str,
}

// === impl Columns ===

impl Columns {
    /// Returns the columns of a new table.
    fn definitions(&self, vector: &str) -> Vec<Definition<'_>> {
        const NOT_NULL: &str = " NOT NULL";
        const NOW: &str = " NOT NULL DEFAULT now()";
        let all = [
            (Some(&self.id), "text", " PRIMARY KEY"),
            (Some(&self.document_id), "text", NOT_NULL),
            (self.title.as_ref(), "text", ""),
            (self.url.as_ref(), "text", ""),
            (Some(&self.content), "text", NOT_NULL),
            (Some(&self.metadata), "jsonb", " NOT NULL DEFAULT '{}'"),
            (Some(&self.embedding), vector, ""),
            (Some(&self.checksum), "text", NOT_NULL),
            (self.created_at.as_ref(), "timestamptz", NOW),
            (self.updated_at.as_ref(), "timestamptz", NOW),
        ];
        let all = all.into_iter();
        all.filter_map(|(column, type_name, constraint)| {
            Some(Definition {
                column: column?,
                type_name: type_name.to_owned(),
                constraint,
            })
        })
        .collect()
    }

    /// Leaves out columns that a table need not have and that were not named by an operator.
    fn without(self, is_missing: impl Fn(&str) -> bool) -> Self {
        let usual = Self::default();
        let kept = |name: Option<String>, usual: Option<String>| {
            name.filter(|name| usual.as_ref() != Some(name) || !is_missing(name))
        };
        Self {
            title: kept(self.title, usual.title),
            url: kept(self.url, usual.url),
            created_at: kept(self.created_at, usual.created_at),
            updated_at: kept(self.updated_at, usual.updated_at),
            ..self
        }
    }
}
