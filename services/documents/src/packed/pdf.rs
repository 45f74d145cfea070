//! Extracts the text layer of PDF files.

mod page_text;

use lopdf::{Document as Pdf, LoadOptions, ObjectId, decode_text_string};

use self::page_text::page_text;
use crate::{
    outline::Outline,
    packed::{MAX_PART, UnpackError, Unpacked},
};

/// Maximum number of pages; a longer file is no document.
const MAX_PAGES: usize = 5000;

pub(super) fn read(bytes: &[u8]) -> Result<Unpacked, UnpackError> {
    let options = LoadOptions::with_max_decompressed_size(MAX_PART);
    let pdf = Pdf::load_mem_with_options(bytes, options);
    let pdf = pdf.map_err(|error| UnpackError::invalid(&error))?;
    if pdf.is_encrypted() {
        return Err(UnpackError::Invalid("it is encrypted".to_owned()));
    }
    let pages = pdf.get_pages();
    if pages.is_empty() {
        return Err(UnpackError::Invalid("it has no pages".to_owned()));
    }
    if pages.len() > MAX_PAGES {
        let text = format!("it has more than {MAX_PAGES} pages");
        return Err(UnpackError::Invalid(text));
    }
    let mut outline = Outline::default();
    let title = title(&pdf).filter(|title| !is_of_program(title));
    outline.title(&title.unwrap_or_default());
    let mut skipped = Vec::new();
    for (number, id) in &pages {
        let name = format!("page {number}");
        match page(&pdf, *id) {
            Ok(text) => {
                // Below the first level, which would be the title.
                outline.heading(2, &name);
                outline.text().push_str(&text);
            }
            Err(reason) => skipped.push((name, reason.to_string())),
        }
    }
    Ok(Unpacked {
        document: outline.finish(),
        skipped,
    })
}

/// Returns the text of a page, or the reason why it has none.
fn page(pdf: &Pdf, id: ObjectId) -> Result<String, UnpackError> {
    let text = page_text(pdf, id).map_err(|error| UnpackError::invalid(&error))?;
    if text.trim().is_empty() {
        return Err(UnpackError::Invalid("it has no text layer".to_owned()));
    }
    Ok(text)
}

/// Returns the title in the properties of the file.
fn title(pdf: &Pdf) -> Option<String> {
    let info = pdf.trailer.get(b"Info").ok()?;
    let (_, info) = pdf.dereference(info).ok()?;
    let title = info.as_dict().ok()?.get(b"Title").ok()?;
    let (_, title) = pdf.dereference(title).ok()?;
    decode_text_string(title).ok()
}

/// Returns whether a title was given by the program that made the file, and not by its author.
fn is_of_program(title: &str) -> bool {
    const USUAL: [&str; 4] = [
        "document1",
        "enscript output",
        "powerpoint presentation",
        "untitled",
    ];
    const FILES: [&str; 8] = [
        ".doc", ".docx", ".dvi", ".indd", ".ppt", ".pptx", ".ps", ".tex",
    ];
    let title = title.trim().to_lowercase();
    USUAL.contains(&&*title)
        || title.starts_with("microsoft word - ")
        || FILES.iter().any(|end| title.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_of_the_program_that_made_the_file_is_none() {
        for title in [
            "Enscript Output",
            " Untitled ",
            "Microsoft Word - Rota.docx",
            "rota.tex",
        ] {
            assert!(is_of_program(title), "{title}");
        }
        for title in ["The rota", "Output of the mill", "Dr. Who", "v1.2"] {
            assert!(!is_of_program(title), "{title}");
        }
    }
}
