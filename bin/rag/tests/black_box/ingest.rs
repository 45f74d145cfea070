//! The command `ingest`, and answers from what it has loaded.

use std::{fs, io::Write as _, path::PathBuf, process::Stdio};

use ziggurat_black_box::{Postgres, Ran};

use crate::support::{Home, database, pipeline, question, server};

/// Returns a configuration with a section `ingest`.
fn configuration(postgres: &Postgres, more: &str) -> String {
    let ingest = format!("  ingest: {{database: {}{more}}}\n", database(postgres));
    let entry = pipeline("docs", postgres, &ingest);
    format!("{}pipelines:\n{entry}", server(""))
}

/// Makes a folder with two documents.
fn handbook(home: &Home) -> PathBuf {
    let folder = home.file("handbook");
    fs::create_dir_all(&folder).expect("a folder");
    home.write(
        "handbook/wool.md",
        "# Wool\n\n## Washing\n\nWool is washed by hand.\n",
    );
    home.write("handbook/ferns.txt", "Ferns like shade.");
    folder
}

fn ingest(home: &Home, words: &[&str]) -> Ran {
    let words: Vec<_> = ["ingest"].iter().chain(words).copied().collect();
    home.ran(&words)
}

#[test]
fn a_folder_is_loaded_and_answers_come_from_it() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(&postgres, ""));
    let folder = handbook(&home);
    let folder = folder.to_str().expect("UTF-8");
    let ran = ingest(&home, &["-pipeline", "docs", folder]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout
            .starts_with("2 files  2 passages  2 embedded  0 failed  "),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stderr.contains("table documents created"),
        "{}",
        ran.stderr
    );

    let again = ingest(&home, &[folder, "-concurrency", "1"]);
    assert!(
        again.stdout.contains("0 documents written, 2 unchanged"),
        "{}",
        again.stdout
    );
    let (_program, client) = home.serve();
    let answer = client.post("/v1/pipelines/docs", &question("How is wool washed?"));
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = answer.json()["answer"].to_string();
    assert!(text.contains("washed by hand"), "{text}");
}

#[test]
fn what_is_skipped_is_listed_and_the_exit_code_is_1() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(&postgres, ""));
    let folder = handbook(&home);
    fs::write(folder.join("bad.md"), b"\xff").expect("written");
    fs::write(folder.join("photo.png"), b"").expect("written");
    let folder = folder.to_str().expect("UTF-8");
    let ran = ingest(&home, &[folder]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for line in [
        "skipped handbook/bad.md: it is not UTF-8\n",
        "left out handbook/photo.png: no format that is read\n",
        "1 could not be read; the others are in the table\n",
    ] {
        assert!(ran.stderr.contains(line), "{line} in {}", ran.stderr);
    }
    assert!(ran.stdout.contains("2 documents written"), "{}", ran.stdout);
}

#[test]
fn lines_of_json_are_read_from_standard_input() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(&postgres, ""));
    let mut command = home.command(&["ingest", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("started");
    let mut input = child.stdin.take().expect("piped");
    input
        .write_all(b"{\"id\": \"a\", \"text\": \"Ferns like shade.\"}\n")
        .expect("written");
    drop(input);
    let ran = Ran::from(child.wait_with_output().expect("ended"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 documents written"), "{}", ran.stdout);
}

#[test]
fn a_table_that_is_not_created_is_printed_as_statements() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(&postgres, ", create: false"));
    let folder = handbook(&home);
    let ran = ingest(&home, &[folder.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.starts_with("CREATE TABLE documents ("),
        "{}",
        ran.stdout
    );
    let reason = "there is no table documents, and pipelines[].ingest.create is false";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
}

#[test]
fn a_command_line_without_documents_or_a_role_that_writes_is_refused() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(&postgres, ""));
    for (words, reason) in [
        (&[][..], "name a folder or a file"),
        (
            &["-", "x"],
            "standard input cannot be read together with other paths",
        ),
        (
            &["-pipeline", "other", "x"],
            "there is no pipeline other, only docs",
        ),
        (&["nowhere"], "nowhere: No such file"),
    ] {
        let ran = ingest(&home, words);
        assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{words:?}");
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
    home.configure(&format!("pipelines:\n{}", pipeline("docs", &postgres, "")));
    let ran = ingest(&home, &["x"]);
    let reason = "pipeline docs has no section ingest: it needs the role that writes";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
}
