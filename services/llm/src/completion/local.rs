//! Replies without a model: the sentences of the sources that share the most words with the
//! question.

mod sources;
#[cfg(test)]
mod tests;

use ziggurat_search::{
    bm25::{Bm25, Question},
    sentences::{in_one_line, sentences},
    tokens::terms,
};

use self::sources::{Source, has_citations, question, sources};
use crate::{Chunk, Prompt, Stop, Usage};

pub(super) use crate::local::NAME;

/// Name in place of the name of a model.
pub(super) const MODEL: &str = "extractive";

/// Maximum number of quoted sentences.
const QUOTES: usize = 3;

/// Maximum length of a quoted sentence, in bytes.
const LONGEST: usize = 600;

const NO_SOURCES: &str = "[local] No language model is configured. I can only quote what was found \
    for a question, and nothing was.";

const NO_MATCH: &str = "[local] No language model is configured, and no sentence of what was \
    found shares a word with the question.";

const BEGINNING: &str = " It begins like this:\n";

const QUOTED: &str = "[local] No language model is configured. These sentences of what was found \
    share most with the question:\n";

struct Sentence<'a> {
    text: &'a str,
    source: &'a Source<'a>,
}

/// Answers a prompt, with one chunk per part of the reply.
pub(super) fn answer(prompt: &Prompt) -> Vec<Chunk> {
    let sources = sources(prompt);
    let mut texts = quote(&question(prompt), &sources, has_citations(prompt));
    if texts.is_empty() {
        texts.push(NO_SOURCES.to_owned());
    }
    let end = Chunk::End {
        stop: Stop::EndTurn,
        usage: Usage::default(),
    };
    texts.into_iter().map(Chunk::Text).chain([end]).collect()
}

fn quote(question: &str, sources: &[Source<'_>], has_citations: bool) -> Vec<String> {
    let question = Question::new(terms(question));
    let sentences: Vec<_> = sources
        .iter()
        .flat_map(|source| split(source.text).map(move |text| Sentence { text, source }))
        .collect();
    let Some(first) = sentences.first() else {
        return Vec::new();
    };
    let counts: Vec<_> = sentences
        .iter()
        .map(|sentence| question.count_terms(terms(sentence.text)))
        .collect();
    let scores = Bm25::PASSAGES.scores(&counts);
    let mut ranked: Vec<_> = sentences.iter().zip(scores).collect();
    ranked.retain(|(_, score)| *score > 0.0);
    if ranked.is_empty() {
        // A search always finds some documents; a tool was called for this question.
        let is_document = !first.source.name.is_empty();
        let beginning = (!is_document).then(|| BEGINNING.to_owned() + &first.quoted(false));
        return [NO_MATCH.to_owned()].into_iter().chain(beginning).collect();
    }
    // A stable sort: of equal scores, the first source comes first.
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    ranked.truncate(QUOTES);
    let quotes = ranked
        .into_iter()
        .map(|(sentence, _)| sentence.quoted(has_citations));
    std::iter::once(QUOTED.to_owned()).chain(quotes).collect()
}

// === impl Sentence ===

impl Sentence<'_> {
    fn quoted(&self, has_citations: bool) -> String {
        let sentence = in_one_line(self.text);
        let text = &sentence[..sentence.floor_char_boundary(LONGEST)];
        let is_cut = text.len() < sentence.len();
        let rest = if is_cut { "…" } else { "" };
        let Source { name, number, .. } = self.source;
        let name = if name.is_empty() {
            String::new()
        } else {
            format!(" ({name})")
        };
        let mark = if has_citations && !number.is_empty() {
            format!(" [{number}]")
        } else {
            String::new()
        };
        format!("\n> {text}{rest}{mark}{name}\n")
    }
}

/// Returns the sentences of a text, without a heading before the text.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let (first, rest) = text.split_once("\n\n").unwrap_or_default();
    let is_heading = !rest.trim().is_empty()
        && !first.contains('\n')
        && !first
            .trim_end()
            .ends_with(['.', '!', '?', ':', '。', '！', '？']);
    let text = if is_heading { rest } else { text };
    sentences(text).filter(|sentence| !is_heading_of_markdown(sentence))
}

/// Returns whether a line is a heading with `#` marks.
fn is_heading_of_markdown(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && rest.starts_with(' ')
}
