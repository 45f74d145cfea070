//! The comments of this project's code: the name of a test is a question, and the comments of the
//! module that it tests are the answers.
//!
//! This collection was made after the defaults were chosen.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{
    collection::{Collection, Judged, Passage},
    word_vectors::WordVectors,
};

/// Shortest comment that is a passage, in bytes.
const LEAST: usize = 60;

/// Fewest words of a question.
const WORDS: usize = 5;

/// One test of this many is a question.
const EVERY: usize = 8;

/// Makes the collection from the crates of the services.
pub(super) fn collection() -> Collection {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../services");
    let mut files = Vec::new();
    list(&folder, &mut files);
    files.sort();
    let (mut texts, mut names) = (Vec::new(), Vec::new());
    for file in &files {
        let code = fs::read_to_string(file).expect("text");
        let file = file.strip_prefix(&folder).expect("it is below");
        let module = module(file);
        let comments = comments(&code).into_iter().zip(1..);
        texts.extend(
            comments.map(|(text, at)| (module.clone(), format!("{}-{at}", file.display()), text)),
        );
        names.extend(tests(&code).into_iter().map(|name| (module.clone(), name)));
    }
    let all: Vec<_> = texts.iter().map(|(_, _, text)| &**text).collect();
    let vectors = WordVectors::learn(&all);
    let questions = names
        .into_iter()
        .step_by(EVERY)
        .filter_map(|(module, text)| {
            let relevant = texts.iter().filter(|(of, _, _)| *of == module);
            let grades: BTreeMap<_, _> = relevant.map(|(_, id, _)| (id.clone(), 1)).collect();
            (!grades.is_empty()).then(|| Judged {
                vector: vectors.embed(&text),
                text,
                grades,
            })
        });
    Collection {
        name: "comments",
        questions: questions.collect(),
        passages: texts
            .iter()
            .map(|(_, id, text)| Passage {
                id: id.clone(),
                vector: vectors.embed(text),
                text: text.clone(),
            })
            .collect(),
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            list(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
}

/// Returns the module of a file; tests in files of their own belong to the module above.
fn module(path: &Path) -> String {
    let path = path.to_string_lossy().replace(".rs", "");
    match path.split_once("/tests") {
        Some((above, _)) => above.to_owned(),
        None => path,
    }
}

/// Returns the doc comments, each as one line.
fn comments(code: &str) -> Vec<String> {
    let mut comments = vec![String::new()];
    for line in code.lines() {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        match (text, comments.last_mut()) {
            (Some(text), Some(last)) => {
                last.push_str(text.trim_end());
            }
            _ => comments.push(String::new()),
        }
    }
    let comments = comments.iter().map(|text| text.trim().to_owned());
    comments.filter(|text| text.len() >= LEAST).collect()
}

/// Returns the names of the tests, as sentences.
fn tests(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in code.lines() {
        let line = line.trim_start();
        let name = line.trim_start_matches("async ").strip_prefix("fn ");
        if let (true, Some(name)) = (is_test, name) {
            let name = name.split('(').next().unwrap_or_default().replace('_', " ");
            names.extend((name.split(' ').count() >= WORDS).then_some(name));
        }
        is_test = line.starts_with("#[test]")
            || line.starts_with("#[tokio::test")
            || (is_test && line.starts_with("#["));
    }
    names
}
