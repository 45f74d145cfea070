//! Selects the messages that stay.

use std::{mem, ops::Range};

use crate::compact::classify::Tier;

/// Data of a message for the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    pub(super) tokens: u64,
    pub(super) side: PairRole,
}

/// Role of a message in a pair of a tool call and its result, which stay or go as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairRole {
    Alone,
    Call,
    Result,
}

/// Target of the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SelectionTarget {
    /// Minimum number of messages in the middle, even if few are important.
    pub(super) min_important: usize,
    /// Limit on tokens.
    pub(super) max_tokens: u64,
    /// Tokens of the summary line.
    pub(super) summary_tokens: u64,
    /// Is true if a summary is wanted even when the other messages fit.
    pub(super) wants_summary: bool,
}

/// The messages that stay: the first, some of the middle, the last ones.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    weights: &'a [Weight],
    middle: Range<usize>,
    /// By position in the middle.
    tiers: &'a [Tier],
    stays: Vec<bool>,
    has_summary: bool,
}

/// Returns the end of the middle: all messages from there on stay.
pub(super) fn recent(weights: &[Weight], window: usize) -> usize {
    let start = weights.len().saturating_sub(window).max(1);
    // A tool call stays with its result.
    let is_result = weights
        .get(start)
        .is_some_and(|at| at.side == PairRole::Result);
    if is_result && start > 1 {
        start - 1
    } else {
        start
    }
}

// === impl Plan ===

impl<'a> Plan<'a> {
    /// Selects the messages. `tiers` has one tier for each message between the first and `recent`.
    pub(super) fn new(
        weights: &'a [Weight],
        recent: usize,
        tiers: &'a [Tier],
        goal: SelectionTarget,
    ) -> Self {
        let mut this = Self {
            weights,
            middle: 1..recent,
            tiers,
            stays: tiers.iter().map(|tier| *tier >= Tier::Important).collect(),
            has_summary: false,
        };
        this.fill_up(goal.min_important);
        this.keep_pairs();
        this.has_summary = goal.wants_summary || this.tokens() > goal.max_tokens;
        this.keep_contextual();
        this.fit(goal);
        this
    }

    /// Returns whether the message at this position stays.
    pub(super) fn stays(&self, at: usize) -> bool {
        !self.middle.contains(&at) || self.stays[at - self.middle.start]
    }

    /// Returns the number of messages of the middle that stay.
    pub(super) fn stay_in_the_middle(&self) -> usize {
        self.stays.iter().filter(|stays| **stays).count()
    }

    /// Returns the number of messages that are removed.
    pub(super) fn go(&self) -> usize {
        self.stays.len() - self.stay_in_the_middle()
    }

    fn tokens(&self) -> u64 {
        let staying = (0..self.weights.len()).filter(|at| self.stays(*at));
        staying.map(|at| self.weights[at].tokens).sum()
    }

    /// Returns whether a summary replaces the removed messages.
    pub(super) fn has_summary(&self) -> bool {
        self.has_summary
    }

    /// Returns the position of the summary: after the first message and its partner.
    pub(super) fn summary_at(&self) -> usize {
        1 + usize::from(self.partner(0).is_some())
    }

    /// Returns the position of the other message of a pair.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        let side = |at: usize| self.weights.get(at).map(|weight| weight.side);
        match side(at)? {
            PairRole::Alone => None,
            PairRole::Call => Some(at + 1).filter(|next| side(*next) == Some(PairRole::Result)),
            PairRole::Result => at
                .checked_sub(1)
                .filter(|last| side(*last) == Some(PairRole::Call)),
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

    /// Keeps contextual messages, of which the latest stay while there is space.
    fn keep_contextual(&mut self) {
        for (stays, tier) in self.stays.iter_mut().zip(self.tiers) {
            *stays |= *tier == Tier::Contextual;
        }
        self.keep_pairs();
    }

    fn keep_pairs(&mut self) {
        // A pair has two messages, so the added ones need no further messages.
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

    /// Removes the least important messages, oldest first, until the chat fits or only messages
    /// that must stay are left.
    fn fit(&mut self, goal: SelectionTarget) {
        let mut tokens = self.tokens();
        let mut summary = goal.summary_tokens * u64::from(self.has_summary);
        let mut has_gone = self.go() > 0;
        for tier in [
            Tier::Transient,
            Tier::Routine,
            Tier::Contextual,
            Tier::Important,
        ] {
            for at in self.middle.clone() {
                if has_gone {
                    // The first removed message adds the summary.
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
        self.has_summary &= has_gone;
    }

    /// Removes a message and its partner, if both may go and the more important one is of this
    /// tier. Returns the number of saved tokens.
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
