//! Sources: the documents of one are never taken for the documents of another.

use std::{fs, path::Path};

use super::{Setup, documents};
use crate::{IngestError, Input, Outcome, Settings};

/// Writes a folder called docs below another one, with these documents.
fn other_docs(setup: &Setup, below: &str, names: &[&str]) -> Input {
    let docs = setup.folder.path().join(below).join("docs");
    fs::create_dir_all(&docs).expect("made");
    for name in names {
        fs::write(docs.join(name), format!("{below} {name}")).expect("written");
    }
    Input::paths(&[docs]).expect("a folder")
}

fn numbered(setup: &Setup, numbers: std::ops::Range<usize>) {
    for number in numbers {
        setup.write(&format!("{number}.md"), "text");
    }
}

/// Makes the rows what the first version wrote: the source is the last part of the path.
async fn as_before(setup: &mut Setup) {
    let sql = "UPDATE documents SET metadata = jsonb_set(metadata, '{_source}', to_jsonb(
        regexp_replace(replace(metadata->>'_source', '//', '/'), '^.*/docs', 'docs')))";
    setup.fixture.given(sql).await;
}

const SOURCES: &str = "SELECT DISTINCT metadata->>'_source' FROM documents ORDER BY 1";

#[tokio::test]
async fn a_second_folder_with_the_same_name_takes_nothing_from_the_first() {
    let mut setup = Setup::with(&[]).await;
    numbered(&setup, 0..46);
    assert_eq!(documents(setup.run().await), [46, 0, 0, 0]);
    for expected in [[2, 0, 0, 0], [0, 2, 0, 0]] {
        let input = other_docs(&setup, "b", &["1.md", "x.md"]);
        let outcome = setup.run_with(input, |_| {}).await.expect("loaded");
        assert_eq!(documents(outcome), expected, "{}", setup.log());
    }
    assert_eq!(documents(setup.run().await), [0, 46, 0, 0]);
    let passages = setup.passages().await;
    assert_eq!(passages.len(), 48);
    let others: Vec<_> = passages
        .iter()
        .filter(|one| one.contains(" = b "))
        .collect();
    assert!(
        others.iter().all(|one| one.starts_with("docs~")),
        "{others:?}"
    );
    assert!(setup.log().contains("Renamed"), "{}", setup.log());
}

#[tokio::test]
async fn a_run_that_would_remove_many_documents_stops_before_it_writes() {
    let mut setup = Setup::with(&[]).await;
    numbered(&setup, 0..60);
    setup.run().await;
    (0..11).for_each(|number| setup.remove(&format!("{number}.md")));
    assert_eq!(documents(setup.run().await), [0, 49, 11, 0]);
    (11..21).for_each(|number| setup.remove(&format!("{number}.md")));
    assert_eq!(documents(setup.run().await), [0, 39, 10, 0]);

    (21..32).for_each(|number| setup.remove(&format!("{number}.md")));
    setup.write("new.md", "new");
    let error = setup.run_with(setup.paths(), |_| {}).await;
    let error = error.expect_err("too many");
    assert!(
        matches!(
            error,
            IngestError::Gone {
                missing: 11,
                all: 39,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(setup.passages().await.len(), 39);
    let remove = |settings: &mut Settings| settings.remove = true;
    let outcome = setup
        .run_with(setup.paths(), remove)
        .await
        .expect("asked for");
    assert_eq!(documents(outcome), [1, 28, 11, 0]);
}

#[tokio::test]
async fn lines_of_another_file_do_not_empty_the_table() {
    let mut setup = Setup::with(&[]).await;
    let lines = |name: &str| -> Input {
        let line = |number| format!("{{\"id\": \"{name}{number}\", \"text\": \"x\"}}\n");
        let text: String = (0..12).map(line).collect();
        Input::lines(std::io::Cursor::new(text))
    };
    setup.run_with(lines("a"), |_| {}).await.expect("loaded");
    let error = setup
        .run_with(lines("b"), |_| {})
        .await
        .expect_err("all are gone");
    assert!(
        matches!(error, IngestError::Gone { missing: 12, .. }),
        "{error}"
    );
    let named = lines("c").with_source("tickets");
    let outcome = setup.run_with(named, |_| {}).await.expect("loaded");
    assert_eq!(documents(outcome), [12, 0, 0, 0]);
    assert_eq!(setup.rows(SOURCES).await, ["-", "tickets"]);
}

#[tokio::test]
async fn documents_of_the_first_version_are_found_again_and_get_the_path() {
    let line = |id: u8| format!("{{\"id\": {id}, \"text\": \"a\"}}\n");
    let lines = [1, 2, 3].map(line).concat();
    let mut setup = Setup::with(&[
        ("a.md", "one"),
        ("b.md", "two"),
        ("c.md", "three"),
        ("d.jsonl", &lines),
    ])
    .await;
    setup.run().await;
    as_before(&mut setup).await;
    assert_eq!(setup.rows(SOURCES).await, ["docs", "docs/d.jsonl"]);
    let input = other_docs(&setup, "b", &["a.md", "x.md", "y.md"]);
    let outcome = setup.run_with(input, |_| {}).await.expect("loaded");
    assert_eq!(
        documents(outcome),
        [3, 0, 0, 0],
        "another folder takes nothing"
    );

    setup.remove("b.md");
    setup.write("d.jsonl", &[1, 3].map(line).concat());
    let dry = |settings: &mut Settings| settings.dry_run = true;
    let outcome = setup.run_with(setup.paths(), dry).await.expect("told");
    assert_eq!(documents(outcome), [0, 4, 2, 0]);
    let outcome = setup.run().await;
    assert_eq!((documents(outcome), outcome.embedded), ([0, 4, 2, 0], 0));
    let docs = setup.docs();
    let home = docs.parent().map(Path::display).expect("a folder");
    let expected = [
        format!("{home}/b/docs"),
        format!("{home}/docs"),
        format!("{home}/docs//d.jsonl"),
    ];
    assert_eq!(setup.rows(SOURCES).await, expected);
}

#[tokio::test]
async fn a_folder_that_was_moved_is_the_same_source_by_its_old_path() {
    let mut setup = Setup::with(&[("a.md", "one"), ("b.md", "two")]).await;
    setup.run().await;
    let old = setup.docs().display().to_string();
    let moved = setup.folder.path().join("manual");
    fs::rename(setup.docs(), &moved).expect("moved");
    fs::remove_file(moved.join("b.md")).expect("removed");
    let input = Input::paths(&[moved]).expect("a folder").with_source(&old);
    let outcome: Outcome = setup.run_with(input, |_| {}).await.expect("loaded");
    assert_eq!(documents(outcome), [1, 0, 1, 0]);
    assert_eq!(setup.passages().await, ["docs/a.md#1 = one"]);
}

#[tokio::test]
async fn a_source_with_the_name_of_its_folder_keeps_its_files_of_lines() {
    let line = "{\"id\": \"docs/x\", \"text\": \"a\"}\n";
    let mut setup = Setup::with(&[("a.md", "one"), ("b.jsonl", line)]).await;
    for expected in [[2, 0, 0, 0], [0, 2, 0, 0]] {
        let input = setup.paths().with_source("docs");
        let outcome = setup.run_with(input, |_| {}).await.expect("loaded");
        assert_eq!(documents(outcome), expected, "{}", setup.log());
        let sources = setup.rows(SOURCES).await;
        assert_eq!(sources, ["docs", "docs//b.jsonl"]);
    }
}

#[tokio::test]
async fn a_document_without_an_address_gets_that_of_its_path() {
    let front = "---\nurl: https://own.example/b\n---\nb";
    let mut setup = Setup::with(&[("deep/ä b.md", "one"), ("b.md", front)]).await;
    setup.run().await;
    let url = |settings: &mut Settings| settings.url = Some("https://help.example/{path}".into());
    let outcome = setup.run_with(setup.paths(), url).await.expect("loaded");
    assert_eq!(documents(outcome), [2, 0, 0, 0], "a new address is written");
    assert_eq!(
        setup.rows("SELECT url FROM documents ORDER BY 1").await,
        [
            "https://help.example/deep/%C3%A4%20b.md",
            "https://own.example/b"
        ]
    );
}

#[tokio::test]
async fn an_operator_of_another_role_is_never_used() {
    let mut setup = Setup::with(&[("a.md", "one"), ("b.md", "two")]).await;
    setup.run().await;
    let trap = "CREATE FUNCTION public.trap(varchar, text) RETURNS boolean LANGUAGE plpgsql
            AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
        CREATE OPERATOR public.> (LEFTARG = varchar, RIGHTARG = text, FUNCTION = public.trap);
        CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = text, FUNCTION = public.trap);
        ALTER TABLE documents ALTER document_id TYPE varchar";
    setup.fixture.given(trap).await;
    setup.write("a.md", "changed");
    setup.remove("b.md");
    assert_eq!(documents(setup.run().await), [1, 0, 1, 0]);
}
