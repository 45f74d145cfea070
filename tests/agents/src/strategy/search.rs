//! Calls of `search_schema`: first the question, then the names of tables that the answers lead to.

use serde_json::json;

use super::words;
use crate::{
    conversation::{Conversation, MAX_CALLS, MAX_TOKENS},
    known::Shown,
    question::TableName,
};

const TOOL: &str = "search_schema";

/// The longest query that the tool takes, in characters.
const MAX_QUERY: usize = 200;

/// The smallest ceiling that the tool takes.
const LEAST_TOKENS: usize = 200;

/// The tables that a call asks for by name.
const NAMES: usize = 5;

/// Makes the calls for a question.
pub(super) async fn ask(conversation: &mut Conversation<'_>, question: &str) -> anyhow::Result<()> {
    let query: String = question.chars().take(MAX_QUERY).collect();
    // A little more than half, since most of the facts needed are in the first answer.
    let most = MAX_TOKENS * 11 / 20;
    let arguments = json!({"query": query, "level": "full", "max_tokens": most});
    conversation.call(TOOL, &arguments).await?;
    let question = words::of(question);
    while conversation.calls < MAX_CALLS && conversation.left() >= LEAST_TOKENS {
        let query = names(&next(conversation, &question));
        if query.is_empty() {
            return Ok(());
        }
        let is_last = conversation.calls + 1 == MAX_CALLS;
        let most = conversation.left() * if is_last { 5 } else { 3 } / 5;
        let arguments = json!({
            "query": query,
            "kinds": ["table", "view"],
            "level": "full",
            "max_tokens": most.max(LEAST_TOKENS),
        });
        conversation.call(TOOL, &arguments).await?;
    }
    Ok(())
}

/// Returns a query for the first of these tables.
fn names(tables: &[TableName]) -> String {
    let mut query = String::new();
    for table in tables.iter().take(NAMES) {
        if query.chars().count() + table.name.chars().count() < MAX_QUERY {
            query.extend([&table.name, " "]);
        }
    }
    query.trim_end().to_owned()
}

/// Returns the tables that the answers name and do not show, the best first: tables that are joined
/// with the best tables, or have words of the question in their names.
fn next(conversation: &Conversation<'_>, question: &[String]) -> Vec<TableName> {
    let known = &conversation.known;
    let is_shown = |shown: &Shown| shown.columns.values().any(|line| !line.is_empty());
    let mut found: Vec<(usize, &TableName)> = Vec::new();
    for (place, (_, shown)) in known.tables.iter().enumerate() {
        for neighbour in &shown.neighbours {
            if known.table(neighbour).is_some_and(is_shown) {
                continue;
            }
            let score = 100 / (place + 1);
            match found.iter_mut().find(|(_, other)| *other == neighbour) {
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
