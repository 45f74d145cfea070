//! The settings of PostgreSQL: the words of a name are a question, and its description the answer.
//!
//! This collection took no part in the choice of the defaults.

use std::collections::BTreeMap;

use ziggurat_benches::tools::Postgres;

use super::{
    collection::{Collection, Judged, Passage},
    word_vectors::WordVectors,
};

/// The settings, in one text: name, description, details.
const ALL: &str =
    "SELECT string_agg(name || E'\\t' || short_desc || ' ' || coalesce(extra_desc, ''),
    E'\\n' ORDER BY name) FROM pg_settings WHERE name ~ '_' AND name !~ '\\.'";

/// Reads names and descriptions.
pub(super) fn texts(postgres: &Postgres) -> Vec<(String, String)> {
    let all = postgres.text(ALL);
    let lines = all.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(name, text)| (name.to_owned(), text.trim().to_owned()))
        .collect()
}

/// Makes the collection. A description has the name only where PostgreSQL's own text has it.
pub(super) fn collection(texts: &[(String, String)], vectors: &WordVectors) -> Collection {
    let passages = texts.iter().map(|(name, text)| Passage {
        id: name.clone(),
        text: text.clone(),
        vector: vectors.embed(text),
    });
    let questions = texts.iter().map(|(name, _)| {
        let text = name.replace('_', " ");
        Judged {
            vector: vectors.embed(&text),
            text,
            grades: BTreeMap::from([(name.clone(), 1)]),
        }
    });
    Collection {
        name: "settings",
        passages: passages.collect(),
        questions: questions.collect(),
    }
}
