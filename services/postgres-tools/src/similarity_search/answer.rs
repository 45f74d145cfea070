//! The text of the answer.

use std::fmt::Write as _;

use ziggurat_vector_search::{Metric, Neighbour};

use ziggurat_answers::CallFormat;

use crate::similarity_search::{
    arguments::{Format, SearchCall},
    passages::Passage,
    target_table::TargetTable,
    weights::Part,
};

/// Limit on the characters of a passage in a summary.
const SNIPPET_LENGTH: usize = 100;

/// Limit on the characters of a question that is repeated.
const LONGEST_QUESTION: usize = 500;

const WIDTH: usize = 80;

/// A search and its context.
pub(super) struct Answer<'a> {
    /// The name of the database.
    pub(super) label: &'a str,
    /// The line that names the database.
    pub(super) heading: &'a str,
    pub(super) format: CallFormat,
    pub(super) place: &'a TargetTable<'a>,
    pub(super) search_call: &'a SearchCall,
    pub(super) parts: &'a [Part<'a>],
    /// Set if the vector of the question was made by the local embedder.
    pub(super) is_local: bool,
    /// Set if the text names the rows of passages, for a client that negotiates a revision.
    pub(super) shows_ids: bool,
}

// === impl Answer ===

impl Answer<'_> {
    /// Writes the rows by their ids.
    pub(super) fn rows(&self, rows: &[Neighbour]) -> String {
        let (mut text, count) = (self.opening(" (IDs Only)"), rows.len());
        add(
            &mut text,
            format_args!("Found {count} matching rows. Row IDs and distances:\n\n"),
        );
        for (rank, row) in (1..).zip(rows) {
            let id = row.id.clone().unwrap_or_else(|| format!("#{rank}"));
            let distance = match row.distance {
                Some(distance) => format!("{distance:.4}"),
                None => "unknown".to_owned(),
            };
            add(
                &mut text,
                format_args!("{rank}. ID: {id} | Distance: {distance}\n"),
            );
        }
        add(
            &mut text,
            format_args!(
                "\n{:=<WIDTH$}\nTotal: {count} results\n\
                 Ask again with output_format=\"full\" to read what the rows say.",
                ""
            ),
        );
        text
    }

    /// Writes the passages, or a line for each.
    pub(super) fn passages(&self, passages: &[Passage]) -> String {
        match self.search_call.format {
            Format::Summary => self.summary(passages),
            Format::Full | Format::Ids => self.full(passages),
        }
    }

    /// Returns the passage, or its beginning for a summary.
    pub(super) fn shown(&self, passage: &Passage) -> String {
        match self.search_call.format {
            Format::Summary => snippet(&passage.text),
            Format::Full | Format::Ids => passage.text.clone(),
        }
    }

    /// Writes that no row has a vector to compare with.
    pub(super) fn nothing(&self) -> String {
        format!(
            "{}No results found for query: \"{}\"\n\nTable '{}' has no row with a vector in {}.",
            self.header(),
            self.question(),
            self.place.name(),
            self.vectors(),
        )
    }

    /// Writes that rows were found, but none of their passages fits.
    pub(super) fn nothing_fits(&self, rows: usize) -> String {
        format!(
            "{}Search completed successfully, but no chunks fit within the token budget.\n\n\
             {rows} rows were found. A higher max_output_tokens or a smaller chunk_size_tokens \
             makes room for their texts; output_format=\"ids_only\" shows which rows they are.",
            self.header()
        )
    }

    fn full(&self, passages: &[Passage]) -> String {
        let (mut text, count) = (self.opening(""), passages.len());
        self.configuration(&mut text);
        for (number, passage) in (1..).zip(passages) {
            let (source, rank) = (self.source(passage), passage.row + 1);
            let (chunk, score) = (passage.index + 1, passage.score);
            let (tokens, id) = (passage.tokens, self.id(passage));
            let body = self.format.fenced(&passage.text);
            add(
                &mut text,
                format_args!(
                    "Result {number}/{count}\n\
                     Source: {source} ({id}vector search rank: #{rank}, chunk: {chunk})\n\
                     Relevance Score: {score:.3}\nTokens: ~{tokens}\n\n{body}\n\n{:-<WIDTH$}\n\n",
                    ""
                ),
            );
        }
        let tokens: usize = passages.iter().map(|passage| passage.tokens).sum();
        add(
            &mut text,
            format_args!("{:=<WIDTH$}\nTotal: {count} chunks, ~{tokens} tokens", ""),
        );
        text
    }

    fn configuration(&self, text: &mut String) {
        let SearchCall {
            rows,
            chunk_tokens,
            lambda,
            ..
        } = self.search_call;
        let overlap = self.search_call.chunker().overlap_tokens();
        let (relevance, diversity) = (lambda * 100.0, (1.0 - lambda) * 100.0);
        let metric = metric(self.search_call.metric);
        add(
            text,
            format_args!(
                "Configuration:\n  - Vector Search: Top {rows} rows\n  \
                 - Chunking: {chunk_tokens} tokens per chunk, {overlap} token overlap\n  \
                 - Diversity: λ={lambda:.2} ({relevance:.0}% relevance, {diversity:.0}% diversity)\n  \
                 - Distance Metric: {metric}\n  - Column Weights:\n"
            ),
        );
        for part in self.parts {
            let (name, percent) = (part.shown.name(), part.weight * 100.0);
            let role = part.role.as_str();
            add(
                text,
                format_args!("      {name} ({percent:.1}%) [{role}]\n"),
            );
        }
        if self.is_local {
            text.push_str(
                "  - Query Embedding: local, made of words and parts of words without a model\n",
            );
        }
        text.push('\n');
    }

    fn summary(&self, passages: &[Passage]) -> String {
        let (mut text, count) = (self.opening(" (Summary)"), passages.len());
        add(
            &mut text,
            format_args!("Found {count} relevant chunks. Showing summaries:\n\n"),
        );
        for (number, passage) in (1..).zip(passages) {
            let (score, rank) = (passage.score, passage.row + 1);
            let (source, id) = (self.source(passage), self.id(passage));
            let snippet = self.format.fenced(&snippet(&passage.text));
            add(
                &mut text,
                format_args!(
                    "{number}. Score: {score:.3} | Source: {source} ({id}rank #{rank})\n   {snippet}\n\n"
                ),
            );
        }
        add(
            &mut text,
            format_args!(
                "{:=<WIDTH$}\nTotal: {count} results shown in summary mode\n\
                 Ask again with output_format=\"full\" to read the whole passages.",
                ""
            ),
        );
        text
    }

    fn opening(&self, mode: &str) -> String {
        format!(
            "{}Similarity Search Results{mode}: \"{}\"\n{}\n\n",
            self.header(),
            self.question(),
            "=".repeat(WIDTH),
        )
    }

    fn header(&self) -> String {
        format!("{}\nTable: {}\n\n", self.heading, self.place.name())
    }

    fn question(&self) -> String {
        shortened(&self.search_call.question, LONGEST_QUESTION)
    }

    fn source(&self, passage: &Passage) -> String {
        let column = self.place.texts[passage.column].name();
        format!("{}.{column}", self.place.name())
    }

    /// Returns the id of the row, if it is to be shown, on one line.
    fn id(&self, passage: &Passage) -> String {
        let id = passage.id.as_deref().filter(|_| self.shows_ids);
        let words: Vec<_> = id.unwrap_or_default().split_whitespace().collect();
        if words.is_empty() {
            String::new()
        } else {
            format!("id: {}, ", words.join(" "))
        }
    }

    fn vectors(&self) -> String {
        let names: Vec<_> = self.parts.iter().map(|part| part.vector.name()).collect();
        names.join(" or ")
    }
}

fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::Cosine => "cosine",
        Metric::Euclidean => "l2",
        Metric::InnerProduct => "inner_product",
    }
}

/// Returns the beginning of a passage on one line.
fn snippet(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().take(SNIPPET_LENGTH).collect();
    shortened(&words.join(" "), SNIPPET_LENGTH)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a string takes everything");
}
