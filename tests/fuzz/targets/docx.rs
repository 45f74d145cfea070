//! Any XML in a file of Word: read without a panic, and no letter is lost in its passages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ziggurat_documents::Kind;

fuzz_target!(|xml: &[u8]| {
    ziggurat_fuzz::documents(Kind::Docx, &ziggurat_fuzz::docx(xml));
});
