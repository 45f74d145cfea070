//! Merges the results of all tables and of both kinds of search.

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use ziggurat_search::fusion::{Fused, Fusion, add_known, merge};
use ziggurat_vector_search::retrieval_queries::Hit;

use crate::retrieval::Passage;

/// The rows that were found in one table, best first.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) vector: Vec<Hit>,
    pub(super) words: Vec<Hit>,
    /// The similarities of rows that only the keyword search found, by their ids.
    pub(super) similarities: HashMap<String, f64>,
}

/// The identity of a row within its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key<'a> {
    Id(&'a str),
    Text(&'a str),
}

/// Merges the results. With a fusion, both orders of a table become one; without one, only the
/// vector search counts, and its scores are kept.
pub(super) fn fuse_hits(hits: Vec<Hits>, fusion: Option<Fusion>, top_n: usize) -> Vec<Passage> {
    let tables = hits.iter().map(|hits| {
        let mut entries = match fusion {
            Some(fusion) => fusion.fuse(hits.by_similarity(), scored(&hits.words)),
            None => ranked(&hits.vector),
        };
        entries.truncate(top_n.saturating_mul(2));
        entries
    });
    let mut seen = HashSet::new();
    let mut best = merge(tables);
    // Rows without an id and with the same text are the same, also in different tables.
    best.retain(|(_, entry)| matches!(entry.key, Key::Id(_)) || seen.insert(entry.key));
    best.truncate(top_n);
    let places: Vec<_> = hits.iter().map(Hits::places).collect();
    let chosen: Vec<_> = best
        .iter()
        .map(|(table, entry)| (*table, places[*table][&entry.key], entry.score))
        .collect();
    let mut hits = hits;
    chosen
        .into_iter()
        .map(|(table, place, score)| {
            let is_of_vector = place < hits[table].vector.len();
            let found = hits[table].take(place);
            Passage {
                key: found.key,
                id: found.id,
                content: found.content,
                score,
                relevance: is_of_vector.then_some(found.score),
                title: found.title,
                url: found.url,
                table,
            }
        })
        .collect()
}

// === impl Hits ===

impl Hits {
    /// Returns the position of each row: first the rows of the vector search, then the rows of the
    /// keyword search.
    fn places(&self) -> HashMap<Key<'_>, usize> {
        let mut places = HashMap::new();
        let keys = keys(&self.vector).chain(keys(&self.words));
        for (place, key) in keys.enumerate() {
            places.entry(key).or_insert(place);
        }
        places
    }

    /// Returns the ids of the rows that only the keyword search found.
    pub(super) fn ids_by_words(&self) -> Vec<String> {
        let known: HashSet<_> = keys(&self.vector).collect();
        let rows = self.words.iter();
        let rows = rows.filter(|row| !known.contains(&Key::new(row)));
        rows.filter_map(|row| row.key().map(str::to_owned))
            .collect()
    }

    /// Returns all rows with a known similarity, the most similar first.
    fn by_similarity(&self) -> Vec<(Key<'_>, f64)> {
        let mut all: Vec<_> = scored(&self.vector).collect();
        if !self.similarities.is_empty() {
            let others = self.similarities.iter();
            add_known(
                &mut all,
                others.map(|(id, similarity)| (Key::Id(id), *similarity)),
            );
        }
        all
    }

    fn take(&mut self, place: usize) -> Hit {
        let found = match place.checked_sub(self.vector.len()) {
            None => &mut self.vector[place],
            Some(place) => &mut self.words[place],
        };
        mem::take(found)
    }
}

// === impl Key ===

impl<'a> Key<'a> {
    fn new(found: &'a Hit) -> Self {
        match found.key() {
            Some(id) => Self::Id(id),
            None => Self::Text(&found.content),
        }
    }
}

fn keys(found: &[Hit]) -> impl Iterator<Item = Key<'_>> {
    found.iter().map(Key::new)
}

fn scored(found: &[Hit]) -> impl Iterator<Item = (Key<'_>, f64)> {
    found.iter().map(|found| (Key::new(found), found.score))
}

/// Returns the rows in their order, with their scores.
fn ranked(found: &[Hit]) -> Vec<Fused<Key<'_>>> {
    let ranks = found.iter().zip(1..);
    ranks
        .map(|(found, rank)| Fused {
            key: Key::new(found),
            score: found.score,
            vector_rank: Some(rank),
            keyword_rank: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ziggurat_search::fusion::Method;

    use super::*;

    fn found(ids: &[&str]) -> Vec<Hit> {
        let scores = (0..ids.len()).map(|at| 0.9 - 0.01 * f64::from(u8::try_from(at).unwrap()));
        ids.iter()
            .zip(scores)
            .map(|(id, score)| Hit {
                id: Some((*id).to_owned()),
                content: format!("text of {id}"),
                score,
                ..Hit::default()
            })
            .collect()
    }

    fn nameless(texts: &[&str]) -> Vec<Hit> {
        let mut rows = found(texts);
        for row in &mut rows {
            row.content = row.id.take().expect("it has one");
        }
        rows
    }

    fn weight(vector_weight: f64) -> Fusion {
        Fusion {
            method: Method::RECIPROCAL_RANK,
            vector_weight,
        }
    }

    fn ids(passages: &[Passage]) -> Vec<&str> {
        let ids = passages.iter().map(|passage| passage.id.as_deref());
        ids.map(|id| id.unwrap_or("none")).collect()
    }

    #[test]
    fn both_orders_of_a_table_are_fused_by_their_ranks() {
        let hits = || {
            vec![Hits {
                vector: found(&["A", "B", "C"]),
                words: found(&["C", "D"]),
                ..Hits::default()
            }]
        };
        let passages = fuse_hits(hits(), Some(weight(0.5)), 3);
        assert_eq!(ids(&passages), ["C", "A", "B"]);
        assert!((passages[0].score - 0.016_133).abs() < 1e-6);
        assert_eq!(passages[0].content, "text of C");
        assert_eq!(ids(&fuse_hits(hits(), Some(weight(0.0)), 9)), ["C", "D"]);
        assert_eq!(
            ids(&fuse_hits(hits(), Some(weight(1.0)), 9)),
            ["A", "B", "C"]
        );
        let alone = fuse_hits(hits(), None, 2);
        assert_eq!(ids(&alone), ["A", "B"]);
        assert!((alone[1].score - 0.89).abs() < 1e-9);
    }

    #[test]
    fn tables_are_merged_by_score_and_equal_ids_of_two_tables_are_different_rows() {
        let mut second = found(&["A", "Z"]);
        second[0].score = 0.95;
        second[0].content = "another".to_owned();
        let hits = vec![
            Hits {
                vector: found(&["A", "B", "A"]),
                words: Vec::new(),
                ..Hits::default()
            },
            Hits {
                vector: second,
                words: Vec::new(),
                ..Hits::default()
            },
        ];
        let passages = fuse_hits(hits, None, 10);
        assert_eq!(ids(&passages), ["A", "A", "B", "Z"]);
        assert_eq!(passages[0].content, "another");
        assert_eq!(passages[1].content, "text of A");
    }

    #[test]
    fn rows_without_an_id_are_identified_by_their_text_in_every_table() {
        let hits = vec![
            Hits {
                vector: nameless(&["one", "two"]),
                words: nameless(&["two", "one"]),
                ..Hits::default()
            },
            Hits {
                vector: nameless(&["one", "three"]),
                words: Vec::new(),
                ..Hits::default()
            },
        ];
        let passages = fuse_hits(hits, Some(weight(0.5)), 10);
        let texts: Vec<_> = passages.iter().map(|passage| &*passage.content).collect();
        assert_eq!(texts, ["one", "two", "three"]);
    }
}
