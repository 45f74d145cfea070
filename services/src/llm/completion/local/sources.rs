//! Where the question and the sources are in a prompt.

use std::borrow::Cow;

use crate::llm::{Block, Message, Prompt, Role};

/// What stands in front of retrieved documents, and behind them, followed by a number.
const BEGIN: &str = "BEGIN RAG-CONTEXT-";
const END: &str = "END RAG-CONTEXT-";

/// What stands in front of a document.
const DOCUMENT: &str = "--- Document ";

/// What stands in front of the name of a document that has one.
const NAME: &str = " (Source: ";

/// What stands in front of the question behind retrieved documents.
const QUESTION: &str = "Question: ";

/// Something that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source<'a> {
    /// What it is called, or which document it is; empty if there is no telling.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

/// What is asked: the last thing that was said to the model.
pub(super) fn question(prompt: &Prompt) -> Cow<'_, str> {
    let text = asked(prompt).map_or(Cow::Borrowed(""), |(_, message)| message.text());
    let Some((_, question)) = behind_documents(&text) else {
        return text;
    };
    Cow::Owned(question.to_owned())
}

/// What was found: documents that came with the question, and what tools have said since.
pub(super) fn sources(prompt: &Prompt) -> Vec<Source<'_>> {
    let Some((at, _)) = asked(prompt) else {
        return Vec::new();
    };
    let mut sources = Vec::new();
    for block in prompt.messages[at..].iter().flat_map(|said| &said.blocks) {
        match block {
            Block::Text { text, .. } => {
                if let Some((documents, _)) = behind_documents(text) {
                    sources.extend(split(documents));
                }
            }
            Block::ToolResult { content, .. } => {
                sources.extend(content.iter().map(|text| Source { name: "", text }));
            }
            Block::ToolUse { .. } => {}
        }
    }
    sources
}

/// The last message with words of the asking side, and where it is.
fn asked(prompt: &Prompt) -> Option<(usize, &Message)> {
    let messages = prompt.messages.iter().enumerate();
    messages
        .rev()
        .find(|(_, message)| message.role == Role::User && !message.text().is_empty())
}

/// The documents of a question that comes with some, and the question itself.
fn behind_documents(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(BEGIN)?;
    let (nonce, rest) = text.split_once('\n')?;
    let end = rest.find(&format!("{END}{nonce}"))?;
    let (documents, rest) = rest.split_at(end);
    let question = rest.split_once(QUESTION)?.1;
    Some((documents, question))
}

fn split(documents: &str) -> impl Iterator<Item = Source<'_>> {
    let mut starts: Vec<_> = documents
        .match_indices(DOCUMENT)
        .map(|(at, _)| at)
        .filter(|&at| at == 0 || documents[..at].ends_with('\n'))
        .collect();
    starts.push(documents.len());
    let pieces: Vec<_> = starts
        .windows(2)
        .map(|ends| &documents[ends[0]..ends[1]])
        .collect();
    pieces.into_iter().filter_map(|piece| {
        let (head, text) = piece.split_once('\n')?;
        let head = head.strip_prefix("--- ")?;
        let number = head.strip_suffix(" ---").unwrap_or(head);
        let name = number.split_once(NAME);
        let name = name.and_then(|(_, name)| name.strip_suffix(')'));
        let name = name.unwrap_or(number);
        Some(Source { name, text })
    })
}
