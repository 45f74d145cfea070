//! A chat before and after it is shortened.

#![expect(
    single_use_lifetimes,
    reason = "the derive of a schema repeats the lifetime of its type"
)]

use std::{borrow::Cow, collections::HashMap};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};

use utoipa::ToSchema;

use crate::compact::{
    classify::Tier,
    estimate::{ContentKind, Counter},
    message::{ChatMessage, Message, Role},
    plan::{self, PairRole, Plan, SelectionTarget, Weight},
    request::{Invalid, Rules},
    summary::{Summary, SummaryBuilder},
};

/// Messages of a chat.
///
/// A message is parsed again each time it is needed, because its parsed text takes more memory than
/// the values that are kept of it.
#[derive(Debug)]
pub(super) struct Chat<'a> {
    messages: &'a [&'a RawValue],
    weights: Vec<Weight>,
    /// Tokens of all messages, by the selected counter.
    total: u64,
}

/// A shortened chat as it is sent, and its statistics.
#[derive(Debug)]
pub(super) struct Compacted {
    pub(super) body: Bytes,
    pub(super) info: CompactionInfo,
}

/// Statistics of a shortened chat.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct CompactionInfo {
    pub(super) original_count: usize,
    /// Number of messages in the answer, the summary line included.
    pub(super) compacted_count: usize,
    pub(super) dropped_count: usize,
    /// Number of kept messages before the last ones, the first message included.
    pub(super) anchor_count: usize,
    pub(super) tokens_saved: u64,
    pub(super) compression_ratio: f64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CompactedChat<'a> {
    /// Kept messages in their order, and the summary line.
    #[schema(value_type = Vec<ChatMessage<'_>>)]
    messages: Vec<&'a RawValue>,
    /// Summary of the removed messages, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    summary: Option<Summary>,
    /// Number of tokens of the messages; by the generic counter if the chat was shortened.
    token_estimate: u64,
    compaction_info: CompactionInfo,
}

/// Data about the messages between the first and the last ones.
struct MiddleMessages {
    tiers: Vec<Tier>,
    notes: SummaryBuilder,
}

/// Maps calls to the names of their tools.
#[derive(Default)]
struct Calls<'a> {
    names: HashMap<Cow<'a, str>, Cow<'a, str>>,
    /// Names of the preceding message, for results without the id of their call.
    latest: Vec<Cow<'a, str>>,
}

// === impl Chat ===

impl<'a> Chat<'a> {
    /// Parses the messages.
    pub(super) fn read(messages: &'a [&'a RawValue], rules: &Rules) -> Result<Self, Invalid> {
        let mut this = Self {
            messages,
            weights: Vec::with_capacity(messages.len()),
            total: 0,
        };
        for at in 0..messages.len() {
            let message = this.message(at)?;
            let nature = ContentKind::of(&message.text);
            this.total += rules.counter.tokens(&message.text, nature);
            this.weights.push(Weight {
                tokens: Counter::Generic.tokens(&message.text, nature),
                side: match message.role {
                    Role::Assistant if !message.uses.is_empty() => PairRole::Call,
                    Role::User if !message.results.is_empty() => PairRole::Result,
                    _ => PairRole::Alone,
                },
            });
        }
        Ok(this)
    }

    /// Shortens the chat, unless it is short enough.
    pub(super) fn compact(&self, rules: &Rules) -> Result<Compacted, Invalid> {
        let is_small = self.messages.len() <= rules.recent_window.saturating_add(1);
        if is_small || self.total <= rules.max_tokens {
            return Ok(self.unchanged());
        }
        let recent = plan::recent(&self.weights, rules.recent_window);
        let MiddleMessages { tiers, notes } = self.middle(recent, rules)?;
        let goal = SelectionTarget {
            min_important: rules.min_important,
            max_tokens: rules.max_tokens,
            // Computed with the largest possible number in it.
            summary_tokens: tokens(&notes.description(tiers.len())),
            wants_summary: rules.wants_summary,
        };
        let plan = Plan::new(&self.weights, recent, &tiers, goal);
        Ok(self.compacted(&plan, notes))
    }

    fn message(&self, at: usize) -> Result<Message<'a>, Invalid> {
        Message::read(self.messages[at]).map_err(|reason| Invalid::message(at, reason))
    }

    fn middle(&self, recent: usize, rules: &Rules) -> Result<MiddleMessages, Invalid> {
        let mut calls = Calls::default();
        calls.note(self.message(0)?);
        let mut middle = MiddleMessages {
            tiers: Vec::with_capacity(recent),
            notes: SummaryBuilder::with_more(rules.is_enhanced),
        };
        for at in 1..recent {
            let message = self.message(at)?;
            let tools = calls.tools(&message);
            let tier = Tier::of(&message, &tools, rules.keep);
            middle.tiers.push(tier);
            middle.notes.take(&message);
            calls.note(message);
        }
        Ok(middle)
    }

    fn unchanged(&self) -> Compacted {
        let count = self.messages.len();
        let info = CompactionInfo {
            original_count: count,
            compacted_count: count,
            dropped_count: 0,
            anchor_count: 0,
            tokens_saved: 0,
            compression_ratio: 1.0,
        };
        Compacted::new(self.messages.to_vec(), None, self.total, info)
    }

    fn compacted(&self, plan: &Plan<'_>, notes: SummaryBuilder) -> Compacted {
        let gone = plan.go();
        let staying = || (0..self.messages.len()).filter(|at| plan.stays(*at));
        let mut messages: Vec<_> = staying().map(|at| self.messages[at]).collect();
        let mut estimate: u64 = staying().map(|at| self.weights[at].tokens).sum();
        let summary = (gone > 0).then(|| notes.summary(gone));
        let line = summary
            .as_ref()
            .filter(|_| plan.has_summary())
            .map(|summary| {
                estimate += tokens(&summary.description);
                to_raw_value(&json!({"role": "assistant", "content": summary.description}))
                    .expect("text is JSON")
            });
        if let Some(line) = &line {
            messages.insert(plan.summary_at(), line);
        }
        let info = CompactionInfo {
            original_count: self.messages.len(),
            compacted_count: messages.len(),
            dropped_count: gone,
            anchor_count: plan.stay_in_the_middle() + 1,
            tokens_saved: self.total.saturating_sub(estimate),
            compression_ratio: ratio(estimate, self.total),
        };
        Compacted::new(messages, summary, estimate, info)
    }
}

// === impl Compacted ===

impl Compacted {
    fn new(
        messages: Vec<&RawValue>,
        summary: Option<Summary>,
        token_estimate: u64,
        info: CompactionInfo,
    ) -> Self {
        let answer = CompactedChat {
            messages,
            summary,
            token_estimate,
            compaction_info: info,
        };
        let body = serde_json::to_vec(&answer).expect("text is JSON").into();
        Self { body, info }
    }
}

// === impl Calls ===

impl<'a> Calls<'a> {
    /// Returns the tools that a message calls or has results of.
    fn tools<'s>(&'s self, message: &'s Message<'a>) -> Vec<&'s str> {
        let called = message.uses.iter().map(|used| &*used.name);
        let known = message.results.iter().filter_map(|id| self.names.get(id));
        let mut tools: Vec<_> = called.chain(known.map(|name| &**name)).collect();
        if message
            .results
            .iter()
            .any(|id| !self.names.contains_key(id))
        {
            tools.extend(self.latest.iter().map(|name| &**name));
        }
        tools
    }

    fn note(&mut self, message: Message<'a>) {
        self.latest.clear();
        for used in message.uses {
            self.latest.push(used.name.clone());
            self.names.insert(used.id, used.name);
        }
    }
}

/// Returns the number of tokens of a generated message.
fn tokens(text: &str) -> u64 {
    Counter::Generic.tokens(text, ContentKind::of(text))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "they are far from where numbers lose their last digits"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
