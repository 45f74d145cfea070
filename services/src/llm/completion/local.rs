//! Answers without a model: the sentences of the sources that share most words with the question.

mod sources;
#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::HashSet};

use self::sources::{Source, question, sources};
use crate::llm::{Chunk, Prompt, Stop, Usage};

pub(super) use crate::llm::local::NAME;

/// What it is called where others have the name of a model.
pub(super) const MODEL: &str = "extractive";

/// How many sentences are quoted.
const QUOTES: usize = 3;

/// How much is quoted of one sentence, in bytes.
const LONGEST: usize = 600;

const NOTHING: &str = "[local] No language model is configured. I can only quote what was found \
    for a question, and nothing was.";

const NO_MATCH: &str = "[local] No language model is configured, and no sentence of what was \
    found shares a word with the question. It begins like this:\n";

const QUOTED: &str = "[local] No language model is configured. These sentences of what was found \
    share most with the question:\n";

struct Sentence<'a> {
    text: &'a str,
    source: &'a Source<'a>,
    shared: usize,
}

/// Answers a prompt: a chunk for each thing it says.
pub(super) fn answer(prompt: &Prompt) -> Vec<Chunk> {
    let sources = sources(prompt);
    let mut texts = quote(&question(prompt), &sources);
    if texts.is_empty() {
        texts.push(NOTHING.to_owned());
    }
    let end = Chunk::End {
        stop: Stop::EndTurn,
        usage: Usage::default(),
    };
    texts.into_iter().map(Chunk::Text).chain([end]).collect()
}

fn quote(question: &str, sources: &[Source<'_>]) -> Vec<String> {
    let wanted = words(question);
    let mut sentences: Vec<_> = sources
        .iter()
        .flat_map(|source| split(source.text).map(move |text| (source, text)))
        .map(|(source, text)| Sentence {
            text,
            source,
            shared: words(text).intersection(&wanted).count(),
        })
        .collect();
    let Some(first) = sentences.first() else {
        return Vec::new();
    };
    if sentences.iter().all(|sentence| sentence.shared == 0) {
        return vec![NO_MATCH.to_owned(), first.quoted()];
    }
    sentences.retain(|sentence| sentence.shared > 0);
    // Of equals the one that was found first.
    sentences.sort_by_key(|sentence| Reverse(sentence.shared));
    sentences.truncate(QUOTES);
    let quotes = sentences.iter().map(Sentence::quoted);
    std::iter::once(QUOTED.to_owned()).chain(quotes).collect()
}

// === impl Sentence ===

impl Sentence<'_> {
    fn quoted(&self) -> String {
        let text = &self.text[..self.text.floor_char_boundary(LONGEST)];
        let rest = if text.len() < self.text.len() {
            "…"
        } else {
            ""
        };
        let name = self.source.name;
        if name.is_empty() {
            format!("\n> {text}{rest}\n")
        } else {
            format!("\n> {text}{rest} ({name})\n")
        }
    }
}

/// Sentences, or lines where there are none.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split_inclusive(". "))
        .flat_map(|piece| piece.split_inclusive("? "))
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

/// Words of three letters or more, and numbers.
fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().nth(2).is_some() || word.contains(char::is_numeric))
        .map(str::to_lowercase)
        .collect()
}
