//! Files of TREC: judgements (`qrels`) and rankings (runs).
//!
//! A line of judgements is `question 0 document grade`, a line of a run is
//! `question Q0 document rank score name`. The rank is not read: the scores decide the order, as in
//! `trec_eval`.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, bail};
use ziggurat_search::measures::trec_order;

use crate::eval::lines;

/// Grades of documents by question.
pub(super) type Qrels = BTreeMap<String, BTreeMap<String, i32>>;

/// Documents by question, best first.
pub(super) type Run = BTreeMap<String, Vec<String>>;

/// Reads judgements.
///
/// # Errors
/// Names the file and the line that cannot be used.
pub(super) fn read_qrels(path: &Path) -> anyhow::Result<Qrels> {
    let mut qrels = Qrels::new();
    lines::read(path, |_, line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let [question, _, document, grade] = columns[..] else {
            bail!("a line of judgements is: question 0 document grade");
        };
        let grade = grade.parse();
        let grade = grade.with_context(|| "the grade, in the last column, is no whole number")?;
        let grades = qrels.entry(question.to_owned()).or_default();
        if grades.insert(document.to_owned(), grade).is_some() {
            bail!("{document} is judged twice for question {question}");
        }
        Ok(())
    })?;
    if qrels.is_empty() {
        bail!("{} has no judgements", path.display());
    }
    Ok(qrels)
}

/// Reads a run.
///
/// # Errors
/// Names the file and the line that cannot be used.
pub(super) fn read_run(path: &Path) -> anyhow::Result<Run> {
    let mut scored = BTreeMap::<String, BTreeMap<String, f64>>::new();
    lines::read(path, |_, line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let [question, _, document, _, score, _] = columns[..] else {
            bail!("a line of a run is: question Q0 document rank score name");
        };
        let score: f64 = score
            .parse()
            .ok()
            .filter(|score: &f64| !score.is_nan())
            .context("the score, in the fifth column, is no number")?;
        let documents = scored.entry(question.to_owned()).or_default();
        if documents.insert(document.to_owned(), score).is_some() {
            bail!("question {question} has {document} twice");
        }
        Ok(())
    })?;
    let ordered = scored.into_iter().map(|(question, documents)| {
        let documents = documents.iter().map(|(id, score)| (&**id, *score));
        let order = trec_order(documents).into_iter().map(str::to_owned);
        (question, order.collect())
    });
    Ok(ordered.collect())
}

/// Writes judgements.
///
/// # Errors
/// Fails if the file cannot be written, and if an id has a space.
pub(super) fn write_qrels<'q>(
    path: &Path,
    questions: impl IntoIterator<Item = (&'q str, &'q BTreeMap<String, i32>)>,
) -> anyhow::Result<()> {
    let mut text = String::new();
    for (question, grades) in questions {
        for (document, grade) in grades {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} 0 {} {grade}", word(question)?, word(document)?);
        }
    }
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Writes a run. The score of a document is one divided by its rank, so that equal scores of a
/// search do not change its order.
///
/// # Errors
/// Fails if the file cannot be written, and if an id has a space.
pub(super) fn write_run(path: &Path, name: &str, run: &Run) -> anyhow::Result<()> {
    let mut text = String::new();
    for (question, documents) in run {
        for (document, rank) in documents.iter().zip(1_u32..) {
            let (question, document) = (word(question)?, word(document)?);
            let score = f64::from(rank).recip();
            let _ = writeln!(text, "{question} Q0 {document} {rank} {score} {name}");
        }
    }
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// Checks that an id is one word.
fn word(id: &str) -> anyhow::Result<&str> {
    if id.is_empty() || id.contains(char::is_whitespace) {
        bail!("a file of TREC cannot hold the id {id:?}, because it has a space or is empty");
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_with(folder: &tempfile::TempDir, text: &str) -> std::path::PathBuf {
        let path = folder.path().join("file");
        fs::write(&path, text).expect("written");
        path
    }

    #[test]
    fn written_files_are_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let qrels = path_with(&folder, "q1 0 a 2\nq1 0 b -1\nq2 0 a 0\n");
        let read = read_qrels(&qrels).expect("judgements");
        let questions = read.iter().map(|(id, grades)| (&**id, grades));
        write_qrels(&qrels, questions).expect("written");
        assert_eq!(read_qrels(&qrels).expect("judgements"), read);

        let path = path_with(
            &folder,
            "q1 Q0 a 9 0.5 x\nq1 Q0 b 1 0.5 x\nq1 Q0 c 0 2e1 x\n",
        );
        let run = read_run(&path).expect("a run");
        assert_eq!(run["q1"], ["c", "b", "a"]);
        write_run(&path, "vector", &run).expect("written");
        assert_eq!(read_run(&path).expect("a run"), run);
        let spaced = Run::from([("q 1".to_owned(), vec!["a".to_owned()])]);
        let error = write_run(&path, "vector", &spaced).expect_err("a space");
        assert!(error.to_string().contains("\"q 1\""), "{error}");
    }

    #[test]
    fn a_problem_has_the_line_and_the_columns() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, expected) in [
            ("q1 0 a\n", "file:1: a line of judgements is"),
            ("q1 0 a 1\nq1 0 a 2\n", "file:2: a is judged twice"),
            ("q1 0 a high\n", "file:1: the grade, in the last column"),
            ("\n", "file has no judgements"),
        ] {
            let error = read_qrels(&path_with(&folder, text)).expect_err(expected);
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
        for (text, expected) in [
            ("q1 Q0 a 1 0.5\n", "file:1: a line of a run is"),
            (
                "q1 Q0 a 1 NaN x\n",
                "file:1: the score, in the fifth column",
            ),
            (
                "q1 Q0 a 1 1 x\nq1 Q0 a 2 0 x\n",
                "file:2: question q1 has a twice",
            ),
        ] {
            let error = read_run(&path_with(&folder, text)).expect_err(expected);
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }
}
