//! The triggers and the queue, and the rights they need.

use super::*;

const OBJECTS: &str = "SELECT relname::text FROM pg_class WHERE relname LIKE '%sync%'
    UNION ALL SELECT tgname::text FROM pg_trigger WHERE tgname LIKE '%sync%'
    UNION ALL SELECT proname::text FROM pg_proc WHERE proname LIKE '%sync%changed' ORDER BY 1";

#[tokio::test]
async fn installing_again_keeps_the_queue_and_uninstalling_removes_everything() {
    let mut setup = Setup::new().await;
    setup.given("INSERT INTO documents VALUES (1, 'one')").await;
    let before = setup.rows(OBJECTS).await;
    assert_eq!(before.len(), 11, "{before:?}");
    setup.sync().install().await.expect("again");
    assert_eq!(setup.rows(OBJECTS).await, before);
    assert_eq!(setup.status().await.backlog, 1);
    setup.work().await;
    for _ in 0..2 {
        setup.sync().uninstall().await.expect("removed");
        assert!(setup.rows(OBJECTS).await.is_empty());
    }
    setup.expect(&["one"]).await;
    let error = setup
        .sync()
        .check()
        .await
        .expect_err("nothing is installed")
        .to_string();
    assert!(
        error.contains("table documents: it has no triggers for sync"),
        "{error}"
    );
    assert!(error.contains("ziggurat-rag sync install"), "{error}");
}

#[tokio::test]
async fn ids_of_every_type_and_names_that_need_quotes_work() {
    let mut setup = Setup::bare().await;
    setup
        .given(
            r#"CREATE SCHEMA "my shop"; CREATE TABLE "my shop"."the ""Docs'" ("Id" uuid PRIMARY KEY
                   DEFAULT gen_random_uuid(), "the text" varchar(50), "V" halfvec(256));"#,
        )
        .await;
    let table = SyncedTable {
        table: r#""my shop"."the ""Docs'""#.to_owned(),
        id: "Id".to_owned(),
        text: "the text".to_owned(),
        vector: "V".to_owned(),
    };
    let sync = TableSync::new(setup.pool.clone(), table);
    sync.install().await.expect("installed");
    setup
        .given(r#"INSERT INTO "my shop"."the ""Docs'" ("the text") VALUES ('a'), ('b')"#)
        .await;
    let worker = Worker::new(sync, Embedder::local(), WorkerSettings::default());
    let progress = crate::Backfill::new(&worker, false).run(|_| {}).await;
    progress.expect("filled in");
    let count = r#"SELECT count("V")::text FROM "my shop"."the ""Docs'""#;
    assert_eq!(setup.rows(count).await, ["2"]);
}

#[tokio::test]
async fn a_table_is_found_by_the_name_that_questions_use() {
    for name in ["it's", "a\"b", "x$ziggurat$y", "Mixed", "$ziggurat$"] {
        let mut setup = Setup::bare().await;
        let table = SyncedTable {
            table: name.to_owned(),
            id: "id".to_owned(),
            text: "content".to_owned(),
            vector: "embedding".to_owned(),
        };
        let quoted = ziggurat_postgres::quoted(name);
        let made = format!(
            "CREATE TABLE {quoted} (id varchar PRIMARY KEY, content text, embedding vector(256))"
        );
        setup.given(&made).await;
        let sync = TableSync::new(setup.pool.clone(), table);
        sync.install().await.expect(name);
        let row = format!("INSERT INTO {quoted} VALUES ('1', 'one')");
        setup.given(&row).await;
        assert_eq!(sync.status().await.expect(name).backlog, 1, "{name}");
    }
}

#[tokio::test]
async fn an_operator_of_another_role_is_never_used() {
    let mut setup = Setup::bare().await;
    setup
        .given(
            "CREATE FUNCTION public.trap(varchar, varchar) RETURNS boolean LANGUAGE plpgsql
                 AS 'BEGIN RAISE EXCEPTION ''trapped''; END';
             CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.trap);
             CREATE OPERATOR public.> (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.trap);
             CREATE TABLE notes (id varchar PRIMARY KEY, content text, embedding vector(256));
             INSERT INTO notes VALUES ('1', 'one'), ('2', 'two')",
        )
        .await;
    let table = SyncedTable {
        table: "notes".to_owned(),
        id: "id".to_owned(),
        text: "content".to_owned(),
        vector: "embedding".to_owned(),
    };
    let sync = TableSync::new(setup.pool.clone(), table);
    for statement in sync.install_statements().await.expect("printed") {
        setup.given(&statement).await;
    }
    setup
        .given("UPDATE notes SET content = 'three' WHERE content = 'two'")
        .await;
    let worker = Worker::new(sync, Embedder::local(), WorkerSettings::default());
    let filled = crate::Backfill::new(&worker, false).run(|_| {}).await;
    filled.expect("filled in");
    let count = "SELECT count(embedding)::text FROM notes";
    assert_eq!(setup.rows(count).await, ["2"]);
}

#[tokio::test]
async fn roles_that_write_to_the_table_need_no_right_on_the_queue() {
    let mut setup = Setup::new().await;
    setup
        .given(
            "DROP ROLE IF EXISTS sync_test_application; CREATE ROLE sync_test_application;
             GRANT INSERT, UPDATE, DELETE, SELECT ON documents TO sync_test_application;
             SET ROLE sync_test_application;
             INSERT INTO documents VALUES (1, 'one'), (2, 'two'), (3, 'three');
             UPDATE documents SET content = 'other' WHERE id = 1;
             DELETE FROM documents WHERE id = 2",
        )
        .await;
    let refused = sqlx::raw_sql("SELECT 1 FROM documents_sync_queue")
        .execute(&mut setup.fixture.outside)
        .await;
    assert!(
        refused
            .expect_err("no right")
            .to_string()
            .contains("permission denied")
    );
    setup
        .given("RESET ROLE; DROP OWNED BY sync_test_application; DROP ROLE sync_test_application")
        .await;
    setup.work().await;
    setup.expect(&["other", "three"]).await;
}

#[tokio::test]
async fn a_role_without_rights_hears_which_it_needs() {
    let mut setup = Setup::bare().await;
    setup
        .given(
            "DROP ROLE IF EXISTS sync_test_writer;
             CREATE ROLE sync_test_writer LOGIN PASSWORD 'writer'; REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        )
        .await;
    let pool = setup.fixture.pool(|settings| {
        settings.user = "sync_test_writer".to_owned();
        settings.password = "writer".to_owned().into();
    });
    let sync = TableSync::new(pool, setup.sync().table().clone());
    let error = sync.install().await.expect_err("no right").to_string();
    assert!(
        error.contains("TRIGGER on it and CREATE on its schema"),
        "{error}"
    );
    // Another role runs the printed statements.
    let statements = sync.install_statements().await.expect("printed");
    for statement in &statements {
        setup.given(statement).await;
    }
    sync.check().await.expect("installed");
    setup.given("INSERT INTO documents VALUES (1, 'one')").await;
    let worker = Worker::new(sync.clone(), Embedder::local(), WorkerSettings::default());
    crate::Backfill::new(&worker, false)
        .run(|_| {})
        .await
        .expect("filled in");
    setup.expect(&["one"]).await;
    setup
        .given("REVOKE ALL ON documents_sync_queue FROM sync_test_writer")
        .await;
    let error = sync.status().await.expect_err("no right").to_string();
    assert!(
        error.contains("SELECT, INSERT, UPDATE and DELETE on the queue"),
        "{error}"
    );
    setup
        .given("DROP OWNED BY sync_test_writer; DROP ROLE sync_test_writer")
        .await;
}

#[tokio::test]
async fn a_table_of_another_role_is_not_used_as_the_queue() {
    let mut setup = Setup::bare().await;
    setup
        .given(
            "DROP ROLE IF EXISTS sync_test_stranger; CREATE ROLE sync_test_stranger;
             CREATE TABLE documents_sync_queue (row_id bigint);
             ALTER TABLE documents_sync_queue OWNER TO sync_test_stranger",
        )
        .await;
    let error = setup
        .sync()
        .install()
        .await
        .expect_err("refused")
        .to_string();
    assert!(
        error.contains("documents_sync_queue has an owner that is neither"),
        "{error}"
    );
    setup
        .given("DROP OWNED BY sync_test_stranger; DROP ROLE sync_test_stranger")
        .await;
    setup.sync().install().await.expect("installed");
}

#[tokio::test]
async fn a_table_that_does_not_fit_is_refused_with_what_to_do() {
    let mut setup = Setup::bare().await;
    for (sql, problem) in [
        (
            "ALTER TABLE documents ALTER embedding SET NOT NULL",
            "column embedding is NOT NULL, but a new row has no vector yet: run ALTER TABLE \
             documents ALTER COLUMN \"embedding\" DROP NOT NULL",
        ),
        (
            "ALTER TABLE documents ALTER embedding DROP NOT NULL, ALTER embedding TYPE text",
            "column embedding has type text and not vector or halfvec",
        ),
        (
            "ALTER TABLE documents DROP CONSTRAINT documents_pkey",
            "column id has no unique index of its own, so it does not identify a row: add a \
             primary key or a unique index",
        ),
        (
            "ALTER TABLE documents DROP content",
            "there is no column content",
        ),
        (
            "ALTER TABLE documents RENAME TO other; CREATE VIEW documents AS SELECT * FROM other",
            "only a table can have the triggers",
        ),
        ("DROP VIEW documents", "there is none with this name"),
    ] {
        setup.given(sql).await;
        let refused = setup.sync().install().await.expect_err(problem);
        assert_eq!(refused.to_string(), format!("table documents: {problem}"));
    }
}
