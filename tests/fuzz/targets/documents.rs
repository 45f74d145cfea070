//! Any file of any format: read without a panic, and no letter is lost in its passages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_documents::Kind;

const KINDS: [Kind; 8] = [
    Kind::Markdown,
    Kind::Html,
    Kind::Text,
    Kind::ReStructuredText,
    Kind::AsciiDoc,
    Kind::Pdf,
    Kind::Docx,
    Kind::JsonLines,
];

fuzz_target!(|input: (u8, &[u8])| {
    let (kind, bytes) = input;
    ziggurat_fuzz::documents(KINDS[usize::from(kind) % KINDS.len()], bytes);
});
