//! Providers of vectors, and the statements for their columns.

/// The provider of vectors: each has a separate column, and vectors of two providers are never
/// compared.
///
/// ```
/// use ziggurat_knowledge::Provider;
///
/// assert_eq!(Provider::find("voyage"), Some(Provider::Voyage));
/// assert_eq!(Provider::Voyage.name(), "voyage");
/// assert_eq!(Provider::find("parrot"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provider {
    /// `openai_embedding`.
    OpenAi,
    /// `voyage_embedding`.
    Voyage,
    /// `ollama_embedding`.
    Ollama,
    /// `gemini_embedding`, which older files lack.
    Gemini,
    /// `static_embedding`, which only files of this builder have.
    Static,
    /// `local_embedding`, which only files of this builder have.
    Local,
}

/// Statements with the name of a column. A name cannot be bound, so each provider has constants.
pub(super) struct Statements {
    /// Number of vectors of each length in bytes.
    pub(super) lengths: &'static str,
    /// All vectors, with their chunks.
    pub(super) all: &'static str,
    /// The vectors of the chunks in a JSON array of ids.
    pub(super) some: &'static str,
    /// Inserts a chunk.
    pub(super) insert: &'static str,
    /// The chunks of a source that have no vector.
    pub(super) missing_vectors: &'static str,
    /// Sets the vector of a chunk that has none.
    pub(super) fill: &'static str,
    /// Adds the column.
    pub(super) add: &'static str,
}

/// Builds constant statements, so that SQL injection is impossible.
macro_rules! statements {
    ($column:literal) => {
        &Statements {
            lengths: concat!(
                "SELECT length(",
                $column,
                "), count(*) FROM chunks WHERE ",
                $column,
                " IS NOT NULL GROUP BY 1"
            ),
            all: concat!(
                "SELECT id, project_name, project_version, ",
                $column,
                " FROM chunks WHERE ",
                $column,
                " IS NOT NULL"
            ),
            some: concat!(
                "SELECT id, ",
                $column,
                " FROM chunks WHERE id IN (SELECT value FROM json_each(?1)) AND ",
                $column,
                " IS NOT NULL"
            ),
            insert: concat!(
                "INSERT INTO chunks (project_name, project_version, source_file_checksum, \
                 file_path, title, section, text, ",
                $column,
                ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            ),
            missing_vectors: concat!(
                "SELECT id, title, section, text FROM chunks WHERE project_name = ?1 AND \
                 project_version = ?2 AND source_file_checksum = ?3 AND ",
                $column,
                " IS NULL ORDER BY id"
            ),
            fill: concat!("UPDATE chunks SET ", $column, " = ?2 WHERE id = ?1"),
            add: concat!("ALTER TABLE chunks ADD COLUMN ", $column, " BLOB"),
        }
    };
}

// === impl Provider ===

impl Provider {
    const ALL: [Self; 6] = [
        Self::OpenAi,
        Self::Voyage,
        Self::Ollama,
        Self::Gemini,
        Self::Static,
        Self::Local,
    ];

    /// Finds a provider by its name in configurations.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Returns its name in configurations.
    #[must_use]
    pub fn name(self) -> &'static str {
        let column = self.column();
        column.strip_suffix("_embedding").unwrap_or(column)
    }

    pub(super) fn column(self) -> &'static str {
        match self {
            Self::OpenAi => "openai_embedding",
            Self::Voyage => "voyage_embedding",
            Self::Ollama => "ollama_embedding",
            Self::Gemini => "gemini_embedding",
            Self::Static => "static_embedding",
            Self::Local => "local_embedding",
        }
    }

    pub(super) fn statements(self) -> &'static Statements {
        match self {
            Self::OpenAi => statements!("openai_embedding"),
            Self::Voyage => statements!("voyage_embedding"),
            Self::Ollama => statements!("ollama_embedding"),
            Self::Gemini => statements!("gemini_embedding"),
            Self::Static => statements!("static_embedding"),
            Self::Local => statements!("local_embedding"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_about_the_column_of_its_provider() {
        for provider in Provider::ALL {
            let column = provider.column();
            let statements = provider.statements();
            for text in [
                statements.lengths,
                statements.all,
                statements.some,
                statements.insert,
                statements.missing_vectors,
                statements.fill,
                statements.add,
            ] {
                assert!(text.contains(column), "{column}: {text}");
            }
            assert_eq!(Provider::find(provider.name()), Some(provider));
        }
    }
}
