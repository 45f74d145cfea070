use std::io::{Cursor, Write as _};

use ziggurat_documents::{Document, JsonLines, Kind, Splitter, unpack};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Reads the documents of a file: no part of them is empty, and their passages keep every letter.
///
/// # Panics
/// Panics if that does not hold.
pub fn documents(kind: Kind, bytes: &[u8]) -> Vec<Document> {
    let documents: Vec<_> = match kind {
        Kind::Pdf | Kind::Docx => {
            let unpacked = unpack(kind, bytes.to_vec()).into_iter();
            unpacked.map(|it| it.document).collect()
        }
        Kind::JsonLines => {
            let lines = JsonLines::new(bytes).map(|line| line.expect("memory does not fail"));
            let records = lines.filter_map(|line| line.record.ok());
            records.map(|record| record.document).collect()
        }
        _ => vec![Document::read(kind, &String::from_utf8_lossy(bytes))],
    };
    documents.iter().for_each(check);
    documents
}

/// Makes a file of Word with this text in its XML.
///
/// # Panics
/// Panics if memory fails.
#[must_use]
pub fn docx(xml: &[u8]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for name in ["word/document.xml", "word/styles.xml", "docProps/core.xml"] {
        archive.start_file(name, stored).expect("a part");
        archive.write_all(xml).expect("memory does not fail");
    }
    archive.finish().expect("an archive").into_inner()
}

fn check(document: &Document) {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let blocks = blocks.map(|block| &*block.text);
    assert!(blocks.clone().all(|text| !text.trim().is_empty()));
    for splitter in [Splitter::new(300, 0), Splitter::new(1, 0)] {
        let passages = splitter.passages(document);
        let passages = passages.iter().map(|passage| &*passage.text);
        assert!(passages.clone().all(|text| !text.trim().is_empty()));
        assert!(
            passages
                .flat_map(letters)
                .eq(blocks.clone().flat_map(letters))
        );
    }
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|next| !next.is_whitespace())
}
