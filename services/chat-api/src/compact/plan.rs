//! Which messages stay.

use std::{mem, ops::Range};

use super::classify::Tier;

/// A message, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) tokens: u64,
    pub(super) side: Side,
}

/// What a message is to its neighbours: a call of a tool and its result belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Alone,
    Call,
    Result,
}

/// What has to come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Goal {
    /// How many messages of the middle there should be, even if few matter.
    pub(super) min_important: usize,
    /// How many tokens there should be.
    pub(super) max_tokens: u64,
    /// What a summary of what is gone takes.
    pub(super) summary_tokens: u64,
    /// Whether there is one even if there is room for the rest.
    pub(super) wants_summary: bool,
}

/// Which messages stay: the first, some of the middle, the last ones.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    weights: &'a [Weight],
    middle: Range<usize>,
    /// By place in the middle.
    tiers: &'a [Tier],
    stays: Vec<bool>,
    has_summary: bool,
}

/// Where the middle ends: from there on everything stays.
pub(super) fn recent(weights: &[Weight], window: usize) -> usize {
    let start = weights.len().saturating_sub(window).max(1);
    // The call of a tool stays with its result.
    let is_result = weights.get(start).is_some_and(|at| at.side == Side::Result);
    if is_result && start > 1 {
        start - 1
    } else {
        start
    }
}

// === impl Plan ===

impl<'a> Plan<'a> {
    /// Decides. `tiers` are those of the messages between the first and `recent`.
    pub(super) fn new(weights: &'a [Weight], recent: usize, tiers: &'a [Tier], goal: Goal) -> Self {
        let mut this = Self {
            weights,
            middle: 1..recent,
            tiers,
            stays: tiers.iter().map(|tier| *tier >= Tier::Important).collect(),
            has_summary: false,
        };
        this.fill_up(goal.min_important);
        this.keep_pairs();
        this.fit(goal);
        this
    }

    /// Whether the message at this place stays.
    pub(super) fn stays(&self, at: usize) -> bool {
        !self.middle.contains(&at) || self.stays[at - self.middle.start]
    }

    /// How many messages of the middle stay.
    pub(super) fn stay_in_the_middle(&self) -> usize {
        self.stays.iter().filter(|stays| **stays).count()
    }

    /// How many messages go.
    pub(super) fn go(&self) -> usize {
        self.stays.len() - self.stay_in_the_middle()
    }

    /// Whether a summary takes the place of those that go.
    pub(super) fn has_summary(&self) -> bool {
        self.has_summary
    }

    /// Where that summary goes: behind the first message, and what belongs to that.
    pub(super) fn summary_at(&self) -> usize {
        1 + usize::from(self.partner(0).is_some())
    }

    /// The other half of a pair.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        let side = |at: usize| self.weights.get(at).map(|weight| weight.side);
        match side(at)? {
            Side::Alone => None,
            Side::Call => Some(at + 1).filter(|next| side(*next) == Some(Side::Result)),
            Side::Result => at
                .checked_sub(1)
                .filter(|last| side(*last) == Some(Side::Call)),
        }
    }

    fn fill_up(&mut self, min_important: usize) {
        let missing = min_important.saturating_sub(self.stay_in_the_middle());
        let others = self.stays.iter_mut().zip(self.tiers);
        others
            .filter(|(stays, tier)| !**stays && **tier != Tier::Transient)
            .take(missing)
            .for_each(|(stays, _)| *stays = true);
    }

    fn keep_pairs(&mut self) {
        // A pair has two halves, so those that are added bring nobody along.
        let needed: Vec<_> = self
            .middle
            .clone()
            .filter(|at| !self.stays(*at))
            .filter(|at| self.partner(*at).is_some_and(|other| self.stays(other)))
            .collect();
        for at in needed {
            self.stays[at - self.middle.start] = true;
        }
    }

    /// Lets go of what matters least, oldest first, until the rest is short enough or is what
    /// has to stay.
    fn fit(&mut self, goal: Goal) {
        let staying = (0..self.weights.len()).filter(|at| self.stays(*at));
        let mut tokens: u64 = staying.map(|at| self.weights[at].tokens).sum();
        let has_summary = goal.wants_summary || tokens > goal.max_tokens;
        let mut summary = if has_summary { goal.summary_tokens } else { 0 };
        let mut has_gone = self.go() > 0;
        for tier in [
            Tier::Transient,
            Tier::Routine,
            Tier::Contextual,
            Tier::Important,
        ] {
            for at in self.middle.clone() {
                if has_gone {
                    // The first to go is what brings the summary.
                    tokens += mem::take(&mut summary);
                }
                if tokens <= goal.max_tokens {
                    break;
                }
                let saved = self.let_go(at, tier);
                has_gone |= saved > 0;
                tokens -= saved;
            }
        }
        self.has_summary = has_summary && has_gone;
    }

    /// Lets go of a message and its other half, if both may go and the more important half is
    /// of this tier: how many tokens that saves.
    fn let_go(&mut self, at: usize, tier: Tier) -> u64 {
        let first = self.middle.start;
        let partner = self.partner(at);
        let halves = [Some(at), partner].into_iter().flatten();
        let may_go = |at: usize| self.middle.contains(&at) && self.stays[at - first];
        if !halves.clone().all(may_go) {
            return 0;
        }
        let matters = halves.clone().map(|at| self.tiers[at - first]).max();
        if matters != Some(tier) {
            return 0;
        }
        let saved = halves.clone().map(|at| self.weights[at].tokens).sum();
        for at in halves {
            self.stays[at - first] = false;
        }
        saved
    }
}
