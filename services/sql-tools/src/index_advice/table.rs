//! Tables as the catalogue describes them.

use serde_json::Value;

/// A table as the catalogue describes it.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) rows: f64,
    /// Columns that a B-tree can hold. The caller leaves out those under a mask.
    pub(super) columns: Vec<Column>,
    /// Valid B-trees without a condition.
    pub(super) indexes: Vec<Index>,
    /// The partitioned table, of a partition.
    pub(super) root: Option<Root>,
    /// Schemas and names of the partitions that are scanned, of a partitioned table.
    pub(super) partitions: Vec<(String, String)>,
    /// Row security holds for the caller, who must not learn of rows that it hides.
    pub(super) is_secured: bool,
}

/// The topmost partitioned table of a partition.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub(super) schema: String,
    pub(super) name: String,
    /// Rows of all partitions.
    pub(super) rows: f64,
}

/// A column of a [`Table`].
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// Name of the type in `format_type`, without a length.
    pub(super) type_name: String,
    /// Number of different values.
    pub(super) distinct: f64,
    /// Average bytes of a value.
    pub(super) width: f64,
}

/// An index that exists.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: String,
    /// Its leading columns, up to the first expression.
    pub(super) columns: Vec<String>,
}

// === impl Table ===

impl Table {
    /// Reads the columns, indexes and partitioned table that `dba/index_advice_tables.sql` returns as JSON.
    pub(super) fn new(
        schema: String,
        name: String,
        rows: f64,
        columns: &Value,
        indexes: &Value,
        root: &Value,
    ) -> Self {
        Self {
            schema,
            name,
            rows,
            columns: list(columns, Column::read),
            indexes: list(indexes, Index::read),
            root: Root::read(root),
            partitions: Vec::new(),
            is_secured: false,
        }
    }

    /// Returns the rows that an index has.
    pub(super) fn rows_of_index(&self) -> f64 {
        let root = self.root.as_ref();
        root.map_or(self.rows, |root| root.rows.max(self.rows))
    }
}

fn list<T>(value: &Value, read: fn(&Value) -> Option<T>) -> Vec<T> {
    let values = value.as_array().map(Vec::as_slice).unwrap_or_default();
    values.iter().filter_map(read).collect()
}

fn text(value: &Value, key: &str) -> Option<String> {
    Some(value.get(key)?.as_str()?.to_owned())
}

// === impl Root ===

impl Root {
    fn read(value: &Value) -> Option<Self> {
        Some(Self {
            schema: text(value, "schema")?,
            name: text(value, "name")?,
            rows: value.get("rows")?.as_f64()?,
        })
    }
}

// === impl Column ===

impl Column {
    fn read(value: &Value) -> Option<Self> {
        Some(Self {
            name: text(value, "name")?,
            type_name: text(value, "type_name")?,
            distinct: value.get("distinct")?.as_f64()?,
            width: value.get("width")?.as_f64()?,
        })
    }
}

// === impl Index ===

impl Index {
    fn read(value: &Value) -> Option<Self> {
        Some(Self {
            name: text(value, "name")?,
            columns: list(value.get("columns")?, |name| {
                Some(name.as_str()?.to_owned())
            }),
        })
    }
}
