//! Joins passages with those next to them in the same document.
//!
//! A passage is cut for the search; the answer to a question may go on in the next one. Of passages
//! that overlap after this, the better one takes in the other.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    error::Error,
    mem,
};

use futures_util::future;
use tracing::warn;
use ziggurat_vector_search::retrieval_queries::Adjacent;

use crate::retrieval::{Passage, Retriever, SearchRequest, excerpt, table_search::Request};

/// Limit on the text that two neighbours have in common, in bytes.
const MAX_OVERLAP: usize = 16_384;

/// Text in common that is shorter than this is chance, in bytes.
const MIN_OVERLAP: usize = 16;

/// The identity of a row: its table and its id.
type Key = (usize, String);

/// Neighbouring rows of a document, in their order.
struct Run {
    /// The best passage among them.
    passage: Passage,
    parts: Vec<RunPart>,
}

/// A row of a run.
struct RunPart {
    id: Option<String>,
    content: String,
}

// === impl Retriever ===

impl Retriever {
    /// Joins each passage with those next to it, if that is configured. Passages of a table that
    /// fails, or that has no order, stay as they are.
    pub(crate) async fn expand(
        &self,
        passages: Vec<Passage>,
        question: &SearchRequest<'_>,
    ) -> Vec<Passage> {
        let inner = &*self.inner;
        let distance = inner.options.expand;
        if distance == 0 || passages.is_empty() {
            return passages;
        }
        let _stage = self.stages.begin_detail("expand");
        let asker = self.asker();
        let request = Request {
            text: question.text,
            filter: question.filter,
            // Neighbours need not match the operators of the question.
            operators: None,
            rows: 0,
            options: &inner.options,
            asker: &asker,
        };
        let adjacent = inner.tables.iter().enumerate().map(async |(at, table)| {
            let ids = passages.iter().filter(|passage| passage.table == at);
            let ids: Vec<_> = ids
                .filter_map(|passage| passage.key().map(str::to_owned))
                .collect();
            if ids.is_empty() {
                return Vec::new();
            }
            let found = table.adjacent(&ids, distance, &request).await;
            found.unwrap_or_else(|error| {
                warn!(
                    error = &error as &dyn Error,
                    pipeline = self.stages.pipeline(),
                    table = table.name(),
                    "passages are not joined with their neighbours"
                );
                Vec::new()
            })
        });
        let adjacent = future::join_all(adjacent).await;
        let mut joined = join(passages, adjacent);
        for passage in &mut joined {
            if let Cow::Owned(part) = excerpt::excerpt(&passage.content, question.text) {
                passage.content = part;
            }
        }
        joined
    }
}

/// Joins passages, best first, with the neighbours that were found in each table.
fn join(passages: Vec<Passage>, adjacent: Vec<Vec<Adjacent>>) -> Vec<Passage> {
    let mut neighbours: HashMap<Key, [Vec<Adjacent>; 2]> = HashMap::new();
    for (table, rows) in adjacent.into_iter().enumerate() {
        for row in rows {
            let sides = neighbours.entry((table, row.of.clone())).or_default();
            sides[usize::from(!row.is_before)].push(row);
        }
    }
    let mut runs: Vec<Option<Run>> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for passage in passages {
        let table = passage.table;
        let key = passage.key().map(|id| (table, id.to_owned()));
        let sides = key.and_then(|key| neighbours.remove(&key));
        let run = Run::new(passage, sides.unwrap_or_default());
        let keys = run.keys();
        let known = keys.iter().filter_map(|key| places.get(key).copied());
        let known: BTreeSet<_> = known.collect();
        let first = known.first().copied().unwrap_or(runs.len());
        if known.is_empty() {
            runs.push(None);
        }
        let mut known = known.into_iter().filter_map(|place| runs[place].take());
        // The others may have rows in common with the new run only.
        let best = known.next();
        let run = best.into_iter().chain([run]).chain(known).reduce(Run::join);
        let keys = run.iter().flat_map(Run::keys);
        places.extend(keys.map(|key| (key, first)));
        runs[first] = run;
    }
    runs.into_iter().flatten().map(Run::into_passage).collect()
}

// === impl Run ===

impl Run {
    fn new(mut passage: Passage, [before, after]: [Vec<Adjacent>; 2]) -> Self {
        let part = RunPart {
            id: passage.key().map(str::to_owned),
            content: mem::take(&mut passage.content),
        };
        let mut parts: Vec<_> = shown(before).collect();
        parts.reverse();
        parts.push(part);
        parts.extend(shown(after));
        Self { passage, parts }
    }

    /// Returns the identities of its rows.
    fn keys(&self) -> Vec<Key> {
        let ids = self.parts.iter().filter_map(|part| part.id.clone());
        ids.map(|id| (self.passage.table, id)).collect()
    }

    /// Adds the rows of another run of the same document that has rows in common with this one.
    fn join(mut self, other: Self) -> Self {
        let place = |part: Option<&RunPart>| {
            let id = part.and_then(|part| part.id.as_ref());
            other.parts.iter().position(|other| other.id.as_ref() == id)
        };
        let (first, last) = (place(self.parts.first()), place(self.parts.last()));
        let mut parts = other.parts;
        if let Some(last) = last {
            self.parts.extend(parts.drain(last + 1..));
        }
        if let Some(first) = first {
            self.parts.splice(0..0, parts.drain(..first));
        }
        self
    }

    fn into_passage(self) -> Passage {
        let mut parts = self.parts.iter().map(|part| &*part.content);
        let mut before = parts.next().unwrap_or_default();
        let mut content = before.to_owned();
        for part in parts {
            append(&mut content, before, part);
            before = part;
        }
        Passage {
            content,
            ..self.passage
        }
    }
}

/// Returns the rows up to the first that may not be shown.
fn shown(rows: Vec<Adjacent>) -> impl Iterator<Item = RunPart> {
    rows.into_iter().map_while(|row| {
        Some(RunPart {
            id: Some(row.id),
            content: row.content?,
        })
    })
}

/// Appends the text of a row to a text that ends with the text of the row before, without the
/// headings and the sentences that both have.
pub(super) fn append(content: &mut String, before: &str, text: &str) {
    let heading = |text: &'_ str| text.find("\n\n").map(|end| end + 2);
    let body = match heading(text) {
        Some(end) if before.get(..end) == Some(&text[..end]) => &text[end..],
        _ => text,
    };
    let common = overlap(content, body);
    if common == 0 {
        content.push_str("\n\n");
    }
    content.push_str(&body[common..]);
}

/// Returns the length of the longest end of a text that is the beginning of the next one.
fn overlap(before: &str, text: &str) -> usize {
    let pattern = &text.as_bytes()[..text.len().min(MAX_OVERLAP)];
    let from = before.len() - before.len().min(MAX_OVERLAP);
    // For each length of a beginning, its longest shorter beginning that it ends with.
    let mut shorter = vec![0; pattern.len() + 1];
    let mut length = 0;
    let step = |shorter: &[usize], mut length: usize, byte: u8| {
        while length > 0 && pattern.get(length) != Some(&byte) {
            length = shorter[length];
        }
        length + usize::from(pattern.get(length) == Some(&byte))
    };
    for end in 1..pattern.len() {
        length = step(&shorter, length, pattern[end]);
        shorter[end + 1] = length;
    }
    let before = before.as_bytes()[from..].iter();
    let length = before.fold(0, |length, byte| step(&shorter, length, *byte));
    if length < MIN_OVERLAP || !text.is_char_boundary(length) {
        return 0;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(id: &str, score: f64) -> Passage {
        Passage {
            id: Some(id.to_owned()),
            content: format!("text of {id}"),
            score,
            ..Passage::default()
        }
    }

    /// Returns the rows next to one, of a document of nine rows.
    fn next_to(of: u32, distance: u32) -> Vec<Adjacent> {
        let row = |id: u32| Adjacent {
            of: of.to_string(),
            is_before: id < of,
            id: id.to_string(),
            content: Some(format!("text of {id}")),
        };
        let before = (of.saturating_sub(distance).max(1)..of).rev();
        let after = of + 1..=(of + distance).min(9);
        before.chain(after).map(row).collect()
    }

    fn joined(ids: &[u32], distance: u32) -> Vec<(String, Vec<String>)> {
        let scores = (0..).map(|rank| 1.0 - 0.1 * f64::from(rank));
        let passages = ids.iter().zip(scores);
        let passages = passages.map(|(id, score)| passage(&id.to_string(), score));
        let adjacent = ids.iter().flat_map(|id| next_to(*id, distance)).collect();
        let joined = join(passages.collect(), vec![adjacent]);
        let parts = |text: String| {
            let parts = text.split("\n\n");
            parts.map(|part| part.replace("text of ", "")).collect()
        };
        joined
            .into_iter()
            .map(|one| (one.id.unwrap_or_default(), parts(one.content)))
            .collect()
    }

    #[test]
    fn passages_that_overlap_become_one_at_the_place_of_the_best() {
        let run = |id: &str, rows: std::ops::RangeInclusive<u32>| {
            (id.to_owned(), rows.map(|row| row.to_string()).collect())
        };
        assert_eq!(joined(&[5, 2], 1), [run("5", 4..=6), run("2", 1..=3)]);
        assert_eq!(joined(&[3, 8, 4], 1), [run("3", 2..=5), run("8", 7..=9)]);
        assert_eq!(joined(&[5, 4, 6], 1), [run("5", 3..=7)]);
        // The last one connects the two before it.
        assert_eq!(joined(&[2, 8, 5], 2), [run("2", 1..=9)]);
        assert_eq!(joined(&[1, 9], 0), [run("1", 1..=1), run("9", 9..=9)]);
    }

    #[test]
    fn a_row_that_may_not_be_shown_ends_a_run() {
        let mut adjacent = next_to(5, 2);
        adjacent[0].content = None;
        let joined = join(vec![passage("5", 1.0)], vec![adjacent]);
        assert_eq!(joined[0].content, "text of 5\n\ntext of 6\n\ntext of 7");
    }

    #[test]
    fn rows_of_another_table_and_without_an_id_stay_apart() {
        let mut other = passage("5", 0.9);
        other.table = 1;
        let mut nameless = passage("", 0.8);
        nameless.id = None;
        let joined = join(
            vec![passage("5", 1.0), other, nameless.clone(), nameless],
            vec![next_to(5, 1), Vec::new()],
        );
        let lengths: Vec<_> = joined
            .iter()
            .map(|one| one.content.lines().count())
            .collect();
        assert_eq!(lengths, [5, 1, 1, 1]);
    }

    #[test]
    fn headings_and_sentences_that_both_have_are_there_once() {
        let joined = |one: &str, two: &str| {
            let mut content = one.to_owned();
            append(&mut content, one, two);
            content
        };
        let one = "Beds > Soil\n\nSoil is loam. It has to be wet.";
        assert_eq!(
            joined(one, "Beds > Soil\n\nIt has to be wet. Sand is dry."),
            "Beds > Soil\n\nSoil is loam. It has to be wet. Sand is dry."
        );
        assert_eq!(
            joined(one, "Beds > Sand\n\nIt has to be dry."),
            format!("{one}\n\nBeds > Sand\n\nIt has to be dry.")
        );
        assert_eq!(joined("a b", "b c"), "a b\n\nb c");
        assert_eq!(
            joined("雪が降る。雪が。", "雪が降る。雪が。更に"),
            "雪が降る。雪が。更に"
        );
        let same = "x".repeat(2 * MAX_OVERLAP);
        assert_eq!(joined(&same, &same).len(), 3 * MAX_OVERLAP);
    }
}
