use serde_json::json;
use sqlx::raw_sql;
use tempfile::TempDir;

use super::*;
use crate::{Conversations, Page};

const TABLE: &str = "CREATE TABLE conversations (id TEXT PRIMARY KEY, username TEXT NOT NULL, \
    title TEXT NOT NULL, provider TEXT, model TEXT, connection TEXT, messages TEXT NOT NULL, \
    created_at TIMESTAMP, updated_at TIMESTAMP); \
    CREATE INDEX conversations_username ON conversations (username); \
    CREATE INDEX conversations_updated_at ON conversations (updated_at);";

/// Creates a folder with a file made by another program.
async fn folder(sql: &'static str, more: &'static str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("conversations.db"))
        .create_if_missing(true);
    let mut connection = options.connect().await.expect("opened");
    for statements in [sql, more] {
        let done = raw_sql(statements).execute(&mut connection).await;
        done.expect("a table");
    }
    connection.close().await.expect("closed");
    folder
}

#[tokio::test]
async fn conversations_of_the_reference_are_taken_over_once() {
    let folder = folder(
        TABLE,
        r#"INSERT INTO conversations VALUES
        ('conv_1', 'alice', 'Ferns', 'anthropic', 'm', 'main',
         '[{"role":"user","content":"Where do ferns grow?","extra":1}]',
         '2025-01-15 10:30:00.5+01:00', '2025-01-16 08:00:00 +0000 UTC m=+0.5'),
        ('conv_2', 'alice', 'Nothing', NULL, NULL, NULL, 'null',
         '2025-01-15 10:30:00', 1736942400),
        ('conv_3', 'bob', 'His', 'p', 'm', 'c', '[]', '2025-01-15T10:30:00Z', 'soon')"#,
    )
    .await;
    for _ in 0..2 {
        let (store, writer) = Conversations::local(folder.path()).await.expect("opened");
        let listed = store.list("alice", Page::default()).await.expect("listed");
        let listed: Vec<_> = listed.iter().map(|one| (&*one.id, &*one.preview)).collect();
        assert_eq!(listed, [("conv_1", "Where do ferns grow?"), ("conv_2", "")]);
        let found = store.find("alice", "conv_1").await.expect("read");
        let found = serde_json::to_value(found.expect("there")).expect("JSON");
        assert_eq!(
            found,
            json!({
                "id": "conv_1", "username": "alice", "title": "Ferns",
                "provider": "anthropic", "model": "m", "connection": "main",
                "messages": [{"role": "user", "content": "Where do ferns grow?", "extra": 1}],
                "created_at": "2025-01-15T09:30:00.500000Z",
                "updated_at": "2025-01-16T08:00:00.000000Z",
            })
        );
        let bobs = store.list("bob", Page::default()).await.expect("listed");
        assert_eq!(bobs.len(), 1);
        drop(store);
        writer.run().await;
    }
}

#[tokio::test]
async fn an_unknown_file_is_unchanged_and_the_error_names_a_solution() {
    let other = "CREATE TABLE conversations (id INTEGER, text TEXT);";
    let folder = folder(other, "INSERT INTO conversations VALUES (1, 'mine')").await;
    let path = folder.path().join("conversations.db");
    let before = std::fs::read(&path).expect("there");
    let refused = Conversations::local(folder.path())
        .await
        .expect_err("not ours");
    let said = refused.to_string();
    assert!(matches!(refused, StoreError::Foreign { .. }), "{said}");
    assert!(said.contains(&path.display().to_string()), "{said}");
    assert!(said.contains("data_dir"), "{said}");
    assert_eq!(std::fs::read(&path).expect("there"), before);

    std::fs::write(
        &path,
        "no database at all, but a text of some length".repeat(99),
    )
    .expect("written");
    let refused = Conversations::local(folder.path())
        .await
        .expect_err("not ours");
    assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
}

#[tokio::test]
async fn a_file_with_a_conversation_that_is_no_json_is_left_as_it_is() {
    let folder = folder(
        TABLE,
        "INSERT INTO conversations VALUES ('a', 'u', 't', 'p', 'm', 'c', '[]', 1, 1), \
         ('b', 'u', 't', 'p', 'm', 'c', 'oops', 1, 1)",
    )
    .await;
    let path = folder.path().join("conversations.db");
    let before = std::fs::read(&path).expect("there");
    let refused = Conversations::local(folder.path())
        .await
        .expect_err("not understood");
    assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
    assert_eq!(std::fs::read(&path).expect("there"), before);
}
