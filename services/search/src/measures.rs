//! Measures of ranked results against judgements, with the values of `trec_eval`.
//!
//! A judgement is the grade of a document for a question: 0 or less if it is not relevant, else the
//! higher the better. Documents without one count as not relevant.
//!
//! ```
//! use std::collections::BTreeMap;
//! use ziggurat_search::measures::JudgedRanking;
//!
//! let grades = BTreeMap::from([("wool".to_owned(), 2), ("silk".to_owned(), 1)]);
//! let ranking = JudgedRanking::new(&["brass", "wool"], &grades);
//! assert_eq!(ranking.reciprocal_rank(10), 0.5);
//! assert_eq!(ranking.recall(10), 0.5);
//! assert!((ranking.ndcg(10) - 0.4796).abs() < 1e-4);
//! ```

use std::collections::{BTreeMap, HashSet};

/// A ranking of documents for one question, as the gains of its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedRanking {
    /// The gain of each rank: the grade, or 0.
    gains: Vec<f64>,
    /// The gains of all relevant documents, the highest first.
    ideal: Vec<f64>,
}

// === impl JudgedRanking ===

impl JudgedRanking {
    /// Judges documents, the best first. Of a repeated document only the first rank counts.
    pub fn new(ranking: &[&str], grades: &BTreeMap<String, i32>) -> Self {
        let mut seen = HashSet::new();
        let ranking = ranking.iter().filter(|id| seen.insert(**id));
        let gains = ranking.map(|id| gain(grades.get(*id).copied().unwrap_or_default()));
        let gains = gains.collect();
        let ideal = grades.values().copied().map(gain);
        let mut ideal: Vec<_> = ideal.filter(|gain| *gain > 0.0).collect();
        ideal.sort_by(|one, other| other.total_cmp(one));
        Self { gains, ideal }
    }

    /// Returns the normalized discounted cumulative gain of the first `depth` ranks (`ndcg_cut`):
    /// grades divided by the binary logarithm of their rank plus one, against the best possible
    /// order. It is 0 if no document is relevant.
    #[must_use]
    pub fn ndcg(&self, depth: usize) -> f64 {
        let ideal = discounted(&self.ideal, depth);
        if ideal > 0.0 {
            discounted(&self.gains, depth) / ideal
        } else {
            0.0
        }
    }

    /// Returns one divided by the rank of the first relevant document (`recip_rank`), or 0 if none
    /// of the first `depth` is relevant.
    #[must_use]
    pub fn reciprocal_rank(&self, depth: usize) -> f64 {
        let mut ranks = self.gains.iter().take(depth).zip(1_u32..);
        let first = ranks.find(|(gain, _)| **gain > 0.0);
        first.map_or(0.0, |(_, rank)| f64::from(rank).recip())
    }

    /// Returns the share of the relevant documents among the first `depth` (`recall`), or 0 if no
    /// document is relevant.
    #[must_use]
    pub fn recall(&self, depth: usize) -> f64 {
        let relevant = count(&self.ideal, usize::MAX);
        if relevant > 0.0 {
            count(&self.gains, depth) / relevant
        } else {
            0.0
        }
    }
}

/// Returns documents in the order of `trec_eval`: by score, the highest first, and those with equal
/// scores by id, the last first. Scores are compared with 32 bits.
pub fn trec_order<'a>(scored: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<&'a str> {
    #[expect(clippy::cast_possible_truncation, reason = "trec_eval has 32 bits")]
    // The sum turns a negative zero into zero.
    let scored = scored
        .into_iter()
        .map(|(id, score)| (id, score as f32 + 0.0));
    let mut scored: Vec<_> = scored.collect();
    scored.sort_by(|(one, one_score), (other, other_score)| {
        let order = other_score.total_cmp(one_score);
        order.then_with(|| other.cmp(one))
    });
    scored.into_iter().map(|(id, _)| id).collect()
}

fn gain(grade: i32) -> f64 {
    f64::from(grade.max(0))
}

/// Discounted cumulative gain.
fn discounted(gains: &[f64], depth: usize) -> f64 {
    let divisors = (2_u32..).map(|rank| f64::from(rank).log2());
    let gains = gains.iter().take(depth).zip(divisors);
    gains.map(|(gain, divisor)| gain / divisor).sum()
}

/// Returns the number of relevant documents.
fn count(gains: &[f64], depth: usize) -> f64 {
    let relevant = gains.iter().take(depth).filter(|gain| **gain > 0.0);
    // The sum of nothing would be -0.
    relevant.fold(0.0, |sum, _| sum + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judgements, a run, and the values of `pytrec_eval` for them; `tests/eval/reference.py` makes
    /// the files.
    const QRELS: &str = include_str!("../../../tests/eval/qrels.txt");
    const RUN: &str = include_str!("../../../tests/eval/run.txt");
    const VALUES: &str = include_str!("../../../tests/eval/values.txt");

    /// Returns the lines of a file by the question in their first column.
    fn by_question(file: &str) -> BTreeMap<&str, Vec<Vec<&str>>> {
        let mut questions = BTreeMap::<_, Vec<_>>::new();
        for line in file.lines() {
            let columns: Vec<_> = line.split_whitespace().collect();
            questions.entry(columns[0]).or_default().push(columns);
        }
        questions
    }

    fn measure(ranking: &JudgedRanking, name: &str) -> f64 {
        match name {
            "ndcg_cut_10" => ranking.ndcg(10),
            "recip_rank_10" => ranking.reciprocal_rank(10),
            "recall_10" => ranking.recall(10),
            "recall_100" => ranking.recall(100),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_ranking_without_relevant_documents_has_zeros_without_a_sign() {
        let grades = BTreeMap::from([("a".to_owned(), 1)]);
        let ranking = JudgedRanking::new(&["b"], &grades);
        for value in [
            ranking.recall(10),
            ranking.ndcg(10),
            ranking.reciprocal_rank(10),
        ] {
            assert!(value.is_sign_positive(), "{value}");
        }
    }

    #[test]
    fn every_measure_has_the_value_of_pytrec_eval() {
        let (qrels, run) = (by_question(QRELS), by_question(RUN));
        let mut compared = 0;
        for (question, values) in by_question(VALUES) {
            let grades = qrels[question].iter();
            let grades = grades.map(|line| (line[2].to_owned(), line[3].parse().expect("a grade")));
            let scored = run[question].iter();
            let scored = scored.map(|line| (line[2], line[4].parse().expect("a score")));
            let ranking = JudgedRanking::new(&trec_order(scored), &grades.collect());
            for line in values {
                let (name, expected) = (line[1], line[2].parse::<f64>().expect("a value"));
                let value = measure(&ranking, name);
                assert!(
                    (value - expected).abs() < 1e-9,
                    "{question} {name}: {value} {expected}"
                );
                compared += 1;
            }
        }
        assert!(compared >= 100, "{compared}");
    }

    #[test]
    fn a_repeated_document_counts_once_and_a_ranking_may_be_empty() {
        let grades = BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]);
        let ranking = JudgedRanking::new(&["a", "a", "b"], &grades);
        assert_eq!(ranking, JudgedRanking::new(&["a", "b"], &grades));
        for ranking in [
            JudgedRanking::new(&[], &grades),
            JudgedRanking::new(&["a"], &BTreeMap::new()),
        ] {
            let values = [
                ranking.ndcg(10),
                ranking.reciprocal_rank(10),
                ranking.recall(10),
            ];
            assert!(values.iter().all(|value| value.abs() < 1e-12), "{values:?}");
        }
    }
}
