//! The book of this project: a heading is a question, and the passages below it are its answers.

use std::{collections::BTreeMap, fs, path::Path};

use super::{
    collection::{Collection, Judged, Passage},
    word_vectors::WordVectors,
};

/// Passages are at least this long, unless their section ends, in bytes.
const LEAST: usize = 300;

/// Chapters that only name other texts.
const LISTS: [&str; 2] = ["SUMMARY.md", "compare.md"];

/// A section of a chapter.
struct Section {
    chapter: String,
    /// The headings above it, the nearest last.
    path: Vec<String>,
    passages: Vec<String>,
}

/// Reads the texts of the book.
pub(super) fn texts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src");
    let files = fs::read_dir(&folder).expect("the book is there");
    let mut files: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    files.sort();
    let texts = files.iter().map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy();
        (name.into_owned(), fs::read_to_string(path).expect("text"))
    });
    texts
        .filter(|(name, _)| !LISTS.contains(&&**name))
        .collect()
}

/// Makes the collection. No passage contains its own heading.
pub(super) fn collection(texts: &[(String, String)], vectors: &WordVectors) -> Collection {
    let sections: Vec<_> = texts
        .iter()
        .flat_map(|(name, text)| sections(name, text))
        .collect();
    let mut passages = Vec::new();
    let mut ids = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        let own: Vec<_> = (0..section.passages.len())
            .map(|at| format!("{}-{number}-{at}", section.chapter))
            .collect();
        let texts = own.iter().cloned().zip(&section.passages);
        passages.extend(texts.map(|(id, text)| Passage {
            id,
            vector: vectors.embed(text),
            text: text.clone(),
        }));
        ids.push(own);
    }
    let questions = sections.iter().filter(|section| section.path.len() > 1);
    let questions = questions.filter_map(|section| {
        let mut grades = BTreeMap::new();
        for (other, ids) in sections.iter().zip(&ids) {
            let is_own = other.path == section.path && other.chapter == section.chapter;
            let is_below =
                other.path.starts_with(&section.path) && other.chapter == section.chapter;
            if is_below {
                let grade = if is_own { 2 } else { 1 };
                grades.extend(ids.iter().map(|id| (id.clone(), grade)));
            }
        }
        // The title of the chapter tells apart headings that several chapters have.
        let (title, heading) = (section.path.first()?, section.path.last()?);
        let text = format!("{heading} ({title})").replace('`', "");
        (!grades.is_empty()).then(|| Judged {
            vector: vectors.embed(&text),
            text,
            grades,
        })
    });
    Collection {
        name: "book",
        questions: questions.collect(),
        passages,
    }
}

/// Splits a chapter at its headings.
fn sections(name: &str, text: &str) -> Vec<Section> {
    let chapter = name.trim_end_matches(".md");
    let mut sections: Vec<Section> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut is_code = false;
    let mut block = String::new();
    for line in text.lines().chain(["# end"]) {
        is_code ^= line.starts_with("```");
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = !is_code && (1..=6).contains(&level);
        let is_full = block.len() >= LEAST && line.is_empty() && !is_code;
        if let (true, Some(section)) = (is_heading || is_full, sections.last_mut()) {
            let done = block.trim();
            section
                .passages
                .extend((!done.is_empty()).then(|| done.to_owned()));
            block.clear();
        }
        if is_heading {
            path.truncate(level - 1);
            path.push(line.trim_start_matches('#').trim().to_owned());
            sections.push(Section {
                chapter: chapter.to_owned(),
                path: path.clone(),
                passages: Vec::new(),
            });
        } else {
            block.push_str(line);
            block.push('\n');
        }
    }
    sections
}
