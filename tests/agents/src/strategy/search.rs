//! Calls of `search_schema`: the question, then the tables that the answer leads to.

use serde_json::json;

use super::words;
use crate::{
    conversation::{Conversation, MAX_CALLS},
    question::TableName,
};

const TOOL: &str = "search_schema";

/// The longest question that the tool takes, in characters.
const MAX_QUERY: usize = 200;

/// The smallest ceiling that the tool takes.
const LEAST_TOKENS: usize = 200;

/// Makes the calls for a question.
pub(super) async fn ask(conversation: &mut Conversation<'_>, question: &str) -> anyhow::Result<()> {
    let query: String = question.chars().take(MAX_QUERY).collect();
    let first = std::env::var("FIRST")
        .ok()
        .and_then(|f| f.parse().ok())
        .unwrap_or(2200);
    conversation
        .call(
            TOOL,
            &json!({"query": query, "level": "full", "max_tokens": first}),
        )
        .await?;
    let question = words::of(question);
    while conversation.calls < MAX_CALLS && conversation.left() >= LEAST_TOKENS {
        let next = next(conversation, &question);
        let share = if conversation.calls + 1 < MAX_CALLS {
            conversation.left() * 2 / 3
        } else {
            conversation.left()
        };
        let Some(next) = next.first() else {
            return Ok(());
        };
        let arguments = json!({"table": next.to_string(), "level": "full", "max_tokens": share.max(LEAST_TOKENS)});
        conversation.call(TOOL, &arguments).await?;
    }
    Ok(())
}

/// Returns the tables that the answers name and do not show, the best first: those that more of the
/// best tables refer to, and those whose names have words of the question.
fn next(conversation: &Conversation<'_>, question: &[String]) -> Vec<TableName> {
    let known = &conversation.known;
    let mut found: Vec<(usize, &TableName)> = Vec::new();
    for (place, (_, shown)) in known.tables.iter().enumerate() {
        for neighbour in &shown.neighbours {
            let is_shown = known
                .table(neighbour)
                .is_some_and(|shown| shown.columns.values().any(|line| !line.is_empty()));
            if is_shown {
                continue;
            }
            let score = 100 / (place + 1);
            match found.iter_mut().find(|(_, known)| *known == neighbour) {
                Some((sum, _)) => *sum += score,
                None => found.push((score, neighbour)),
            }
        }
    }
    for (score, table) in &mut found {
        *score += 100 * words::in_common(question, &table.name);
    }
    found.sort_by_key(|(score, _)| usize::MAX - score);
    found.into_iter().map(|(_, table)| table.clone()).collect()
}
