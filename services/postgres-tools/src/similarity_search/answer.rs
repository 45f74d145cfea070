//! The text of the answer.

use std::fmt::Write as _;

use ziggurat_vector_search::{Metric, Neighbour};

use super::{
    arguments::{Format, Wanted},
    passages::Passage,
    target_table::TargetTable,
    weights::Part,
};

/// Limit on the characters of a passage in a summary.
const SNIPPET: usize = 100;

/// Limit on the characters of a question that is repeated.
const LONGEST_QUESTION: usize = 500;

const WIDTH: usize = 80;

/// A search and its context.
pub(super) struct Answer<'a> {
    /// The name of the database.
    pub(super) label: &'a str,
    pub(super) place: &'a TargetTable<'a>,
    pub(super) wanted: &'a Wanted,
    pub(super) parts: &'a [Part<'a>],
    /// Set if the vector of the question was made by the local embedder.
    pub(super) is_local: bool,
}

// === impl Answer ===

impl Answer<'_> {
    /// Writes the rows by their ids.
    pub(super) fn rows(&self, rows: &[Neighbour]) -> String {
        let mut text = self.opening(" (IDs Only)");
        line(
            &mut text,
            format_args!(
                "Found {} matching rows. Row IDs and distances:\n",
                rows.len()
            ),
        );
        for (rank, row) in (1..).zip(rows) {
            let id = row.id.clone().unwrap_or_else(|| format!("#{rank}"));
            let distance = match row.distance {
                Some(distance) => format!("{distance:.4}"),
                None => "unknown".to_owned(),
            };
            line(
                &mut text,
                format_args!("{rank}. ID: {id} | Distance: {distance}"),
            );
        }
        line(&mut text, format_args!("\n{}", "=".repeat(WIDTH)));
        line(&mut text, format_args!("Total: {} results", rows.len()));
        text.push_str("Ask again with output_format=\"full\" to read what the rows say.");
        text
    }

    /// Writes the passages, or a line for each.
    pub(super) fn passages(&self, passages: &[Passage]) -> String {
        match self.wanted.format {
            Format::Summary => self.summary(passages),
            Format::Full | Format::Ids => self.full(passages),
        }
    }

    /// Returns the passage, or its beginning for a summary.
    pub(super) fn shown(&self, passage: &Passage) -> String {
        match self.wanted.format {
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
        let mut text = self.opening("");
        self.configuration(&mut text);
        for (number, passage) in (1..).zip(passages) {
            line(
                &mut text,
                format_args!("Result {number}/{}", passages.len()),
            );
            line(
                &mut text,
                format_args!(
                    "Source: {} (vector search rank: #{}, chunk: {})",
                    self.source(passage),
                    passage.row + 1,
                    passage.index + 1,
                ),
            );
            line(
                &mut text,
                format_args!("Relevance Score: {:.3}", passage.score),
            );
            line(&mut text, format_args!("Tokens: ~{}\n", passage.tokens));
            line(&mut text, format_args!("{}\n", passage.text));
            line(&mut text, format_args!("{}\n", "-".repeat(WIDTH)));
        }
        let tokens: usize = passages.iter().map(|passage| passage.tokens).sum();
        line(&mut text, format_args!("{}", "=".repeat(WIDTH)));
        write!(text, "Total: {} chunks, ~{tokens} tokens", passages.len())
            .expect("a string takes everything");
        text
    }

    fn configuration(&self, text: &mut String) {
        let Wanted {
            rows,
            chunk_tokens,
            lambda,
            ..
        } = self.wanted;
        let overlap = self.wanted.chunker().overlap_tokens();
        line(text, format_args!("Configuration:"));
        line(text, format_args!("  - Vector Search: Top {rows} rows"));
        line(
            text,
            format_args!("  - Chunking: {chunk_tokens} tokens per chunk, {overlap} token overlap"),
        );
        line(
            text,
            format_args!(
                "  - Diversity: λ={lambda:.2} ({:.0}% relevance, {:.0}% diversity)",
                lambda * 100.0,
                (1.0 - lambda) * 100.0,
            ),
        );
        line(
            text,
            format_args!("  - Distance Metric: {}", metric(self.wanted.metric)),
        );
        line(text, format_args!("  - Column Weights:"));
        for part in self.parts {
            line(
                text,
                format_args!(
                    "      {} ({:.1}%) [{}]",
                    part.shown.name(),
                    part.weight * 100.0,
                    part.role.as_str(),
                ),
            );
        }
        if self.is_local {
            line(
                text,
                format_args!(
                    "  - Query Embedding: local, made of words and parts of words without a model"
                ),
            );
        }
        text.push('\n');
    }

    fn summary(&self, passages: &[Passage]) -> String {
        let mut text = self.opening(" (Summary)");
        line(
            &mut text,
            format_args!(
                "Found {} relevant chunks. Showing summaries:\n",
                passages.len()
            ),
        );
        for (number, passage) in (1..).zip(passages) {
            line(
                &mut text,
                format_args!(
                    "{number}. Score: {:.3} | Source: {} (rank #{})",
                    passage.score,
                    self.source(passage),
                    passage.row + 1,
                ),
            );
            line(&mut text, format_args!("   {}\n", snippet(&passage.text)));
        }
        line(&mut text, format_args!("{}", "=".repeat(WIDTH)));
        line(
            &mut text,
            format_args!("Total: {} results shown in summary mode", passages.len()),
        );
        text.push_str("Ask again with output_format=\"full\" to read the whole passages.");
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
        format!("Database: {}\nTable: {}\n\n", self.label, self.place.name())
    }

    fn question(&self) -> String {
        shortened(&self.wanted.question, LONGEST_QUESTION)
    }

    fn source(&self, passage: &Passage) -> String {
        let column = self.place.texts[passage.column].name();
        format!("{}.{column}", self.place.name())
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
    let words: Vec<_> = text.split_whitespace().take(SNIPPET).collect();
    shortened(&words.join(" "), SNIPPET)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes everything");
}
