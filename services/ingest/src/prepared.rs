//! Documents that are ready to be embedded.

use serde_json::{Map, Value};
use ziggurat_documents::{Document, Splitter};

/// A document that has been split.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) id: String,
    /// The folder or file that it was found in.
    pub(crate) source: String,
    pub(crate) title: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) checksum: String,
    /// The texts of the passages, each after its headings.
    pub(crate) passages: Vec<String>,
    /// The texts that the vectors are made of.
    pub(crate) texts: Vec<String>,
}

/// Names and origin of a document.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) id: String,
    pub(crate) source: String,
    /// The source that a row of the first version has.
    pub(crate) old_source: String,
    pub(crate) url: Option<String>,
    /// Address of a document that has none.
    pub(crate) usual_url: Option<String>,
    pub(crate) checksum: String,
    /// Title of a document that has none.
    pub(crate) title: Option<String>,
}

// === impl Prepared ===

impl Prepared {
    /// Splits a document.
    pub(crate) fn new(origin: Origin, document: &Document, splitter: Splitter) -> Self {
        let title = document.title.clone().or(origin.title);
        let title = title.map(|title| without_nul(&title));
        let found = splitter.passages(document);
        let (mut passages, mut texts) = (Vec::new(), Vec::new());
        for passage in found {
            texts.push(passage.in_context(title.as_deref()));
            passages.push(match passage.heading {
                Some(heading) => format!("{heading}\n\n{}", passage.text),
                None => passage.text,
            });
        }
        let in_metadata = document.metadata.get("url").and_then(Value::as_str);
        let url = origin.url.or_else(|| in_metadata.map(str::to_owned));
        let url = url.or(origin.usual_url);
        Self {
            id: origin.id,
            source: origin.source,
            title,
            url: url.map(|url| without_nul(&url)),
            metadata: clean_map(&document.metadata),
            checksum: origin.checksum,
            passages,
            texts,
        }
    }
}

/// Removes NUL characters, which PostgreSQL has in no text.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

fn clean_map(map: &Map<String, Value>) -> Map<String, Value> {
    let entries = map.iter();
    entries
        .map(|(key, value)| (without_nul(key), clean(value)))
        .collect()
}

fn clean(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_nul(text)),
        Value::Array(values) => values.iter().map(clean).collect(),
        Value::Object(map) => Value::Object(clean_map(map)),
        other => other.clone(),
    }
}
