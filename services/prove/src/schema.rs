//! The tables, views, functions and sequences of a database.

pub(crate) mod owner;

use serde::Deserialize;
use ziggurat_postgres::{
    driver::Row,
    pool::Pool,
    single_round_trip::{ReadOnlyQuery, Value},
};

use crate::{failure::ProveError, schema::owner::Owner};

/// All objects, as JSON.
const TABLES: &str = include_str!("schema/tables.sql");

/// The objects that a caller may reach, by kind and number.
const REACHABLE: &str = "SELECT 'relation' AS kind, c.oid::text FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid::text = ANY ($1) AND has_schema_privilege(n.oid, 'USAGE')
      AND (has_any_column_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'INSERT'))
    UNION ALL SELECT 'sequence', c.oid::text FROM pg_class c
    WHERE c.oid::text = ANY ($2)
      AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, 'SELECT') END
    UNION ALL SELECT 'function', f.oid::text FROM pg_proc f
      JOIN pg_namespace n ON n.oid = f.pronamespace
    WHERE f.oid::text = ANY ($3) AND has_schema_privilege(n.oid, 'USAGE')
      AND has_function_privilege(f.oid, 'EXECUTE')";

const READABLE: &str =
    "SELECT c.oid::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid::text = ANY ($1) AND has_schema_privilege(n.oid, 'USAGE')
      AND has_any_column_privilege(c.oid, 'SELECT')";

/// The objects of a database.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Schema {
    /// Tables and views, in the order of their names.
    pub(crate) relations: Vec<Relation>,
    pub(crate) keys: Vec<ForeignKey>,
    pub(crate) functions: Vec<Function>,
    pub(crate) sequences: Vec<Sequence>,
}

/// A table or a view.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Relation {
    pub(crate) oid: String,
    pub(crate) schema: String,
    pub(crate) name: String,
    /// Both, quoted where that is needed.
    pub(crate) quoted: String,
    /// The letter of `pg_class.relkind`.
    pub(crate) kind: char,
    pub(crate) is_partition: bool,
    pub(crate) is_protected: bool,
    pub(crate) policies: Vec<String>,
    /// Other tables that its policies read.
    pub(crate) read_by_policies: Vec<OtherColumn>,
    pub(crate) columns: Vec<Column>,
    /// The columns of unique keys.
    pub(crate) unique: Vec<Vec<String>>,
}

/// A column of another table.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OtherColumn {
    pub(crate) oid: String,
    pub(crate) name: String,
}

/// A column.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of the catalogue by itself"
)]
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) quoted: String,
    /// The short name of the type, of a domain the type below it, of an array the type of its members.
    pub(crate) base: String,
    pub(crate) is_array: bool,
    pub(crate) is_required: bool,
    pub(crate) has_default: bool,
    /// The value comes from a sequence.
    pub(crate) is_drawn: bool,
    pub(crate) is_generated: bool,
    /// A policy of its table reads it.
    pub(crate) is_policy: bool,
    /// Maximum number of characters, or numbers of a vector.
    pub(crate) length: Option<usize>,
    pub(crate) labels: Vec<String>,
    /// Conditions about it.
    pub(crate) checks: Vec<String>,
}

/// A foreign key.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ForeignKey {
    pub(crate) child: String,
    pub(crate) parent: String,
    pub(crate) columns: Vec<String>,
    pub(crate) parent_columns: Vec<String>,
}

/// A function.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Function {
    pub(crate) oid: String,
    pub(crate) schema: String,
    /// The name with its types.
    pub(crate) name: String,
    /// The quoted name alone.
    pub(crate) quoted: String,
    pub(crate) arguments: Vec<Argument>,
}

/// An argument of a function.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Argument {
    pub(crate) declared: String,
    pub(crate) base: String,
}

/// A sequence.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Sequence {
    pub(crate) oid: String,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) quoted: String,
}

// === impl Schema ===

impl Schema {
    /// Reads all objects with the rights of the owner.
    pub(crate) async fn of_owner(owner: &mut Owner) -> Result<Self, ProveError> {
        let rows = owner.ask("read the schema", TABLES).await?;
        let text = rows.first().and_then(|row| row.text(0).ok());
        Ok(serde_json::from_str(text.unwrap_or_default())?)
    }

    /// Reads the objects that a caller may reach.
    pub(crate) async fn of_caller(pool: &Pool) -> Result<Self, ProveError> {
        let all = reading(TABLES, pool).await?;
        let all: Self = serde_json::from_str(all.first().map_or("", String::as_str))?;
        all.reachable(pool).await
    }

    /// Returns the part that a caller may reach.
    pub(crate) async fn reachable(&self, pool: &Pool) -> Result<Self, ProveError> {
        let values = vec![
            Value::Texts(self.relations.iter().map(|it| it.oid.clone()).collect()),
            Value::Texts(self.sequences.iter().map(|it| it.oid.clone()).collect()),
            Value::Texts(self.functions.iter().map(|it| it.oid.clone()).collect()),
        ];
        let pair = |row: &Row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned()));
        let query = query(REACHABLE, values);
        let found = query.read(pool.lease().await?, pair).await?;
        let has = |kind: &str, oid: &str| found.iter().any(|it| it.0 == kind && it.1 == oid);
        let mut reachable = self.clone();
        reachable.relations.retain(|it| has("relation", &it.oid));
        reachable.sequences.retain(|it| has("sequence", &it.oid));
        reachable.functions.retain(|it| has("function", &it.oid));
        Ok(reachable)
    }

    /// Returns the tables that a caller may read, by number.
    pub(crate) async fn readable(&self, pool: &Pool) -> Result<Vec<String>, ProveError> {
        let oids = self.relations.iter().map(|it| it.oid.clone()).collect();
        let query = query(READABLE, vec![Value::Texts(oids)]);
        let text = |row: &Row| row.text(0).map(str::to_owned);
        Ok(query.read(pool.lease().await?, text).await?)
    }

    /// Returns the number of its objects.
    pub(crate) fn len(&self) -> usize {
        self.relations.len() + self.functions.len() + self.sequences.len()
    }
}

// === impl Relation ===

impl Relation {
    /// Returns whether it has rows of its own.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.kind, 'r' | 'p')
    }
}

pub(crate) fn query(text: &str, values: Vec<Value>) -> ReadOnlyQuery {
    ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: text.to_owned(),
        values,
    }
}

/// Returns the first values of the rows of a query.
pub(crate) async fn reading(text: &str, pool: &Pool) -> Result<Vec<String>, ProveError> {
    let first = |row: &Row| row.text(0).map(str::to_owned);
    let query = query(text, Vec::new());
    Ok(query.read(pool.lease().await?, first).await?)
}
