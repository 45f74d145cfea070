//! The commands `eval` and `eval generate`.

use std::{collections::BTreeMap, fs};

use serde_json::Value;
use ziggurat_black_box::{Postgres, Ran};
use ziggurat_fake_providers::{Api, Fake, Turn};

use crate::support::{Home, asking, library, pipeline, server};

/// Judgements, a run, and the measures that `pytrec_eval` has for it.
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/eval");

/// Questions for the three documents of the library.
const QUESTIONS: &str = r#"{"id": "wool", "query": "How is wool washed?", "relevant": {"doc-1": 2}}
{"id": "kettle", "query": "Is a kettle descaled with vinegar?", "relevant": {"doc-2": 1, "doc-0": 0}}
"#;

fn measured(postgres: &Postgres) -> Home {
    let home = Home::with(&format!(
        "{}pipelines:\n{}",
        server(""),
        pipeline("docs", postgres, "")
    ));
    home.write("golden.jsonl", QUESTIONS);
    home
}

/// Runs `eval` with words in which `@` stands for the folder.
fn eval(home: &Home, line: &str) -> Ran {
    let folder = home.file("");
    let folder = folder.to_str().expect("UTF-8").trim_end_matches('/');
    let words = line
        .split_whitespace()
        .map(|word| word.replace('@', &format!("{folder}/")));
    let words: Vec<_> = words.collect();
    let words: Vec<_> = ["eval"]
        .into_iter()
        .chain(words.iter().map(String::as_str))
        .collect();
    home.ran(&words)
}

fn json(home: &Home, name: &str) -> Value {
    let text = fs::read_to_string(home.file(name)).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn each_search_is_measured_and_compared_with_a_baseline() {
    let postgres = library();
    let home = measured(&postgres);
    let ran = eval(
        &home,
        "-pipeline docs @golden.jsonl -o @before.json -write-runs @runs -write-qrels @qrels",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with("2 judged questions\n"),
        "{}",
        ran.stdout
    );
    for name in [
        "vector",
        "keyword",
        "hybrid",
        "nDCG@10",
        "Recall@100",
        "p95 ms",
    ] {
        assert!(ran.stdout.contains(name), "{name} in {}", ran.stdout);
    }
    let before = json(&home, "before.json");
    let arms = before["arms"].as_array().expect("searches");
    assert_eq!(arms.len(), 3, "{before}");
    for arm in arms {
        assert_eq!(arm["ndcg@10"], 1.0, "{arm}");
        assert!(
            arm["p50_ms"].as_f64().is_some_and(|time| time > 0.0),
            "{arm}"
        );
    }

    let again = eval(&home, "@golden.jsonl -baseline @before.json");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let read = eval(
        &home,
        "-qrels @qrels -run @runs/hybrid.run -run @runs/keyword.run -o @read.json",
    );
    assert_eq!(read.code, Some(0), "{}", read.stderr);
    let read = json(&home, "read.json");
    assert_eq!(read["arms"][0]["ndcg@10"], 1.0, "{read}");
    assert_eq!(read["arms"][1]["arm"], "keyword", "{read}");

    home.write("golden.jsonl", &QUESTIONS.replace("doc-1", "doc-7"));
    let worse = eval(
        &home,
        "@golden.jsonl -baseline @before.json -fail-under 0.2",
    );
    assert_eq!(worse.code, Some(1));
    let loss = "hybrid nDCG@10 has fallen by 0.5000, from 1.0000 to 0.5000\n";
    assert!(worse.stderr.contains(loss), "{}", worse.stderr);
    let tolerated = eval(
        &home,
        "@golden.jsonl -baseline @before.json -fail-under 0.5",
    );
    assert_eq!(tolerated.code, Some(0), "{}", tolerated.stderr);
}

#[test]
fn passages_can_be_judged_by_their_documents() {
    let postgres = library();
    postgres.run("UPDATE documents SET id = 'handbook.md#' || right(id, 1)");
    let home = measured(&postgres);
    let line = r#"{"query": "wool", "relevant": {"handbook.md": 1}}"#;
    home.write("golden.jsonl", line);
    let ran = eval(&home, "@golden.jsonl -o @report.json -by-document");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(json(&home, "report.json")["arms"][2]["ndcg@10"], 1.0);
}

#[test]
fn a_document_has_one_rank_however_many_of_its_passages_are_found() {
    let postgres = library();
    // 120 passages of one document, which are closer to the question than all others.
    postgres.run(
        "UPDATE documents SET id = 'handbook.md#' || right(id, 1);
         INSERT INTO documents (id, content, embedding)
         SELECT 'wool.md#' || n, 'wool', (SELECT embedding FROM documents WHERE id LIKE '%1')
         FROM generate_series(1, 120) AS n",
    );
    let home = measured(&postgres);
    let line = r#"{"id": "q", "query": "wool", "relevant": {"handbook.md": 1}}"#;
    home.write("golden.jsonl", line);
    let ran = eval(
        &home,
        "@golden.jsonl -o @report.json -by-document -write-runs @runs -write-qrels @qrels",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let run = fs::read_to_string(home.file("runs/hybrid.run")).expect("a run");
    let documents: Vec<_> = run.lines().map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(documents, [Some("wool.md"), Some("handbook.md")]);
    // Other programs read the written file, and measure the same.
    let read = eval(&home, "-qrels @qrels -run @runs/hybrid.run -o @read.json");
    assert_eq!(read.code, Some(0), "{}", read.stderr);
    let (report, read) = (json(&home, "report.json"), json(&home, "read.json"));
    for measure in ["ndcg@10", "recall@100"] {
        assert_eq!(read["arms"][0][measure], report["arms"][2][measure]);
    }
    assert_eq!(report["arms"][2]["recall@100"], 1.0, "{report}");
}

#[test]
fn judgements_that_name_no_row_are_an_error_with_its_likely_cause() {
    let postgres = library();
    postgres.run("UPDATE documents SET id = 'handbook.md#' || right(id, 1)");
    let home = measured(&postgres);
    let line = r#"{"query": "wool", "relevant": {"handbook.md": 1, "x": 0}}"#;
    home.write("golden.jsonl", line);
    let ran = eval(&home, "@golden.jsonl");
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
    let reason = "none of the 2 judged ids is in the table; did you mean -by-document?\n";
    assert!(ran.stderr.ends_with(reason), "{}", ran.stderr);

    // A row that is there and is not found is a result, of zeros without a sign.
    postgres.run("UPDATE documents SET content = 'x', embedding = NULL WHERE id = 'handbook.md#0'");
    home.write(
        "golden.jsonl",
        r#"{"query": "wool", "relevant": {"handbook.md#0": 1}}"#,
    );
    let ran = eval(&home, "@golden.jsonl");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("-0"), "{}", ran.stdout);
}

#[test]
fn the_measures_of_a_run_are_those_of_pytrec_eval() {
    let home = Home::new();
    let line = format!("-qrels {REFERENCE}/qrels.txt -run {REFERENCE}/run.txt -o @report.json");
    let ran = eval(&home, &line);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let report = json(&home, "report.json");
    let measured: BTreeMap<_, _> = report["per_question"]
        .as_array()
        .expect("questions")
        .iter()
        .map(|question| {
            (
                question["id"].as_str().expect("an id"),
                &question["arms"]["run"],
            )
        })
        .collect();
    let values = fs::read_to_string(format!("{REFERENCE}/values.txt")).expect("values");
    for line in values.lines() {
        let columns: Vec<_> = line.split(' ').collect();
        let name = match columns[1] {
            "ndcg_cut_10" => "ndcg@10",
            "recip_rank_10" => "mrr@10",
            "recall_10" => "recall@10",
            _ => "recall@100",
        };
        let value = measured[columns[0]][name].as_f64().expect("a measure");
        let expected: f64 = columns[2].parse().expect("a value");
        assert!((value - expected).abs() < 1e-9, "{line}: {value}");
    }
    assert!(measured.len() > 20, "{}", measured.len());
}

#[test]
fn answers_are_checked_only_if_that_is_asked_for() {
    let postgres = library();
    let fake = Fake::start();
    let mut home = measured(&postgres);
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let entry = asking("docs", &postgres, &fake, "");
    home.configure(&format!("{}pipelines:\n{entry}", server("")));
    let questions = QUESTIONS.replace("}}\n", "}, \"answer_has\": [\"VINEGAR\"]}\n");
    home.write("golden.jsonl", &questions);
    let ran = eval(&home, "@golden.jsonl");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("checked only with -answers"),
        "{}",
        ran.stderr
    );
    assert_eq!(fake.requests().len(), 0);

    fake.next_of(Api::Anthropic, Turn::text("In cold water [1]."));
    fake.next_of(Api::Anthropic, Turn::text("With vinegar [7]."));
    let ran = eval(&home, "@golden.jsonl -answers -o @report.json");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let shown = "2 answers: 0.5000 with valid citations, 1.0000 of the citations supported, \
        0.5000 with what they must have";
    assert!(ran.stdout.contains(shown), "{}", ran.stdout);
    assert_eq!(json(&home, "report.json")["answers"]["has_expected"], 0.5);
}

#[test]
fn questions_are_drafted_into_a_new_file() {
    let postgres = library();
    postgres
        .run("UPDATE documents SET content = content || repeat(' Really.', 20) WHERE id = 'doc-1'");
    let fake = Fake::start();
    let mut home = measured(&postgres);
    home.set("ANTHROPIC_API_KEY", "sk-ant-wq8JkLmN2pRs7TuV");
    let entry = asking("docs", &postgres, &fake, "");
    home.configure(&format!("{}pipelines:\n{entry}", server("")));
    fake.next_of(Api::Anthropic, Turn::text("How should wool be cleaned?"));
    let ran = eval(&home, "generate -n 3 -o @draft.jsonl");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("only 1 passages"), "{}", ran.stderr);
    let draft = json(&home, "draft.jsonl");
    assert_eq!(draft["query"], "How should wool be cleaned?");
    assert_eq!(draft["relevant"]["doc-1"], 1);
    let again = eval(&home, "generate -n 3 -o @draft.jsonl");
    assert_eq!(again.code, Some(1));
    assert!(
        again.stderr.contains("draft.jsonl cannot be created"),
        "{}",
        again.stderr
    );
    let measured = eval(&home, "@draft.jsonl");
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
}

#[test]
fn files_that_cannot_be_used_are_named_before_anything_is_asked() {
    let postgres = library();
    let home = measured(&postgres);
    home.write("bad.jsonl", "{\"query\": \"a\"}\n{\"question\": \"b\"}\n");
    home.write("bad.json", "[]");
    for (line, reason) in [
        (
            "",
            "name a file of questions, or files with -run and -qrels",
        ),
        ("-run @x.run", "-run needs -qrels or a file of questions"),
        ("@bad.jsonl", "bad.jsonl:2: write a line as {\"query\": "),
        (
            "@golden.jsonl -baseline @bad.json",
            "bad.json is not what -o has written",
        ),
        (
            "@golden.jsonl -pipeline x",
            "there is no pipeline x, only docs",
        ),
        ("@none.jsonl", "none.jsonl cannot be read"),
    ] {
        let ran = eval(&home, line);
        assert_eq!(ran.code, Some(1), "{line}");
        assert!(ran.stderr.contains(reason), "{line}: {}", ran.stderr);
    }
    let generated = eval(&home, "generate");
    assert_eq!(generated.code, Some(1));
    assert!(
        generated.stderr.contains("100 characters"),
        "{}",
        generated.stderr
    );
}
