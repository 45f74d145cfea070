//! Finds the question and the sources in a prompt.

use std::borrow::Cow;

use crate::{Block, Message, Prompt, Role};

/// Prefix of the markers before and after the retrieved documents; a number follows.
const BEGIN: &str = "BEGIN RAG-CONTEXT-";
const END: &str = "END RAG-CONTEXT-";

/// Prefix of a document's header. The header ends with the number of the markers: a line without it
/// is text of a document.
const DOCUMENT: &str = "--- Document ";

/// Prefix of the name of a document.
const NAME: &str = " (Source: ";

/// Beginning of the rule that has claims marked with the numbers of documents.
const CITATIONS: &str = "\n- Mark each claim with the number of the document";

/// Prefix of the question after the retrieved documents.
const QUESTION: &str = "Question: ";

/// A retrieved source.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source<'a> {
    /// Its name, or the number of the document; empty if neither is known.
    pub(super) name: &'a str,
    /// The number of the document; empty if it has none.
    pub(super) number: &'a str,
    pub(super) text: &'a str,
}

/// Returns the question: the last user message.
pub(super) fn question(prompt: &Prompt) -> Cow<'_, str> {
    let text = asked(prompt).map_or(Cow::Borrowed(""), |(_, message)| message.text());
    match FramedQuestion::read(&text) {
        Some(FramedQuestion { question, .. }) => Cow::Owned(question.to_owned()),
        None => text,
    }
}

/// Returns whether claims are to be marked with the numbers of documents.
pub(super) fn has_citations(prompt: &Prompt) -> bool {
    prompt.system.contains(CITATIONS)
}

/// Returns the sources: documents that came with the question, and later results of tools.
pub(super) fn sources(prompt: &Prompt) -> Vec<Source<'_>> {
    let Some((at, _)) = asked(prompt) else {
        return Vec::new();
    };
    let mut sources = Vec::new();
    for block in prompt.messages[at..].iter().flat_map(|said| &said.blocks) {
        match block {
            Block::Text { text, .. } => {
                sources.extend(
                    FramedQuestion::read(text)
                        .into_iter()
                        .flat_map(FramedQuestion::sources),
                );
            }
            Block::ToolResult { content, .. } => {
                sources.extend(content.iter().map(|text| Source {
                    name: "",
                    number: "",
                    text,
                }));
            }
            Block::ToolUse { .. } => {}
        }
    }
    sources
}

/// Returns the last message with text of the user, and its index.
fn asked(prompt: &Prompt) -> Option<(usize, &Message)> {
    let messages = prompt.messages.iter().enumerate();
    messages
        .rev()
        .find(|(_, message)| message.role == Role::User && !message.text().is_empty())
}

/// The header of a document.
#[derive(Clone, Copy)]
struct Header<'a> {
    /// The name of the document, else its title.
    name: &'a str,
    number: &'a str,
}

/// A question that comes with documents.
struct FramedQuestion<'a> {
    nonce: &'a str,
    documents: &'a str,
    question: &'a str,
}

// === impl FramedQuestion ===

impl<'a> FramedQuestion<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix(BEGIN)?;
        let (nonce, rest) = text.split_once('\n')?;
        let end = rest.find(&format!("{END}{nonce}"))?;
        let (documents, rest) = rest.split_at(end);
        Some(Self {
            nonce,
            documents,
            question: rest.split_once(QUESTION)?.1,
        })
    }

    fn sources(self) -> Vec<Source<'a>> {
        let Self {
            nonce, documents, ..
        } = self;
        let mut sources = Vec::new();
        let mut begun: Option<(Header<'_>, usize)> = None;
        let mut at = 0;
        for line in documents.split_inclusive('\n') {
            if let Some(header) = Header::read(line, nonce) {
                sources.extend(begun.map(|(header, from)| header.source(&documents[from..at])));
                begun = Some((header, at + line.len()));
            }
            at += line.len();
        }
        sources.extend(begun.map(|(header, from)| header.source(&documents[from..])));
        sources
    }
}

// === impl Header ===

impl<'a> Header<'a> {
    /// Reads the header of a document; `None` if the line is not a header.
    fn read(line: &'a str, nonce: &str) -> Option<Self> {
        let head = line.strip_prefix(DOCUMENT)?.strip_suffix('\n')?;
        let head = head.strip_suffix(nonce)?.strip_suffix(" --- ")?;
        let title = &line["--- ".len()..DOCUMENT.len() + head.len()];
        let name = title.split_once(NAME);
        let name = name.and_then(|(_, name)| name.strip_suffix(')'));
        Some(Self {
            name: name.unwrap_or(title),
            number: head.split(' ').next().unwrap_or_default(),
        })
    }

    fn source(self, text: &'a str) -> Source<'a> {
        let Self { name, number } = self;
        Source { name, number, text }
    }
}
