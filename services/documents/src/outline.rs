//! Collects headings and the texts under them.

use std::mem;

use serde_json::{Map, Value};

use crate::document::{Block, Document, Section};

/// Maximum length of a heading; a longer one is text after a heading that was not closed.
const LONGEST_HEADING: usize = 300;

/// Maximum length of the headings of a section together, in bytes.
const LONGEST_PATH: usize = 1 << 10;

/// Maximum number of sections and of blocks. The rest of a document becomes text of the last ones.
/// Otherwise a text of many headings would take many times its size in memory.
const MAX_SECTIONS: usize = 10_000;
const MAX_BLOCKS: usize = 100_000;

/// Separator of headings.
const SEPARATOR: &str = " > ";

/// Builds a document.
#[derive(Debug, Default)]
pub(super) struct Outline {
    title: Option<String>,
    metadata: Map<String, Value>,
    has_top: bool,
    /// The current heading, and those above it, with their levels.
    path: Vec<(u8, String)>,
    /// The current block.
    text: String,
    is_whole: bool,
    blocks: Vec<Block>,
    /// Number of blocks of all sections.
    all_blocks: usize,
    sections: Vec<Section>,
}

// === impl Outline ===

impl Outline {
    /// Sets the title, unless there is one.
    pub(super) fn title(&mut self, title: &str) {
        let title = one_line(title);
        if self.title.is_none() && !title.is_empty() {
            self.title = Some(title);
        }
    }

    /// Sets the metadata.
    pub(super) fn metadata(&mut self, metadata: Map<String, Value>) {
        self.metadata = metadata;
    }

    /// Sets whether the text that follows is kept whole: a table or code.
    pub(super) fn set_whole(&mut self, is_whole: bool) {
        if self.is_whole != is_whole && self.all_blocks < MAX_BLOCKS {
            self.end_block();
            self.is_whole = is_whole;
        }
    }

    /// Returns whether the current text is kept whole.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Ends the current section and begins a new one.
    ///
    /// The first heading of the first level becomes the title if no title is set.
    pub(super) fn heading(&mut self, level: u8, heading: &str) {
        let heading = one_line(heading);
        if heading.len() > LONGEST_HEADING || self.sections.len() >= MAX_SECTIONS {
            self.text.push_str("\n\n");
            self.text.push_str(&heading);
            self.text.push_str("\n\n");
            return;
        }
        self.end_section();
        while self.path.last().is_some_and(|(above, _)| *above >= level) {
            self.path.pop();
        }
        if level == 1 && !self.has_top {
            self.has_top = true;
            self.title(&heading);
            if self.title.as_deref() == Some(&*heading) {
                return;
            }
        }
        if !heading.is_empty() {
            self.path.push((level, heading));
        }
    }

    /// Returns the text under the last heading, for appending.
    pub(super) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    pub(super) fn finish(mut self) -> Document {
        self.end_section();
        Document {
            title: self.title,
            metadata: self.metadata,
            sections: self.sections,
        }
    }

    fn end_block(&mut self) {
        let text = clean(&self.text);
        self.text.clear();
        if !text.is_empty() {
            self.all_blocks += 1;
            self.blocks.push(Block {
                text,
                is_whole: self.is_whole,
            });
        }
    }

    fn end_section(&mut self) {
        self.end_block();
        if self.blocks.is_empty() {
            return;
        }
        let mut blocks = mem::take(&mut self.blocks);
        blocks.shrink_to_fit();
        let heading = self.joined_path();
        self.sections.push(Section { heading, blocks });
    }

    /// Returns the current heading after as many of those above it as fit.
    fn joined_path(&self) -> Option<String> {
        let mut length = 0;
        let fits = |(_, heading): &&(u8, String)| {
            length += heading.len() + SEPARATOR.len();
            length <= LONGEST_PATH
        };
        let mut path: Vec<_> = self.path.iter().rev().take_while(fits).collect();
        path.reverse();
        let path: Vec<_> = path.into_iter().map(|(_, heading)| &**heading).collect();
        (!path.is_empty()).then(|| path.join(SEPARATOR))
    }
}

/// Removes control characters, white space at the ends of lines, and repeated empty lines.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut empty_lines = 0;
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        if !clean.is_empty() {
            clean.push_str(if empty_lines > 0 { "\n\n" } else { "\n" });
        }
        empty_lines = 0;
        clean.extend(line.chars().filter(|c| *c == '\t' || !c.is_control()));
    }
    clean
}

/// Joins a text into one line.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_the_headings_above_it() {
        let mut outline = Outline::default();
        outline.text().push_str("before");
        for (level, heading, text) in [
            (1, "Manual", "about"),
            (2, "Beds", ""),
            (4, "Soil", "loam"),
            (3, "Water", "rain"),
            (1, "Appendix", "more"),
            (2, "", "unnamed"),
        ] {
            outline.heading(level, heading);
            outline.text().push_str(text);
        }
        let document = outline.finish();
        assert_eq!(document.title.as_deref(), Some("Manual"));
        let sections: Vec<_> = document
            .sections
            .iter()
            .map(|section| (section.heading.as_deref(), section.text()))
            .collect();
        assert_eq!(
            sections,
            [
                (None, "before"),
                (None, "about"),
                (Some("Beds > Soil"), "loam"),
                (Some("Beds > Water"), "rain"),
                (Some("Appendix"), "more"),
                (Some("Appendix"), "unnamed"),
            ]
            .map(|(heading, text)| (heading, text.to_owned()))
        );
    }

    #[test]
    fn a_title_that_is_given_is_not_replaced() {
        let mut outline = Outline::default();
        outline.title(" The\n  Manual ");
        outline.heading(1, "Beds");
        outline.text().push_str("loam");
        let document = outline.finish();
        assert_eq!(document.title.as_deref(), Some("The Manual"));
        assert_eq!(document.sections[0].heading.as_deref(), Some("Beds"));
    }

    #[test]
    fn a_heading_that_never_ends_is_text() {
        let mut outline = Outline::default();
        outline.heading(2, &"word ".repeat(100));
        let document = outline.finish();
        assert_eq!(document.sections[0].heading, None);
        assert!(document.sections[0].text().starts_with("word word"));
    }

    #[test]
    fn the_headings_of_a_section_are_short_and_end_with_its_own() {
        let mut outline = Outline::default();
        for level in 2..=9 {
            outline.heading(level, &level.to_string().repeat(LONGEST_HEADING));
        }
        outline.text().push_str("text");
        let document = outline.finish();
        let heading = document.sections[0].heading.as_deref().expect("headings");
        assert!(heading.len() <= LONGEST_PATH, "{}", heading.len());
        assert!(heading.starts_with("777") && heading.ends_with("999"));
    }

    #[test]
    fn a_document_of_headings_and_blocks_has_few_of_them_and_loses_no_text() {
        let mut outline = Outline::default();
        for number in 0..=MAX_SECTIONS {
            outline.heading(2, "heading");
            for _ in 0..10 {
                outline.set_whole(number % 2 == 0);
                outline.text().push_str("code\n");
                outline.set_whole(number % 2 != 0);
                outline.text().push_str("text\n");
            }
        }
        let document = outline.finish();
        assert!(document.sections.len() <= MAX_SECTIONS + 1);
        let blocks = document.sections.iter().map(|one| one.blocks.len());
        assert!(blocks.sum::<usize>() <= MAX_BLOCKS + MAX_SECTIONS + 1);
        let texts = document.sections.iter().map(Section::text);
        let words: usize = texts.map(|text| text.split_whitespace().count()).sum();
        assert!(words >= 20 * (MAX_SECTIONS + 1), "{words}");
    }

    #[test]
    fn invisible_characters_are_removed() {
        let text = clean("\u{0}a \u{1b}[1m\n\n \n\n\tb\t\nc\n\n");
        assert_eq!(text, "a [1m\n\n\tb\nc");
    }
}
