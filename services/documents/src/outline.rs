//! Collects headings and the texts under them.

use std::mem;

use serde_json::{Map, Value};

use super::document::{Block, Document, Section};

/// Maximum length of a heading; a longer one is text after a heading that was not closed.
const LONGEST_HEADING: usize = 300;

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
        if self.is_whole != is_whole {
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
    /// The first heading of the first level is the title, if there is none yet.
    pub(super) fn heading(&mut self, level: u8, heading: &str) {
        let heading = one_line(heading);
        if heading.len() > LONGEST_HEADING {
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
        let path: Vec<_> = self.path.iter().map(|(_, heading)| &**heading).collect();
        self.sections.push(Section {
            heading: (!path.is_empty()).then(|| path.join(" > ")),
            blocks: mem::take(&mut self.blocks),
        });
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
    fn invisible_characters_are_removed() {
        let text = clean("\u{0}a \u{1b}[1m\n\n \n\n\tb\t\nc\n\n");
        assert_eq!(text, "a [1m\n\n\tb\nc");
    }
}
