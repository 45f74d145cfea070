//! The command `sync`, and a server that keeps tables in step itself.

use ziggurat_black_box::{Postgres, Program, until};

use crate::support::{Home, database, question, server};

const TABLE: &str = "CREATE EXTENSION IF NOT EXISTS vector;
    CREATE TABLE documents (id text PRIMARY KEY, content text, embedding vector(256));
    INSERT INTO documents VALUES ('old', 'Kettles are descaled with vinegar.')";

/// Returns a configuration with a table that is kept in step, and these further keys of the
/// section.
fn configuration(postgres: &Postgres, more: &str) -> String {
    let database = database(postgres);
    format!(
        "{}pipelines:\n- name: docs\n  database: {database}\n  tables: [{{table: documents, \
         text_column: content, vector_column: embedding, id_column: id, sync: true}}]\n  ingest: \
         {{database: {database}{more}}}\n  embedding_llm: {{provider: local}}\n  rag_llm: \
         {{provider: local}}\n",
        server("")
    )
}

fn without_vector(postgres: &Postgres) -> i64 {
    postgres.count("SELECT count(*) FROM documents WHERE embedding IS NULL")
}

#[test]
fn a_table_is_kept_in_step_from_the_installation_to_its_end() {
    let postgres = Postgres::with(TABLE);
    let home = Home::with(&configuration(&postgres, ""));
    let sync = |words: &[&str]| {
        let words: Vec<_> = ["sync"].iter().chain(words).copied().collect();
        home.ran(&words)
    };
    let early = sync(&["status"]);
    assert_eq!(early.code, Some(1));
    assert!(
        early.stderr.contains("it has no triggers for sync"),
        "{}",
        early.stderr
    );

    let printed = sync(&["install", "-pipeline", "docs"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for part in [
        "BEGIN;\nCREATE TABLE IF NOT EXISTS \"public\".\"documents_sync_queue\" (",
        "SECURITY DEFINER SET search_path = pg_catalog, pg_temp",
    ] {
        assert!(
            printed.stdout.contains(part),
            "{part} in {}",
            printed.stdout
        );
    }
    // The printed statements run as they are.
    postgres.run(&printed.stdout);
    let applied = sync(&["install", "-apply"]);
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    let filled = sync(&["backfill"]);
    assert_eq!(filled.code, Some(0), "{}", filled.stderr);
    assert!(
        filled.stdout.contains("documents: 1 of 1 rows"),
        "{}",
        filled.stdout
    );
    assert_eq!(without_vector(&postgres), 0);

    postgres.run("INSERT INTO documents VALUES ('new', 'Wool is washed by hand.')");
    let status = sync(&["status"]);
    let figures = "PIPELINE  TABLE      BACKLOG  OLDEST";
    assert!(status.stdout.starts_with(figures), "{}", status.stdout);
    assert!(
        status.stdout.contains("\ndocs      documents  1        "),
        "{}",
        status.stdout
    );
    let program = Program::start_on_stdout(&mut home.command(&["sync", "run"]));
    program.wait_for("sync works");
    until("the vectors are made", || without_vector(&postgres) == 0);
    postgres
        .run("UPDATE documents SET content = 'Wool is washed in cold water.', embedding = NULL");
    until("the vectors are made", || without_vector(&postgres) == 0);

    let retried = sync(&["retry"]);
    assert_eq!(retried.stdout, "documents: 0 rows to be tried again\n");
    let removed = sync(&["uninstall", "-apply"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'documents_sync%'";
    assert_eq!(postgres.count(left), 0);
}

#[test]
fn the_server_keeps_tables_in_step_itself_and_shows_it() {
    let postgres = Postgres::with(TABLE);
    let home = Home::with(&configuration(&postgres, ", sync: {in_server: true}"));
    let (program, client) = home.serve();
    program.wait_for("sync is interrupted");
    let sync = || client.get("/v1/health").json()["pipelines"][0]["sync"][0].clone();
    let broken = sync();
    assert_eq!(
        (&broken["table"], &broken["working"]),
        (&"documents".into(), &false.into())
    );
    let installed = home.ran(&["sync", "install", "-apply"]);
    assert_eq!(installed.code, Some(0), "{}", installed.stderr);
    until("it works", || sync()["working"] == true);
    assert_eq!(
        (&sync()["backlog"], &sync()["failed"]),
        (&0.into(), &0.into())
    );
    postgres.run("INSERT INTO documents VALUES ('new', 'Wool is washed by hand.')");
    until("the vectors are made", || without_vector(&postgres) == 1);
    let answer = client.post("/v1/pipelines/docs", &question("How is wool washed?"));
    assert!(answer.body.contains("washed by hand"), "{answer:?}");

    // After a reload the work goes on, or ends.
    let reloaded = "msg=\"configuration reloaded\"";
    program.until_it_says(reloaded, || {
        home.configure(&configuration(
            &postgres,
            ", sync: {in_server: true, concurrency: 1}",
        ));
    });
    postgres.run("UPDATE documents SET content = content || ' Twice.', embedding = NULL");
    until("the vectors are made", || without_vector(&postgres) == 0);
    program.until_it_says(reloaded, || home.configure(&configuration(&postgres, "")));
    assert!(client.get("/v1/health").json()["pipelines"][0]["sync"].is_null());
    postgres.run("INSERT INTO documents VALUES ('late', 'Ferns like shade.')");
    // The worker is gone when its lock is.
    postgres.wait_until(
        "NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid \
         FROM pg_database WHERE datname = current_database()))",
    );
    assert_eq!(without_vector(&postgres), 1);
}

#[test]
fn what_cannot_be_kept_in_step_is_refused() {
    let postgres = Postgres::with(TABLE);
    let home = Home::with(&configuration(&postgres, ""));
    let ran = home.ran(&["ingest", "x"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("table documents has sync: true"),
        "{}",
        ran.stderr
    );
    let ran = home.ran(&["sync", "run"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("`ziggurat-rag sync install`"),
        "{}",
        ran.stderr
    );
    home.configure(&configuration(&postgres, "").replace(", sync: true", ""));
    let ran = home.ran(&["sync", "status"]);
    assert!(
        ran.stderr.contains("no table has sync: true"),
        "{}",
        ran.stderr
    );
    assert_eq!(home.ran(&["sync", "walk"]).code, Some(2));
}
