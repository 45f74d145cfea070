//! The command lines of `eval` and `eval generate`.

use std::{ffi::OsString, path::PathBuf};

use ziggurat_runtime::flags::{Flag, Flags, Refusal};

use crate::arguments::{Command, number};

/// Default loss that a figure may have against the baseline.
const TOLERANCE: f64 = 0.01;

/// Default number of drafts, and limit on them.
const DRAFTS: usize = 100;
const MAX_DRAFTS: usize = 10_000;

/// The flags of the command `eval`.
pub(crate) const FLAGS: &[Flag] = &[
    Flag::path("config", "PATH", "configuration file"),
    Flag::text(
        "pipeline",
        "NAME",
        "pipeline to ask; need not be named if there is only one",
    ),
    Flag::switch(
        "answers",
        "also answer each question, which costs a completion, and check citations and answer_has",
    ),
    Flag::switch(
        "by-document",
        "rank documents, not passages: an id counts up to its last #",
    ),
    Flag::path("o", "FILE", "write the figures as JSON"),
    Flag::path(
        "baseline",
        "FILE",
        "end with 1 if a figure is worse than in this JSON",
    ),
    Flag::text(
        "fail-under",
        "N",
        "with -baseline: the loss that is allowed (0.01)",
    ),
    Flag::path(
        "qrels",
        "FILE",
        "judgements in the form of TREC, in addition to those of the questions",
    ),
    Flag::path(
        "run",
        "FILE",
        "measure this run in the form of TREC and ask nothing; may be repeated",
    ),
    Flag::path(
        "write-qrels",
        "FILE",
        "write the judgements in the form of TREC",
    ),
    Flag::path(
        "write-runs",
        "FOLDER",
        "write a run of each search in the form of TREC, such as hybrid.run",
    ),
    Flag::switch("help", "print this help, and exit"),
];

/// The flags of the command `eval generate`.
pub(crate) const GENERATE_FLAGS: &[Flag] = &[
    Flag::path("config", "PATH", "configuration file"),
    Flag::text(
        "pipeline",
        "NAME",
        "pipeline to draft for; need not be named if there is only one",
    ),
    Flag::text("n", "N", "number of questions (100)"),
    Flag::path(
        "o",
        "FILE",
        "new file for the questions, else standard output",
    ),
    Flag::switch("help", "print this help, and exit"),
];

/// Beginning of the help of `eval`.
pub(crate) const HEAD: &str = "
Usage: ziggurat-rag eval [flags] QUESTIONS

Measures how well a pipeline finds what it should: nDCG@10, MRR@10, Recall@10, Recall@100 and the
time of each search. QUESTIONS has lines of JSON such as
{\"query\": \"…\", \"relevant\": {\"<id of a row>\": 1}, \"answer_has\": [\"…\"]}.

";

/// Beginning of the help of `eval generate`.
pub(crate) const GENERATE_HEAD: &str = "
Usage: ziggurat-rag eval generate [flags]

Drafts questions from random passages with rag_llm, for a person to check.

";

/// The options of the command `eval`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct EvalOptions {
    pub(crate) pipeline: Option<String>,
    pub(crate) questions: Option<PathBuf>,
    pub(crate) has_answers: bool,
    pub(crate) is_by_document: bool,
    pub(crate) output: Option<PathBuf>,
    /// An earlier report, and the allowed loss against it.
    pub(crate) baseline: Option<(PathBuf, f64)>,
    pub(crate) qrels: Option<PathBuf>,
    pub(crate) runs: Vec<PathBuf>,
    pub(crate) written_qrels: Option<PathBuf>,
    pub(crate) written_runs: Option<PathBuf>,
}

/// The options of the command `eval generate`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GenerateOptions {
    pub(crate) pipeline: Option<String>,
    pub(crate) count: usize,
    pub(crate) output: Option<PathBuf>,
}

/// Returns the command `eval`.
///
/// # Errors
/// Fails on an invalid value, and on a word or a flag that the command does not take.
pub(crate) fn measure(flags: &Flags, rest: &[OsString]) -> Result<Command, Refusal> {
    if let Some(word) = rest.get(1) {
        let word = word.display();
        return Err(Refusal::Leftover(format!("{word} (one file of questions)")));
    }
    let tolerance = number(flags, "fail-under", 0.0..=1.0, "from 0 to 1")?;
    let baseline = flags.path("baseline");
    if tolerance.is_some() && baseline.is_none() {
        let word = "-fail-under (it needs -baseline)".to_owned();
        return Err(Refusal::Leftover(word));
    }
    if flags.has("answers") && flags.is_given("run") {
        let word = "-answers (with -run nothing is asked)".to_owned();
        return Err(Refusal::Leftover(word));
    }
    Ok(Command::Eval(EvalOptions {
        pipeline: flags.owned("pipeline"),
        questions: rest.first().map(PathBuf::from),
        has_answers: flags.has("answers"),
        is_by_document: flags.has("by-document"),
        output: flags.path("o"),
        baseline: baseline.map(|path| (path, tolerance.unwrap_or(TOLERANCE))),
        qrels: flags.path("qrels"),
        runs: flags.paths("run").collect(),
        written_qrels: flags.path("write-qrels"),
        written_runs: flags.path("write-runs"),
    }))
}

/// Returns the command `eval generate`.
///
/// # Errors
/// Fails on an invalid number, and on a word.
pub(crate) fn generate(flags: &Flags, rest: &[OsString]) -> Result<Command, Refusal> {
    if let Some(word) = rest.first() {
        return Err(Refusal::Leftover(word.display().to_string()));
    }
    let expected = format!("from 1 to {MAX_DRAFTS}");
    let count = number(flags, "n", 1..=MAX_DRAFTS, &expected)?;
    Ok(Command::GenerateQuestions(GenerateOptions {
        pipeline: flags.owned("pipeline"),
        count: count.unwrap_or(DRAFTS),
        output: flags.path("o"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;

    fn parse(line: &str) -> Result<Command, Refusal> {
        let words = ["eval"].into_iter().chain(line.split_whitespace());
        Arguments::parse(words.map(OsString::from)).map(|arguments| arguments.command)
    }

    #[test]
    fn eval_takes_one_file_of_questions_and_flags_around_it() {
        let line = "-pipeline docs golden.jsonl -by-document -baseline b.json -run a -run b";
        let expected = EvalOptions {
            pipeline: Some("docs".to_owned()),
            questions: Some("golden.jsonl".into()),
            is_by_document: true,
            baseline: Some(("b.json".into(), TOLERANCE)),
            runs: vec!["a".into(), "b".into()],
            ..EvalOptions::default()
        };
        assert_eq!(parse(line), Ok(Command::Eval(expected)));
        assert_eq!(parse("generate -h"), Ok(Command::Help));
        for (line, reason) in [
            ("a b", "unexpected argument: b (one file of questions)"),
            (
                "a -fail-under 0.1",
                "unexpected argument: -fail-under (it needs -baseline)",
            ),
            (
                "a -baseline b -fail-under 2",
                "unexpected argument: 2 (-fail-under is from 0 to 1)",
            ),
            (
                "a -answers -run b",
                "unexpected argument: -answers (with -run nothing is asked)",
            ),
            ("generate a", "unexpected argument: a"),
            (
                "generate -n 0",
                "unexpected argument: 0 (-n is from 1 to 10000)",
            ),
            (
                "generate -answers",
                "flag provided but not defined: -answers",
            ),
        ] {
            assert_eq!(parse(line).expect_err(line).to_string(), reason);
        }
    }
}
