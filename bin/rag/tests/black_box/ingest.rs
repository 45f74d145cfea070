//! The command `ingest`, and answers from what it has loaded.

use std::{
    fmt::Write as _,
    fs,
    io::{Cursor, Write as _},
    path::PathBuf,
    process::Stdio,
};

use ziggurat_black_box::{Postgres, Ran};
use zip::{ZipWriter, write::SimpleFileOptions};

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
        again.stdout.contains("documents: 0 written, 2 unchanged"),
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
    assert!(
        ran.stdout.contains("documents: 2 written"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_second_folder_with_the_same_name_keeps_the_first_and_a_wrong_one_is_asked_about() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(&postgres, ""));
    let folder = |below: &str, documents: std::ops::Range<usize>| {
        let folder = home.file(below).join("docs");
        fs::create_dir_all(&folder).expect("a folder");
        for number in documents {
            fs::write(folder.join(format!("{number}.md")), below).expect("written");
        }
        folder.to_str().expect("UTF-8").to_owned()
    };
    let (first, second) = (folder("a", 0..46), folder("b", 40..50));
    for (path, expected) in [
        (&first, "46 written"),
        (&second, "10 written, 0 unchanged, 0 removed"),
    ] {
        let ran = ingest(&home, &[path]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(expected), "{}", ran.stdout);
    }
    let documents = "SELECT count(DISTINCT document_id) FROM documents";
    assert_eq!(postgres.count(documents), 56);

    let wrong = ingest(&home, &["-source", &first, &second]);
    assert_eq!(
        (wrong.code, &*wrong.stdout),
        (Some(2), ""),
        "{}",
        wrong.stderr
    );
    let reason = format!("40 of the 46 documents of source {first} are gone: nothing was removed");
    assert!(wrong.stderr.contains(&reason), "{}", wrong.stderr);
    assert_eq!(postgres.count(documents), 56);
    let ran = ingest(&home, &["-source", &first, "-remove", &second]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(postgres.count(documents), 20);
    let ran = ingest(&home, &["-source", "x", &first, &second]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("-source is for one folder or file"),
        "{}",
        ran.stderr
    );
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
    assert!(
        ran.stdout.contains("documents: 1 written"),
        "{}",
        ran.stdout
    );
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

/// Returns an archive of Word with this text as XML.
fn docx(xml: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    writer
        .start_file("word/document.xml", options)
        .expect("a part");
    writer.write_all(xml).expect("written");
    writer.finish().expect("an archive").into_inner()
}

/// Returns a PDF with a page for each text; a page without text has an empty one.
fn pdf(texts: &[&str]) -> Vec<u8> {
    let kids: Vec<_> = (0..texts.len())
        .map(|at| format!("{} 0 R", 4 + 2 * at))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} >>",
            kids.join(" "),
            kids.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    for (at, text) in texts.iter().enumerate() {
        // Each word has a line of its own.
        let words = text.split(' ').map(|word| format!("({word}) Tj 0 -9 Td "));
        let shown = format!("BT /F1 9 Tf 9 99 Td {}ET", words.collect::<String>());
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {} 0 R /Resources << \
             /Font << /F1 3 0 R >> >> >>",
            5 + 2 * at
        ));
        objects.push(format!(
            "<< /Length {} >>\nstream\n{shown}\nendstream",
            shown.len()
        ));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (at, object) in objects.iter().enumerate() {
        let _ = writeln!(places, "{:010} 00000 n ", file.len());
        let _ = writeln!(file, "{} 0 obj\n{object}\nendobj", at + 1);
    }
    let (start, size) = (file.len(), objects.len() + 1);
    let head = format!("xref\n0 {size}\n0000000000 65535 f \n{places}");
    let trailer = format!("trailer\n<< /Size {size} /Root 1 0 R >>\n");
    file = [file, head, trailer, format!("startxref\n{start}\n%%EOF\n")].concat();
    file.into_bytes()
}

#[test]
fn pdf_and_docx_are_read_and_hostile_ones_are_named() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(&postgres, ""));
    let folder = handbook(&home);
    let write = |name: &str, bytes: Vec<u8>| fs::write(folder.join(name), bytes).expect("written");
    write(
        "a.docx",
        docx(b"<w:p><w:r><w:t>Brass is polished.</w:t></w:r></w:p>"),
    );
    write(
        "b.pdf",
        pdf(&["Kettles are descaled.", "", "Slate is split."]),
    );
    write("bomb.docx", docx(&vec![b' '; 100 << 20]));
    write(
        "deep.pdf",
        [b"%PDF-1.4\n1 0 obj\n", &*vec![b'['; 1 << 20]].concat(),
    );
    let folder = folder.to_str().expect("UTF-8");
    let ran = ingest(&home, &[folder]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for line in [
        "skipped handbook/b.pdf, page 2: it has no text layer\n",
        "skipped handbook/bomb.docx: a part of it has more than 67108864 bytes\n",
        "skipped handbook/deep.pdf: ",
    ] {
        assert!(ran.stderr.contains(line), "{line} in {}", ran.stderr);
    }
    let found = |content: &str, id: &str| {
        let sql = format!(
            "SELECT count(*) FROM documents WHERE content = '{content}' AND id = 'handbook/{id}'"
        );
        postgres.count(&sql)
    };
    assert_eq!(found("Brass is polished.", "a.docx#1"), 1);
    assert_eq!(found("page 1\n\nKettles\nare\ndescaled.", "b.pdf#1"), 1);
    assert_eq!(found("page 3\n\nSlate\nis\nsplit.", "b.pdf#2"), 1);
    let again = ingest(&home, &[folder]);
    assert!(again.stdout.contains("  0 embedded  "), "{}", again.stdout);
}

#[test]
fn a_reader_that_needs_more_than_its_limits_is_ended() {
    let postgres = Postgres::with("");
    let home = Home::with(&configuration(
        &postgres,
        ", reader_memory_mib: 256, reader_seconds: 1",
    ));
    let folder = handbook(&home);
    // A paragraph for each four bytes of a part that is not too large itself.
    let xml = format!(
        "<w:body>{}</w:body>",
        "<w:p>".repeat(200) + &"<w:t>x</w:t>".repeat(5 << 20)
    );
    fs::write(folder.join("large.docx"), docx(xml.as_bytes())).expect("written");
    let ran = ingest(&home, &[folder.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("skipped handbook/large.docx: "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout.contains("documents: 2 written"),
        "{}",
        ran.stdout
    );
}
