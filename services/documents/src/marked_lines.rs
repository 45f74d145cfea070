//! Finds the headings of reStructuredText and AsciiDoc; the text stays unchanged, since it is
//! readable.

use crate::{document::Document, outline::Outline};

/// Minimum length of a line that delimits a block of AsciiDoc.
const DELIMITER: usize = 4;

/// Reads reStructuredText: a heading is underlined, and may have a line above, too. The order in
/// which the kinds of lines appear gives the levels.
pub(super) fn read_rst(text: &str) -> Document {
    let mut outline = Outline::default();
    let mut styles: Vec<(char, bool)> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    let mut is_code = false;
    while let Some(line) = lines.get(at) {
        let after = |count: usize| lines.get(at + count).copied().unwrap_or_default();
        let found = if ruled(line).is_some() && ruled(line) == ruled(after(2)) {
            underlined(after(1).trim_start(), line).map(|mark| ((mark, true), after(1), 3))
        } else {
            underlined(line, after(1)).map(|mark| ((mark, false), *line, 2))
        };
        if let Some((style, heading, length)) = found {
            let level = styles.iter().position(|known| *known == style);
            let level = level.unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            outline.set_whole(false);
            is_code = false;
            outline.heading(u8::try_from(level + 1).unwrap_or(u8::MAX), heading);
            at += length;
            continue;
        }
        let is_indented = line.starts_with([' ', '\t']);
        is_code &= is_indented || line.trim().is_empty();
        outline.set_whole(is_code && (is_indented || outline.is_whole()));
        push(&mut outline, line);
        // Indented lines after these are a literal block.
        is_code |= !is_indented && line.trim_end().ends_with("::");
        at += 1;
    }
    outline.finish()
}

/// Returns the mark of a heading with this line below.
fn underlined(heading: &str, below: &str) -> Option<char> {
    let mark = ruled(below)?;
    let length = heading.trim_end().chars().count();
    let is_heading = length > 0
        && !heading.starts_with([' ', '\t'])
        && below.trim_end().len() >= length
        && ruled(heading).is_none();
    is_heading.then_some(mark)
}

/// Returns the mark that a line consists of.
fn ruled(line: &str) -> Option<char> {
    let line = line.trim_end();
    let mark = line.chars().next()?;
    let is_rule = line.len() > 1 && mark.is_ascii_punctuation() && line.chars().all(|c| c == mark);
    is_rule.then_some(mark)
}

/// Reads AsciiDoc: a heading begins with `=`, blocks of code and tables stand between delimiters.
pub(super) fn read_asciidoc(text: &str) -> Document {
    let mut outline = Outline::default();
    let mut block: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(delimiter) = block {
            if delimiter != "////" {
                push(&mut outline, line);
            }
            if line == delimiter {
                block = None;
                outline.set_whole(false);
            }
            continue;
        }
        if is_delimiter(line) {
            block = Some(line);
            outline.set_whole(line != "////");
            if line != "////" {
                push(&mut outline, line);
            }
            continue;
        }
        if line.starts_with("//") {
            continue;
        }
        match heading(line) {
            Some((level, heading)) => outline.heading(level, heading),
            None => push(&mut outline, line),
        }
    }
    outline.finish()
}

/// Returns whether a line begins or ends a block of code, a table or a comment.
fn is_delimiter(line: &str) -> bool {
    let is_ruled = ["----", "....", "////"]
        .iter()
        .any(|start| line.starts_with(start) && ruled(line).is_some());
    is_ruled && line.len() >= DELIMITER || line == "|==="
}

/// Parses a heading of AsciiDoc: its level and text. The title of the document has level one.
fn heading(line: &str) -> Option<(u8, &str)> {
    let rest = line.trim_start_matches('=');
    let level = u8::try_from(line.len() - rest.len()).ok()?;
    let heading = rest.strip_prefix(' ')?.trim();
    ((1..=6).contains(&level) && !heading.is_empty()).then_some((level, heading))
}

fn push(outline: &mut Outline, line: &str) {
    let text = outline.text();
    text.push_str(line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sections(document: &Document) -> Vec<(Option<&str>, String)> {
        let sections = document.sections.iter();
        sections
            .map(|one| (one.heading.as_deref(), one.text()))
            .collect()
    }

    #[test]
    fn headings_of_restructuredtext_are_found_by_their_lines() {
        let text = "======\nManual\n======\n\nIntro.\n\nBeds\n----\n\nSoil::\n\n   loam = 1\n\n   \
                    sand = 2\n\nDone.\n\nSand\n~~~~\nfine\n\nPond\n----\nmud\n\n----\n\n- a\n-----\n";
        let document = read_rst(text);
        assert_eq!(document.title.as_deref(), Some("Manual"));
        let found = sections(&document);
        assert_eq!(found[0], (None, "Intro.".to_owned()));
        assert_eq!(found[1].0, Some("Beds"));
        assert_eq!(found[2], (Some("Beds > Sand"), "fine".to_owned()));
        assert_eq!(found[3].0, Some("Pond"));
        let blocks = &document.sections[1].blocks;
        let whole: Vec<_> = blocks.iter().filter(|block| block.is_whole).collect();
        assert_eq!(whole.len(), 1, "{blocks:?}");
        assert!(whole[0].text.contains("loam = 1") && whole[0].text.contains("sand = 2"));
    }

    #[test]
    fn headings_of_asciidoc_begin_with_marks_and_code_has_none() {
        let text = "= Manual\n:toc:\n\nIntro.\n\n== Beds\n// hidden\n----\n== not one\n----\n\n\
                    |===\n|a |b\n|===\n////\nhidden\n////\n=== Soil\nloam\n==nothing\n";
        let document = read_asciidoc(text);
        assert_eq!(document.title.as_deref(), Some("Manual"));
        let found = sections(&document);
        assert_eq!(found[0], (None, ":toc:\n\nIntro.".to_owned()));
        assert_eq!(
            found[1],
            (
                Some("Beds"),
                "----\n== not one\n----\n\n|===\n|a |b\n|===".to_owned()
            )
        );
        assert_eq!(
            found[2],
            (Some("Beds > Soil"), "loam\n==nothing".to_owned())
        );
        assert!(document.sections[1].blocks.iter().all(|one| one.is_whole));
    }

    proptest! {
        #[test]
        fn every_text_is_read_without_a_panic(text in "[=~:.|/ \na-zü-]{0,200}") {
            read_rst(&text);
            read_asciidoc(&text);
        }
    }
}
