//! Questions with known results: a line of JSON for each.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::eval::lines;

/// Limit on the questions of a file.
const MAX_QUESTIONS: usize = 100_000;

/// A line that can be read, for messages.
const EXAMPLE: &str = r#"write a line as {"query": "…", "relevant": {"<id of a row>": 1}}"#;

/// A question with its judgements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GoldenQuestion {
    pub(super) id: String,
    pub(super) query: String,
    /// The grades of the judged rows by their ids.
    pub(super) grades: BTreeMap<String, i32>,
    /// Texts that the answer must contain.
    pub(super) answer_has: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuestion {
    id: Option<RawId>,
    query: String,
    #[serde(default)]
    relevant: BTreeMap<String, i32>,
    #[serde(default)]
    answer_has: Vec<String>,
    /// The passage that a draft was made from, for the person who checks it.
    #[serde(rename = "passage")]
    _passage: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawId {
    Text(String),
    Number(i64),
}

/// Reads the questions. One without an `id` has the number of its line.
///
/// # Errors
/// Names the file and the line that cannot be used.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<GoldenQuestion>> {
    let (mut questions, mut ids) = (Vec::new(), BTreeSet::new());
    lines::read(path, |number, line| {
        let question = GoldenQuestion::parse(number, line)?;
        if !ids.insert(question.id.clone()) {
            bail!("another question has the id {}", question.id);
        }
        if questions.len() == MAX_QUESTIONS {
            bail!("the file has more than {MAX_QUESTIONS} questions: split it");
        }
        questions.push(question);
        Ok(())
    })?;
    if questions.is_empty() {
        bail!("{} has no questions: {EXAMPLE}", path.display());
    }
    Ok(questions)
}

// === impl GoldenQuestion ===

impl GoldenQuestion {
    fn parse(number: usize, line: &str) -> anyhow::Result<Self> {
        let raw: RawQuestion = serde_json::from_str(line).context(EXAMPLE)?;
        if raw.query.trim().is_empty() {
            bail!("the query is empty: {EXAMPLE}");
        }
        Ok(Self {
            id: match raw.id {
                Some(RawId::Text(id)) => id,
                Some(RawId::Number(id)) => id.to_string(),
                None => number.to_string(),
            },
            query: raw.query,
            grades: raw.relevant,
            answer_has: raw.answer_has,
        })
    }

    /// Returns whether an answer contains all texts that it must; case and line breaks do not count.
    pub(super) fn is_answered_by(&self, answer: &str) -> bool {
        let answer = plain(answer);
        let mut expected = self.answer_has.iter();
        expected.all(|text| answer.contains(&plain(text)))
    }
}

/// Returns a text in lower case, with one space between its words.
fn plain(text: &str) -> String {
    let text = text.to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_text(text: &str) -> anyhow::Result<Vec<GoldenQuestion>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("golden.jsonl");
        fs::write(&path, text).expect("written");
        read(&path).map_err(|error| {
            let shown = format!("{error:#}");
            let folder = format!("{}/", folder.path().display());
            anyhow::anyhow!(shown.replace(&folder, ""))
        })
    }

    #[test]
    fn a_question_has_an_id_grades_and_texts_of_its_answer() {
        let questions = read_text(
            "{\"query\": \"How?\", \"relevant\": {\"a#1\": 2, \"b\": 0}}\n\n\
             {\"id\": 7, \"query\": \"Why?\", \"answer_has\": [\"Cold  water\"], \"passage\": \"x\"}\n",
        );
        let questions = questions.expect("questions");
        assert_eq!((&*questions[0].id, &*questions[1].id), ("1", "7"));
        let grades = BTreeMap::from([("a#1".to_owned(), 2), ("b".to_owned(), 0)]);
        assert_eq!(questions[0].grades, grades);
        assert!(questions[1].is_answered_by("Wash it in COLD\nwater [1]."));
        assert!(!questions[1].is_answered_by("Wash it in warm water."));
    }

    #[test]
    fn a_problem_has_the_file_the_line_and_what_to_write() {
        let long = format!("{{\"query\": \"{}\"}}\n", "x".repeat(1 << 20));
        for (text, expected) in [
            ("", "golden.jsonl has no questions: write a line as"),
            (
                "{\"query\": \"a\"}\nnonsense\n",
                "golden.jsonl:2: write a line as",
            ),
            ("{\"query\": \" \"}\n", "golden.jsonl:1: the query is empty"),
            (
                "{\"query\": \"a\", \"relevent\": {}}\n",
                "unknown field `relevent`",
            ),
            (
                "{\"query\": \"a\", \"relevant\": {\"x\": 1.5}}\n",
                "golden.jsonl:1: ",
            ),
            (
                "{\"id\": 2, \"query\": \"a\"}\n{\"query\": \"b\"}\n",
                "golden.jsonl:2: another question has the id 2",
            ),
            (&*long, "golden.jsonl:1: the line is longer than 1 MiB"),
        ] {
            let error = read_text(text).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
