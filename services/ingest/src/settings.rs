//! Settings of a run.

use ziggurat_documents::Splitter;

use crate::packed::PackedReader;

/// Default number of groups of documents that are embedded and written at once.
const CONCURRENCY: usize = 4;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The table.
    pub table: TableName,
    /// Splits documents into passages.
    pub splitter: Splitter,
    /// Creates the table if it is missing: always, never, or if the role may.
    pub create: Option<bool>,
    /// Type of the vectors in a new table; by the dimensions if it is not set.
    pub vector_type: Option<VectorType>,
    /// Text search configuration of the index of a new table.
    pub text_search_config: String,
    /// Role that reads a new table.
    pub reader: Option<String>,
    /// Maximum number of passages in one request to the provider; the provider's own if not set.
    pub batch_size: Option<usize>,
    /// Number of groups of documents that are embedded and written at once.
    pub concurrency: usize,
    /// Keeps documents that no longer exist.
    pub keep_missing: bool,
    /// Deletes documents that no longer exist even if they are many.
    pub remove: bool,
    /// Address of a file that has none itself, with `{path}` for its path in the folder.
    pub url: Option<String>,
    /// Reads PDF and DOCX; they are left out without it.
    pub packed: Option<PackedReader>,
    /// Only tells what would be done.
    pub dry_run: bool,
}

/// A table and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The name, which may have a schema before a dot and parts in quotes.
    pub table: String,
    /// The columns.
    pub columns: Columns,
}

/// Names of the columns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Identifies a passage.
    pub id: String,
    /// Identifies a document.
    pub document_id: String,
    /// Title of the document, if there is such a column.
    pub title: Option<String>,
    /// Address of the document, if there is such a column.
    pub url: Option<String>,
    /// Text of the passage.
    pub content: String,
    /// Metadata of the document.
    pub metadata: String,
    /// Vector of the passage.
    pub embedding: String,
    /// Digest of the document and the settings.
    pub checksum: String,
    /// Time at which the document was written first, if there is such a column.
    pub created_at: Option<String>,
    /// Time at which the document was written last, if there is such a column.
    pub updated_at: Option<String>,
}

/// Type of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorType {
    /// Four bytes for each dimension.
    Vector,
    /// Two bytes for each dimension.
    HalfVector,
}

// === impl Settings ===

impl Settings {
    /// Returns the default settings for a table.
    #[must_use]
    pub fn new(table: TableName) -> Self {
        Self {
            table,
            splitter: Splitter::default(),
            create: None,
            vector_type: None,
            text_search_config: "english".to_owned(),
            reader: None,
            batch_size: None,
            concurrency: CONCURRENCY,
            keep_missing: false,
            remove: false,
            url: None,
            packed: None,
            dry_run: false,
        }
    }
}

// === impl Columns ===

impl Default for Columns {
    fn default() -> Self {
        Self {
            id: "id".to_owned(),
            document_id: "document_id".to_owned(),
            title: Some("title".to_owned()),
            url: Some("url".to_owned()),
            content: "content".to_owned(),
            metadata: "metadata".to_owned(),
            embedding: "embedding".to_owned(),
            checksum: "checksum".to_owned(),
            created_at: Some("created_at".to_owned()),
            updated_at: Some("updated_at".to_owned()),
        }
    }
}

// === impl VectorType ===

impl VectorType {
    /// Returns its name in PostgreSQL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Vector => "vector",
            Self::HalfVector => "halfvec",
        }
    }
}
