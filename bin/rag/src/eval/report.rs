//! The figures of an evaluation: as a table, as JSON, and against an earlier evaluation.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::{Deserialize, Serialize};
use ziggurat_runtime::escape::escape;
use ziggurat_search::measures::JudgedRanking;

/// Number of results that measures of the first page count, and that the longest measure counts.
const PAGE: usize = 10;
pub(super) const DEPTH: usize = 100;

/// Loss that does not count, because figures in files are rounded.
const ROUNDING: f64 = 1e-9;

/// The figures of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pipeline: Option<String>,
    /// Number of questions with judgements.
    pub(super) questions: usize,
    pub(super) arms: Vec<ArmFigures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answers: Option<AnswerFigures>,
    /// The measures of each question by search.
    #[serde(default)]
    pub(super) per_question: Vec<QuestionFigures>,
}

/// The figures of one search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ArmFigures {
    pub(super) arm: String,
    #[serde(flatten)]
    pub(super) measures: Measures,
    #[serde(default, skip_serializing_if = "Option::is_none", flatten)]
    pub(super) latency: Option<Latency>,
}

/// The measures of one ranking, or their means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measures {
    #[serde(rename = "ndcg@10")]
    ndcg_10: f64,
    #[serde(rename = "mrr@10")]
    mrr_10: f64,
    #[serde(rename = "recall@10")]
    recall_10: f64,
    #[serde(rename = "recall@100")]
    recall_100: f64,
}

/// Percentiles of times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Latency {
    #[serde(rename = "p50_ms")]
    p50: f64,
    #[serde(rename = "p95_ms")]
    p95: f64,
    #[serde(rename = "p99_ms")]
    p99: f64,
}

/// The figures of answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AnswerFigures {
    /// Number of answers.
    pub(super) answers: usize,
    /// Share of the answers with citations, all of which name a passage that was shown.
    pub(super) valid_citations: f64,
    /// Share of the citations with a passage that supports their claim; absent without citations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) supported_citations: Option<f64>,
    /// Share of the answers that contain what they must; absent if none must contain anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) has_expected: Option<f64>,
    #[serde(flatten)]
    pub(super) latency: Latency,
}

/// The measures of one question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct QuestionFigures {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) query: Option<String>,
    pub(super) arms: BTreeMap<String, Measures>,
}

// === impl Measures ===

impl Measures {
    /// Measures a ranking.
    pub(super) fn of(ranking: &[&str], grades: &BTreeMap<String, i32>) -> Self {
        let ranking = JudgedRanking::new(ranking, grades);
        Self {
            ndcg_10: ranking.ndcg(PAGE),
            mrr_10: ranking.reciprocal_rank(PAGE),
            recall_10: ranking.recall(PAGE),
            recall_100: ranking.recall(DEPTH),
        }
    }

    /// Returns the means.
    pub(super) fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| share(all.iter().map(of).sum(), all.len());
        Self {
            ndcg_10: mean(|measures| measures.ndcg_10),
            mrr_10: mean(|measures| measures.mrr_10),
            recall_10: mean(|measures| measures.recall_10),
            recall_100: mean(|measures| measures.recall_100),
        }
    }

    /// Returns the measures with their names.
    fn named(&self) -> [(&'static str, f64); 4] {
        [
            ("nDCG@10", self.ndcg_10),
            ("MRR@10", self.mrr_10),
            ("Recall@10", self.recall_10),
            ("Recall@100", self.recall_100),
        ]
    }
}

// === impl Latency ===

impl Latency {
    /// Returns the percentiles of times; zeros if there are no times.
    pub(super) fn of(mut milliseconds: Vec<f64>) -> Self {
        milliseconds.sort_by(f64::total_cmp);
        let percentile = |percent: usize| {
            // The nearest rank.
            let rank = (milliseconds.len() * percent).div_ceil(100);
            let time = milliseconds.get(rank.saturating_sub(1));
            time.copied().unwrap_or_default()
        };
        Self {
            p50: percentile(50),
            p95: percentile(95),
            p99: percentile(99),
        }
    }

    fn named(&self) -> [(&'static str, f64); 3] {
        [
            ("p50 ms", self.p50),
            ("p95 ms", self.p95),
            ("p99 ms", self.p99),
        ]
    }
}

// === impl Report ===

impl Report {
    /// Returns the table for a terminal.
    pub(super) fn table(&self) -> String {
        let mut text = format!("{} judged questions\n", self.questions);
        let names = self.arms.iter().map(|arm| escape(&arm.arm));
        let names: Vec<_> = names.collect();
        let width = names.iter().map(|name| name.chars().count()).max();
        let width = width.unwrap_or_default();
        for (place, (arm, name)) in self.arms.iter().zip(&names).enumerate() {
            let measures = arm.measures.named().map(|(name, value)| (name, value, 4));
            let times = arm.latency.iter().flat_map(Latency::named);
            let times = times.map(|(name, value)| (name, value, 1));
            let cells: Vec<_> = measures.into_iter().chain(times).collect();
            if place == 0 {
                let _ = write!(text, "\n{:width$}", "");
                for (name, ..) in &cells {
                    let _ = write!(text, "  {name:>10}");
                }
                text.push('\n');
            }
            let _ = write!(text, "{name:width$}");
            for (_, value, decimals) in &cells {
                let _ = write!(text, "  {value:>10.decimals$}");
            }
            text.push('\n');
        }
        if let Some(answers) = &self.answers {
            let _ = write!(
                text,
                "\n{} answers: {:.4} with valid citations",
                answers.answers, answers.valid_citations
            );
            if let Some(share) = answers.supported_citations {
                let _ = write!(text, ", {share:.4} of the citations supported");
            }
            if let Some(share) = answers.has_expected {
                let _ = write!(text, ", {share:.4} with what they must have");
            }
            for (name, value) in answers.latency.named() {
                let _ = write!(text, ", {name} {value:.0}");
            }
            text.push('\n');
        }
        text
    }

    /// Returns a sentence for each figure that is worse than in an earlier report by more than
    /// `tolerance`.
    pub(super) fn losses(&self, before: &Self, tolerance: f64) -> Vec<String> {
        let mut losses = Vec::new();
        let mut compare = |what: &str, before: f64, now: f64| {
            if before - now > tolerance + ROUNDING {
                let loss = before - now;
                let change = format!("from {before:.4} to {now:.4}");
                losses.push(format!("{what} has fallen by {loss:.4}, {change}"));
            }
        };
        let mut missing = Vec::new();
        for arm in &before.arms {
            let Some(now) = self.arms.iter().find(|now| now.arm == arm.arm) else {
                missing.push(format!("there is no {} any more", arm.arm));
                continue;
            };
            let values = arm.measures.named().into_iter().zip(now.measures.named());
            for ((name, before), (_, now)) in values {
                compare(&format!("{} {name}", arm.arm), before, now);
            }
        }
        if let (Some(before), Some(now)) = (&before.answers, &self.answers) {
            let what = "the share of answers with valid citations";
            compare(what, before.valid_citations, now.valid_citations);
            let supported = (before.supported_citations, now.supported_citations);
            if let (Some(before), Some(now)) = supported {
                compare("the share of supported citations", before, now);
            }
            if let (Some(before), Some(now)) = (before.has_expected, now.has_expected) {
                compare("the share of answers with what they must have", before, now);
            }
        }
        losses.extend(missing);
        losses
    }
}

/// Returns a sum divided by a count; 0 of nothing.
pub(super) fn share(sum: f64, count: usize) -> f64 {
    let count = u32::try_from(count).map_or(f64::MAX, f64::from);
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ndcg: f64, valid_citations: f64) -> Report {
        let measures = Measures {
            ndcg_10: ndcg,
            ..Measures::default()
        };
        Report {
            questions: 2,
            arms: vec![ArmFigures {
                arm: "hybrid".to_owned(),
                measures,
                latency: Some(Latency::of(vec![1.0, 2.0])),
            }],
            answers: Some(AnswerFigures {
                answers: 2,
                valid_citations,
                ..AnswerFigures::default()
            }),
            ..Report::default()
        }
    }

    #[test]
    fn only_losses_beyond_the_tolerance_are_named() {
        let before = report(0.5, 1.0);
        assert!(report(0.49, 0.99).losses(&before, 0.01).is_empty());
        assert_eq!(
            report(0.48, 0.9).losses(&before, 0.01),
            [
                "hybrid nDCG@10 has fallen by 0.0200, from 0.5000 to 0.4800",
                "the share of answers with valid citations has fallen by 0.1000, from 1.0000 to \
                 0.9000"
            ]
        );
        let losses = Report::default().losses(&before, 1.0);
        assert_eq!(losses, ["there is no hybrid any more"]);
    }

    #[test]
    fn a_report_in_json_is_read_again() {
        let before = report(0.125, 0.5);
        let text = serde_json::to_string(&before).expect("JSON");
        assert!(text.contains(r#""ndcg@10":0.125"#), "{text}");
        let after: Report = serde_json::from_str(&text).expect("a report");
        assert_eq!(after, before);
    }

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times = (1..=200).map(f64::from).collect();
        let named = Latency::of(times)
            .named()
            .map(|(_, value)| value.to_string());
        assert_eq!(named, ["100", "190", "198"]);
        assert_eq!(Latency::of(Vec::new()), Latency::default());
    }
}
