//! A vectorizer, as all versions of pgai since 0.4 store it.

use crate::{name, tree::Node};

/// A row of `ai.vectorizer`.
#[derive(Debug)]
pub(super) struct Vectorizer<'a> {
    pub(super) id: usize,
    pub(super) name: String,
    /// The schema and the name of the table with the texts.
    pub(super) source: (String, String),
    /// The columns of its primary key.
    pub(super) key: Vec<String>,
    pub(super) destination: Destination,
    node: &'a Node,
    config: &'a Node,
}

/// The place of the vectors.
#[derive(Debug)]
pub(super) enum Destination {
    /// A column of the table with the texts.
    Column(String),
    /// A table of passages.
    Table(String, String),
}

// === impl Vectorizer ===

impl<'a> Vectorizer<'a> {
    pub(super) fn read(node: &'a Node) -> Option<Self> {
        let config = node.find("config")?;
        let destination = config.find("destination");
        // Older versions have the table in columns of their own.
        let of = |key: &str| {
            destination
                .and_then(|it| it.find_text(key))
                .or(node.find_text(key))
        };
        let kind = destination.and_then(|it| it.find_text("implementation"));
        let destination = match kind.as_deref() {
            Some("column") => Destination::Column(of("embedding_column")?),
            _ => Destination::Table(of("target_schema")?, of("target_table")?),
        };
        let source = (
            node.find_text("source_schema")?,
            node.find_text("source_table")?,
        );
        let key = node.find("source_pk").map(Node::list).unwrap_or_default();
        Some(Self {
            id: node.find_text("id")?.parse().ok()?,
            name: node.find_text("name").unwrap_or_else(|| source.1.clone()),
            key: key
                .iter()
                .filter_map(|it| it.find_text("attname"))
                .collect(),
            source,
            destination,
            node,
            config,
        })
    }

    /// Returns a name for its pipeline that is not taken.
    pub(super) fn pipeline_name(&self, taken: &[String]) -> String {
        let name = name::ours(&self.name).unwrap_or_else(|| "vectorizer".to_owned());
        if taken.contains(&name) {
            return format!("{name}_{}", self.id);
        }
        name
    }

    /// Returns a text of the configuration.
    pub(super) fn setting(&self, section: &str, key: &str) -> Option<String> {
        self.config.find(section)?.find_text(key)
    }

    /// Returns a column of the row.
    pub(super) fn column(&self, key: &str) -> Option<String> {
        self.node.find_text(key)
    }

    /// Returns the column with the texts. Older versions have it in the section `chunking`.
    pub(super) fn text_column(&self) -> Option<String> {
        let loaded = self.setting("loading", "column_name");
        loaded.or_else(|| self.setting("chunking", "chunk_column"))
    }
}
