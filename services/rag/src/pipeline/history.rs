//! Earlier messages of a conversation, as far as they fit into the token budget.

use ziggurat_llm::{Block, Message};
use ziggurat_search::budget;

/// Removes the oldest messages until the rest fits into half of the budget, in tokens. Returns what
/// the rest leaves of the budget.
///
/// The other half is for documents: without them there is no answer.
pub(super) fn fit(history: &mut Vec<Message>, token_budget: usize) -> usize {
    let newest_first = history.iter().rev();
    let costs: Vec<_> = newest_first.map(cost).collect();
    let kept = budget::fitting(costs.iter().copied(), token_budget / 2);
    let first = history.len() - kept;
    history.drain(..first);
    token_budget - costs[..kept].iter().sum::<usize>()
}

fn cost(message: &Message) -> usize {
    let texts = message.blocks.iter().map(|block| match block {
        Block::Text { text, .. } => budget::of_bytes(text),
        _ => 0,
    });
    texts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(lengths: &[usize], token_budget: usize) -> (Vec<usize>, usize) {
        let messages = lengths
            .iter()
            .map(|length| Message::user("x".repeat(*length)));
        let mut history: Vec<_> = messages.collect();
        let left = fit(&mut history, token_budget);
        let lengths = history.iter().map(|message| 4 * cost(message));
        (lengths.collect(), left)
    }

    #[test]
    fn the_oldest_messages_are_left_out_and_documents_keep_half_of_the_budget() {
        for (lengths, budget, expected) in [
            (&[][..], 100, (vec![], 100)),
            (&[40, 80], 100, (vec![40, 80], 70)),
            (&[40, 80, 160], 100, (vec![160], 60)),
            (&[40, 400], 100, (vec![], 100)),
            (&[4], 0, (vec![], 0)),
        ] {
            assert_eq!(kept(lengths, budget), expected, "{lengths:?}");
        }
    }
}
