//! Tries candidates greedily.

use crate::index_advice::{MAX_ADVISED, Reason};

/// Part of the cost that an index must save to be kept.
const MIN_GAIN: f64 = 0.1;

/// Difference of two costs, as a part of them, below which the smaller index is better.
const ALIKE: f64 = 0.01;

/// Order in which candidates are tried, and those that were kept.
///
/// In each round every candidate is tried beside those that were kept before. The one with the
/// lowest cost is kept if it saves a tenth; otherwise the trial is over. Of two that cost about the
/// same the smaller is better.
///
/// The caller asks [`next`](Self::next) for a candidate, measures the cost with it and all that are
/// [`kept`](Self::kept), and tells it with [`measured`](Self::measured).
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// Size of each candidate.
    sizes: Vec<f64>,
    /// Cost with those that were kept.
    cost: f64,
    kept: Vec<KeptCandidate>,
    /// Candidates that are not kept.
    rest: Vec<usize>,
    /// Position in `rest` of the one to try.
    at: usize,
    /// The best of this round, and the cost with it.
    best: Option<(usize, f64)>,
    /// It was stopped before its end.
    is_stopped: bool,
}

/// A candidate that was kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KeptCandidate {
    /// Position of the candidate.
    pub(super) candidate: usize,
    pub(super) cost_before: f64,
    pub(super) cost_after: f64,
}

// === impl Trial ===

impl Trial {
    /// Starts with the size of each candidate and the cost without any.
    pub(super) fn new(sizes: &[f64], cost: f64) -> Self {
        Self {
            sizes: sizes.to_vec(),
            cost,
            kept: Vec::new(),
            rest: (0..sizes.len()).collect(),
            at: 0,
            best: None,
            is_stopped: false,
        }
    }

    /// Returns the candidate to try, or nothing when the trial is over.
    pub(super) fn next(&self) -> Option<usize> {
        self.rest.get(self.at).copied()
    }

    /// Takes the cost with the candidate; nothing if PostgreSQL did not accept it.
    pub(super) fn measured(&mut self, cost: Option<f64>) {
        let Some(candidate) = self.next() else {
            return;
        };
        if let Some(cost) = cost
            && self.is_better(candidate, cost)
        {
            self.best = Some((candidate, cost));
        }
        self.at += 1;
        if self.at == self.rest.len() {
            self.end_round();
        }
    }

    /// Ends the trial early. The best of this round is kept if it pays.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.end_round();
        self.at = self.rest.len();
    }

    /// Returns the candidates that were kept, in the order of their gain.
    pub(super) fn kept(&self) -> &[KeptCandidate] {
        &self.kept
    }

    /// Returns the others, and the reason why each fell.
    pub(super) fn fallen(&self) -> impl Iterator<Item = (usize, Reason)> {
        let reason = if self.kept.len() == MAX_ADVISED {
            Reason::Enough
        } else if self.is_stopped {
            Reason::NoTime
        } else {
            Reason::TooLittle
        };
        let rest = self.rest.iter();
        rest.map(move |&candidate| (candidate, reason.clone()))
    }

    fn is_better(&self, candidate: usize, cost: f64) -> bool {
        let Some((best, best_cost)) = self.best else {
            return true;
        };
        let are_alike = (cost - best_cost).abs() <= best_cost * ALIKE;
        if are_alike {
            self.sizes[candidate] < self.sizes[best]
        } else {
            cost < best_cost
        }
    }

    fn end_round(&mut self) {
        let kept = self
            .best
            .take()
            .filter(|&(_, cost)| cost <= self.cost * (1.0 - MIN_GAIN));
        let Some((candidate, cost)) = kept else {
            return;
        };
        self.kept.push(KeptCandidate {
            candidate,
            cost_before: self.cost,
            cost_after: cost,
        });
        self.cost = cost;
        self.rest.retain(|&other| other != candidate);
        if self.kept.len() < MAX_ADVISED {
            self.at = 0;
        } else {
            self.at = self.rest.len();
        }
    }
}
