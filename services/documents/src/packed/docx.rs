//! Extracts the text of DOCX files: archives of XML.

use std::{
    collections::HashMap,
    io::{Cursor, Read as _},
};

use quick_xml::{
    Reader,
    events::{BytesRef, BytesStart, Event},
};
use zip::{ZipArchive, result::ZipError};

use crate::{
    Document,
    outline::Outline,
    packed::{MAX_PART, UnpackError},
};

/// Maximum depth of elements; a deeper tree is no text.
const MAX_DEPTH: usize = 256;

type Archive = ZipArchive<Cursor<Vec<u8>>>;

/// Levels of headings, by the ids of their styles.
type Styles = HashMap<String, u8>;

/// State of the extraction.
#[derive(Default)]
struct Extraction {
    outline: Outline,
    styles: Styles,
    /// The open paragraphs; one in a text box is within another.
    paragraphs: Vec<WordParagraph>,
    /// Nesting depth of tables.
    tables: usize,
    /// True if the position is in the text of a paragraph.
    in_text: bool,
    /// Nesting depth of elements that repeat earlier content.
    hidden: usize,
    /// True if the current row has a cell.
    has_cell: bool,
}

#[derive(Default)]
struct WordParagraph {
    text: String,
    level: Option<u8>,
    is_item: bool,
}

pub(super) fn read(bytes: Vec<u8>) -> Result<Document, UnpackError> {
    let mut archive =
        ZipArchive::new(Cursor::new(bytes)).map_err(|error| UnpackError::invalid(&error))?;
    let Some(xml) = part(&mut archive, "word/document.xml")? else {
        return Err(UnpackError::Invalid("it has no text of Word".to_owned()));
    };
    let styles = match part(&mut archive, "word/styles.xml")? {
        Some(xml) => styles(&xml)?,
        None => Styles::new(),
    };
    let mut extraction = Extraction {
        styles,
        ..Extraction::default()
    };
    each(&xml, |event| extraction.event(event))?;
    let mut outline = extraction.outline;
    if let Some(xml) = part(&mut archive, "docProps/core.xml")? {
        // Only if no heading is the title: programs write their own name here.
        outline.title(&title(&xml)?);
    }
    Ok(outline.finish())
}

/// Reads a part of the archive, if there is one.
fn part(archive: &mut Archive, name: &str) -> Result<Option<String>, UnpackError> {
    let file = match archive.by_name(name) {
        Ok(file) => file,
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(UnpackError::invalid(&error)),
    };
    let mut bytes = Vec::new();
    let limit = MAX_PART as u64 + 1;
    // The size in the archive need not be true.
    let read = file.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| UnpackError::invalid(&error))?;
    if bytes.len() > MAX_PART {
        return Err(UnpackError::TooLarge);
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| UnpackError::Invalid(format!("{name} is not UTF-8")))?;
    Ok(Some(text))
}

/// Calls a function with each event of a part.
fn each(xml: &str, mut event: impl FnMut(&Event<'_>)) -> Result<(), UnpackError> {
    let mut reader = Reader::from_str(xml);
    let mut depth = 0_usize;
    loop {
        let next = reader
            .read_event()
            .map_err(|error| UnpackError::invalid(&error))?;
        match next {
            Event::Eof => return Ok(()),
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let text = format!("its elements are more than {MAX_DEPTH} deep");
            return Err(UnpackError::Invalid(text));
        }
        event(&next);
    }
}

/// Reads the styles of headings, with their levels.
fn styles(xml: &str) -> Result<Styles, UnpackError> {
    let mut styles = Styles::new();
    let mut current = None;
    each(xml, |event| {
        let (Event::Start(tag) | Event::Empty(tag)) = event else {
            return;
        };
        match tag.name().0 {
            "w:style" => current = attribute(tag, "w:styleId"),
            "w:name" => {
                let name = attribute(tag, "w:val").unwrap_or_default();
                let level = level_of_name(&name.to_ascii_lowercase());
                if let (Some(style), Some(level)) = (&current, level) {
                    styles.insert(style.clone(), level);
                }
            }
            "w:outlineLvl" => {
                if let (Some(style), Some(level)) = (&current, outline_level(tag)) {
                    styles.entry(style.clone()).or_insert(level);
                }
            }
            _ => {}
        }
    })?;
    Ok(styles)
}

/// Returns the level of a style with a name that is the same in all languages.
fn level_of_name(name: &str) -> Option<u8> {
    if name == "title" {
        return Some(1);
    }
    let level = name.strip_prefix("heading ")?.parse().ok()?;
    (1..=9).contains(&level).then_some(level)
}

/// Returns the level in an element, where 9 means usual text.
fn outline_level(tag: &BytesStart<'_>) -> Option<u8> {
    let level: u8 = attribute(tag, "w:val")?.parse().ok()?;
    (level < 9).then_some(level + 1)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).ok()??;
    Some(attribute.value.into_owned())
}

/// Reads the title in the properties.
fn title(xml: &str) -> Result<String, UnpackError> {
    let mut title = String::new();
    let mut in_title = false;
    each(xml, |event| match event {
        Event::Start(tag) => in_title = tag.name().0 == "dc:title",
        Event::End(_) => in_title = false,
        Event::Text(text) if in_title => title.push_str(text),
        Event::GeneralRef(reference) if in_title => title.extend(character(reference)),
        _ => {}
    })?;
    Ok(title)
}

/// Returns the character that a reference stands for.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    Some(match &**reference {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => return reference.resolve_char_ref().ok().flatten(),
    })
}

// === impl Extraction ===

impl Extraction {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag, false),
            Event::Empty(tag) => self.start(tag, true),
            Event::End(tag) => self.end(tag.name().0),
            Event::Text(text) if self.in_text => self.push(text),
            Event::GeneralRef(reference) if self.in_text => {
                let character = character(reference).map(String::from);
                self.push(&character.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn push(&mut self, text: &str) {
        if self.hidden == 0
            && let Some(paragraph) = self.paragraphs.last_mut()
        {
            paragraph.text.push_str(text);
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>, is_empty: bool) {
        let name = tag.name();
        match name.0 {
            "mc:Fallback" if !is_empty => self.hidden += 1,
            "w:p" if !is_empty => self.paragraphs.push(WordParagraph::default()),
            "w:t" => self.in_text = !is_empty,
            "w:tab" => self.push(" "),
            "w:br" | "w:cr" => self.push("\n"),
            "w:tbl" if !is_empty => {
                self.tables += 1;
                self.outline.set_whole(true);
            }
            "w:tr" => self.has_cell = false,
            "w:tc" if !is_empty => {
                if self.has_cell {
                    self.outline.text().push_str(" | ");
                }
                self.has_cell = true;
            }
            _ => self.property(tag),
        }
    }

    /// Reads a property of a paragraph.
    fn property(&mut self, tag: &BytesStart<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else {
            return;
        };
        match tag.name().0 {
            "w:pStyle" => {
                let style = attribute(tag, "w:val").unwrap_or_default();
                paragraph.level = self.styles.get(&style).copied();
            }
            "w:outlineLvl" => paragraph.level = outline_level(tag),
            "w:numPr" => paragraph.is_item = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "mc:Fallback" => self.hidden = self.hidden.saturating_sub(1),
            "w:t" => self.in_text = false,
            "w:p" => self.end_paragraph(),
            "w:tbl" => {
                self.tables = self.tables.saturating_sub(1);
                self.outline.set_whole(self.tables > 0);
            }
            "w:tr" => self.outline.text().push('\n'),
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let Some(paragraph) = self.paragraphs.pop() else {
            return;
        };
        let text = paragraph.text.trim();
        if text.is_empty() {
            return;
        }
        if self.tables > 0 {
            let cell = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let into = self.outline.text();
            if !into.is_empty() && !into.ends_with(['\n', ' ']) {
                into.push(' ');
            }
            return into.push_str(&cell);
        }
        if let Some(level) = paragraph.level {
            return self.outline.heading(level, text);
        }
        let (mark, end) = if paragraph.is_item {
            ("- ", "\n")
        } else {
            ("", "\n\n")
        };
        let into = self.outline.text();
        into.push_str(mark);
        into.push_str(text);
        into.push_str(end);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in parts {
            let options = SimpleFileOptions::default();
            writer.start_file(*name, options).expect("a part");
            writer.write_all(bytes).expect("written");
        }
        writer.finish().expect("an archive").into_inner()
    }

    fn paragraph(style: &str, text: &str) -> String {
        format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    }

    #[test]
    fn a_text_has_headings_lists_and_tables() {
        let styles = "<w:styles><w:style w:styleId=\"berschrift1\"><w:name w:val=\"heading 1\"/>\
            </w:style><w:style w:styleId=\"Titel\"><w:name w:val=\"Title\"/></w:style></w:styles>";
        let body = [
            paragraph("Titel", "The Manual"),
            paragraph("berschrift1", "Beds &amp; Soil"),
            paragraph("x", "Loam &#8212; <w:br/>sand.").replace("<w:br/>", "</w:t><w:br/><w:t>"),
            "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>one</w:t></w:r></w:p>".to_owned(),
            "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b\
             </w:t></w:r></w:p></w:tc></w:tr><w:tr><w:tc><w:p/></w:tc><w:tc><w:p><w:r><w:t>2</w:t>\
             </w:r></w:p></w:tc></w:tr></w:tbl>"
                .to_owned(),
            "<w:p><w:r><w:delText>gone</w:delText><mc:Fallback><w:t>twice</w:t></mc:Fallback></w:r>\
             </w:p>"
                .to_owned(),
        ];
        let document = format!(
            "<w:document><w:body>{}</w:body></w:document>",
            body.concat()
        );
        let bytes = archive(&[
            ("word/document.xml", document.as_bytes()),
            ("word/styles.xml", styles.as_bytes()),
            ("docProps/core.xml", b"<p><dc:title>Word</dc:title></p>"),
        ]);
        let document = read(bytes).expect("read");
        assert_eq!(document.title.as_deref(), Some("The Manual"));
        let section = &document.sections[0];
        assert_eq!(section.heading.as_deref(), Some("Beds & Soil"));
        assert_eq!(section.text(), "Loam —\nsand.\n\n- one\n\na | b\n | 2");
        assert!(section.blocks[1].is_whole);
    }

    #[test]
    fn a_hostile_file_is_an_error() {
        let zeros = vec![b' '; MAX_PART + 1];
        let bomb = archive(&[("word/document.xml", &zeros)]);
        assert!(matches!(read(bomb), Err(UnpackError::TooLarge)));
        let deep = "<w:p>".repeat(MAX_DEPTH + 1);
        for (bytes, reason) in [
            (
                archive(&[("word/document.xml", deep.as_bytes())]),
                "more than 256 deep",
            ),
            (archive(&[("word/document.xml", b"<a></b>")]), "expected"),
            (archive(&[("word/document.xml", b"\xff")]), "not UTF-8"),
            (archive(&[("other.xml", b"<a/>")]), "no text of Word"),
            (b"PK".to_vec(), ""),
        ] {
            let error = read(bytes).expect_err("hostile").to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
