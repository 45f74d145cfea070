//! Behaviour common to all stores.

use std::{collections::HashSet, os::unix::fs::PermissionsExt as _};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sqlx::ConnectOptions as _;
use tempfile::TempDir;
use tokio::task::JoinSet;
use ziggurat_postgres::{fixture::Fixture, pool::Pools};

use super::*;

/// A store of either kind, and the resources it needs.
struct TestStore {
    store: Conversations,
    _folder: Option<TempDir>,
    _fixture: Option<Fixture>,
    _tasks: JoinSet<()>,
}

async fn file() -> TestStore {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, writer) = Conversations::local(folder.path()).await.expect("opened");
    TestStore {
        store,
        _folder: Some(folder),
        _fixture: None,
        _tasks: JoinSet::from_iter([writer.run()]),
    }
}

async fn database() -> TestStore {
    let fixture = Fixture::new().await;
    let (state, tasks) = state(&fixture);
    TestStore {
        store: Conversations::replicated(state),
        _folder: None,
        _fixture: Some(fixture),
        _tasks: tasks,
    }
}

/// Connects to the database of a fixture as a new replica.
pub(super) fn state(fixture: &Fixture) -> (StateDatabase, JoinSet<()>) {
    let mut settings = fixture.settings.clone();
    settings.allow_writes = true;
    let (pools, reaper) = Pools::new();
    let database = settings.try_into().expect("a valid description");
    let state = StateDatabase::new(&pools, database);
    (state, JoinSet::from_iter([reaper.run()]))
}

fn now() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().expect("a date")
}

fn draft(text: &str) -> Draft {
    let messages = json!([{"role": "user", "content": text}]);
    serde_json::from_value(json!({"provider": "p", "model": "m", "messages": messages}))
        .expect("a draft")
}

fn made(owner: &str, text: &str, at: Timestamp) -> Conversation {
    draft(text).into_conversation(owner, at).expect("made")
}

async fn keeps_what_it_is_given(store: Conversations) {
    let first = made("alice", "one", now());
    store.create(first.clone()).await.expect("created");
    let found = store.find("alice", &first.id).await.expect("found");
    let found = found.expect("there");
    assert_eq!(
        serde_json::to_value(&found).expect("JSON"),
        serde_json::to_value(&first).expect("JSON")
    );
    assert_eq!(found.created_at, "2026-11-21T10:00:00.000000Z");

    let later = now() + SignedDuration::from_secs(1);
    let revision = draft("two").into_revision(later).expect("made");
    let replaced = store.replace("alice", &first.id, revision).await;
    let replaced = replaced.expect("replaced").expect("there");
    assert_eq!(replaced.title, "one", "the title stays");
    assert_eq!(replaced.created_at, first.created_at);
    assert_eq!(replaced.updated_at, "2026-11-21T10:00:01.000000Z");
    assert!(replaced.messages.get().contains("two"));

    let later = now() + SignedDuration::from_secs(2);
    assert!(
        store
            .rename("alice", &first.id, "x\0y", later)
            .await
            .expect("renamed")
    );
    let listed = store.list("alice", Page::default()).await.expect("listed");
    let expected = Listed {
        id: first.id.clone(),
        title: "x\u{fffd}y".to_owned(),
        connection: String::new(),
        created_at: first.created_at.clone(),
        updated_at: "2026-11-21T10:00:02.000000Z".to_owned(),
        preview: "two".to_owned(),
    };
    assert_eq!(listed, [expected]);

    assert!(store.delete("alice", &first.id).await.expect("deleted"));
    assert!(!store.delete("alice", &first.id).await.expect("asked"));
    assert!(
        store
            .find("alice", &first.id)
            .await
            .expect("asked")
            .is_none()
    );
}

async fn lists_what_changed_last_first(store: Conversations) {
    let mut ids = Vec::new();
    for second in 0..5 {
        let at = now() + SignedDuration::from_secs(second);
        let new = made("alice", "same", at);
        ids.insert(0, new.id.clone());
        store.create(new).await.expect("created");
    }
    let page = async |limit, offset| -> Vec<String> {
        let page = Page { limit, offset };
        let listed = store.list("alice", page).await.expect("listed");
        listed.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(page(50, 0).await, ids);
    assert_eq!(page(2, 1).await, ids[1..3]);
    assert_eq!(page(2, 4).await, ids[4..]);
    assert_eq!(page(2, u64::MAX).await, [""; 0]);
    // The oldest moves to the top when it changes.
    let at = now() + SignedDuration::from_mins(1);
    store
        .rename("alice", &ids[4], "new", at)
        .await
        .expect("renamed");
    assert_eq!(page(1, 0).await, ids[4..]);
}

async fn keeps_users_apart(store: Conversations) {
    let of_alice = made("alice", "secret", now());
    let id = of_alice.id.clone();
    store.create(of_alice).await.expect("created");
    store
        .create(made("bob", "own", now()))
        .await
        .expect("created");
    assert!(store.find("bob", &id).await.expect("asked").is_none());
    let revision = draft("mine").into_revision(now()).expect("made");
    assert!(
        store
            .replace("bob", &id, revision)
            .await
            .expect("asked")
            .is_none()
    );
    assert!(
        !store
            .rename("bob", &id, "mine", now())
            .await
            .expect("asked")
    );
    assert!(!store.delete("bob", &id).await.expect("asked"));
    assert_eq!(store.delete_all("bob").await.expect("deleted"), 1);
    assert_eq!(store.delete_all("bob").await.expect("deleted"), 0);
    let left = store.list("alice", Page::default()).await.expect("listed");
    assert_eq!((left.len(), &*left[0].title), (1, "secret"));
    for odd in ["", "x", "\0", "' OR 1=1 --"] {
        assert!(
            store.find("alice", odd).await.expect(odd).is_none(),
            "{odd:?}"
        );
        assert!(!store.delete("alice", odd).await.expect(odd), "{odd:?}");
    }
}

/// Writes from many tasks: each reads its own writes, and all of them are kept.
async fn takes_many_at_once(store: Conversations) {
    let mut writers = JoinSet::new();
    for writer in 0..40 {
        let store = store.clone();
        writers.spawn(async move {
            let mut ids = Vec::new();
            for turn in 0..5 {
                let new = made("alice", &format!("{writer} {turn}"), now());
                let id = new.id.clone();
                store.create(new).await.expect("created");
                assert!(store.find("alice", &id).await.expect("read").is_some());
                if turn == 4 {
                    assert!(store.delete("alice", &id).await.expect("deleted"));
                } else {
                    ids.push(id);
                }
            }
            ids
        });
    }
    let ids: HashSet<_> = writers.join_all().await.into_iter().flatten().collect();
    let page = Page {
        limit: 1000,
        offset: 0,
    };
    let listed = store.list("alice", page).await.expect("listed");
    assert_eq!(listed.len(), 160);
    assert!(listed.iter().all(|one| ids.contains(&one.id)));
}

async fn keeps_what_is_large(store: Conversations) {
    let text = "long \u{1F600} ".repeat(200_000);
    let new = made("alice", &text, now());
    let id = new.id.clone();
    store.create(new.clone()).await.expect("created");
    let found = store
        .find("alice", &id)
        .await
        .expect("found")
        .expect("there");
    assert_eq!(found.messages.get(), new.messages.get());
}

async fn finds_what_has_the_words(store: Conversations) {
    let mut ids = Vec::new();
    // Several have the same time.
    for number in 0..20 {
        let at = now() + SignedDuration::from_secs(number / 3);
        let text = if number % 2 == 0 {
            "Green FERNS"
        } else {
            "moss"
        };
        let new = made("alice", text, at);
        if number % 2 == 0 {
            ids.push((new.updated_at.clone(), new.id.clone()));
        }
        store.create(new).await.expect("created");
    }
    store
        .create(made("bob", "green ferns", now()))
        .await
        .expect("created");
    ids.sort();
    let ids: Vec<_> = ids.into_iter().rev().map(|(_, id)| id).collect();
    let search = async |text, limit, offset| -> Vec<String> {
        let words = Words::of(text).expect("words");
        let page = Page { limit, offset };
        let found = store.search("alice", &words, page).await.expect("searched");
        found.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(search("ferns GREEN", 50, 0).await, ids);
    assert_eq!(search("ferns", 3, 4).await, ids[4..7]);
    assert_eq!(search("ferns", 3, 9).await, ids[9..]);
    assert_eq!(search("ferns moss", 50, 0).await, [""; 0]);
}

async fn keeps_accounts_of_the_same_name_apart(store: Conversations) {
    let of = |account: &str, text: &str| Conversation {
        account: account.to_owned(),
        ..made("alice", text, now())
    };
    let (old, new) = (of("account_1", "old"), of("account_2", "new"));
    for conversation in [&old, &new] {
        store.create(conversation.clone()).await.expect("created");
        let item = ItemContent {
            kind: ItemKind::Query,
            title: conversation.title.clone(),
            text: "SELECT 1".to_owned(),
            database: None,
            tags: Vec::new(),
            shared: false,
        };
        let item = Item {
            account: conversation.account.clone(),
            ..item.into_item("alice", now()).expect("made")
        };
        assert!(store.library().create(&item).await.expect("created"));
    }
    let count = async |account: &str| {
        let listed = store.list(account, Page::default()).await;
        let databases = Vec::new();
        let reader = Reader { account, databases };
        let (library, filter) = (store.library(), Filter::default());
        let items = library.list(&reader, &filter, Page::default()).await;
        (listed.expect("listed").len(), items.expect("listed").len())
    };
    let found = store.find("account_2", &new.id).await.expect("asked");
    assert_eq!(found.expect("there").username, "alice");
    assert!(
        store
            .find("account_2", &old.id)
            .await
            .expect("asked")
            .is_none()
    );
    assert_eq!(
        (count("account_1").await, count("alice").await),
        ((1, 1), (0, 0))
    );
    store.delete_account("account_1").await.expect("deleted");
    assert_eq!(
        (count("account_1").await, count("account_2").await),
        ((0, 0), (1, 1))
    );
}

macro_rules! for_every_store {
    ($($name:ident),* $(,)?) => {
        $(
            mod $name {
                #[tokio::test(flavor = "multi_thread")]
                async fn in_a_file() {
                    let test_store = super::file().await;
                    super::$name(test_store.store.clone()).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn in_postgresql() {
                    let test_store = super::database().await;
                    super::$name(test_store.store.clone()).await;
                }
            }
        )*
    };
}

mod library;

for_every_store!(
    keeps_what_it_is_given,
    lists_what_changed_last_first,
    keeps_users_apart,
    takes_many_at_once,
    keeps_what_is_large,
    finds_what_has_the_words,
    keeps_accounts_of_the_same_name_apart,
);

#[tokio::test]
async fn a_file_of_an_earlier_version_is_kept_under_the_names_of_its_users() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("conversations.db");
    drop(prepare(folder.path(), &path).expect("made"));
    let writer = FileOptions::new(&path).writer();
    let earlier = [
        (
            "conversations",
            include_str!("sqlite/0001_conversations.sql"),
        ),
        ("library", include_str!("sqlite/0002_library.sql")),
    ];
    migrator(&earlier).run(&writer).await.expect("migrated");
    for sql in [
        "INSERT INTO conversations VALUES ('conv_1', 'alice', 'One', '', '', '', '', \
         '2026-11-21T10:00:00.000000Z', '2026-11-21T10:00:00.000000Z', '[]')",
        "INSERT INTO library VALUES ('item_1', 'alice', 'query', 'Äpfel', NULL, '[]', 1, 1, \
         '2026-11-21T10:00:00.000000Z', 'SELECT 1')",
    ] {
        sqlx::query(sql).execute(&writer).await.expect("inserted");
    }
    writer.close().await;

    let (store, writer) = Conversations::local(folder.path()).await.expect("opened");
    let _tasks = JoinSet::from_iter([writer.run()]);
    let listed = store.list("alice", Page::default()).await.expect("listed");
    assert_eq!(listed.len(), 1);
    for account in ["alice", "bob"] {
        let reader = Reader {
            account,
            databases: Vec::new(),
        };
        let words = Words::of("äPFEL");
        let filter = Filter { kind: None, words };
        let library = store.library();
        let found = library.list(&reader, &filter, Page::default()).await;
        assert_eq!(found.expect("listed").len(), 1, "{account}");
    }
    store.delete_account("alice").await.expect("deleted");
    let listed = store.list("alice", Page::default()).await.expect("listed");
    assert!(listed.is_empty());
}

#[tokio::test]
async fn a_file_and_its_folder_are_their_owners_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("new/data");
    let (store, writer) = Conversations::local(&place).await.expect("opened");
    let _tasks = JoinSet::from_iter([writer.run()]);
    store
        .create(made("alice", "x", now()))
        .await
        .expect("created");
    let mode = |path: &std::path::Path| {
        let about = std::fs::metadata(path).expect("there");
        about.permissions().mode() & 0o777
    };
    assert_eq!(mode(&place), 0o700);
    let mut files = 0;
    for entry in std::fs::read_dir(&place).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert!(files >= 3, "the log of SQLite as well: {files}");
}

#[tokio::test]
async fn a_file_that_is_open_to_others_is_closed_to_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("conversations.db");
    std::fs::write(&path, "").expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("ours");
    let _open = Conversations::local(folder.path()).await.expect("opened");
    let mode = std::fs::metadata(&path)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_file_that_is_something_else_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("conversations.db");
    std::fs::write(
        &path,
        "not a database, and long enough to look like one ".repeat(100),
    )
    .expect("written");
    Conversations::local(folder.path())
        .await
        .expect_err("no database");
    assert!(std::fs::read(&path).expect("there").starts_with(b"not a"));
    Conversations::local(&path).await.expect_err("no folder");
}

#[tokio::test]
async fn a_file_of_a_later_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(Conversations::local(folder.path()).await.expect("opened"));
    let path = folder.path().join("conversations.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut connection = options.connect().await.expect("connected");
    sqlx::raw_sql(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (99, 'later', true, x'00', 0)",
    )
    .execute(&mut connection)
    .await
    .expect("written");
    drop(connection);
    let error = Conversations::local(folder.path())
        .await
        .expect_err("later");
    assert!(matches!(error, StoreError::Later { .. }), "{error}");
    let said = error.to_string();
    assert!(
        said.contains("run that version, or move the file"),
        "{said}"
    );
}

#[tokio::test]
async fn stored_conversations_are_there_when_the_file_is_opened_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = made("alice", "x", now());
    for round in 0..3 {
        let (store, writer) = Conversations::local(folder.path()).await.expect("opened");
        let mut tasks = JoinSet::from_iter([writer.run()]);
        if round == 0 {
            store.create(new.clone()).await.expect("created");
        }
        assert!(store.find("alice", &new.id).await.expect("read").is_some());
        drop(store);
        tasks.join_next().await.expect("one").expect("it ends");
        let log = folder.path().join("conversations.db-wal");
        assert!(!log.exists(), "it is all in one file");
    }
}

#[tokio::test]
async fn a_store_without_its_writer_fails_and_does_not_hang() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, writer) = Conversations::local(folder.path()).await.expect("opened");
    drop(writer);
    let error = store.create(made("alice", "x", now())).await;
    assert!(matches!(error, Err(StoreError::Closed)), "{error:?}");
}

#[tokio::test]
async fn one_change_that_fails_leaves_the_others_of_its_batch_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, writer) = Conversations::local(folder.path()).await.expect("opened");
    let (one, two) = (made("alice", "1", now()), made("alice", "2", now()));
    // All are waiting when the writer starts, so one commit takes them.
    let all = async {
        tokio::join!(
            store.create(one.clone()),
            store.create(one.clone()),
            store.create(two.clone())
        )
    };
    let mut all = tokio_test::task::spawn(all);
    assert!(all.poll().is_pending());
    let _tasks = JoinSet::from_iter([writer.run()]);
    let (first, again, other) = all.await;
    first.expect("created");
    assert!(matches!(again, Err(StoreError::Sql(_))), "{again:?}");
    other.expect("created");
    let listed = store.list("alice", Page::default()).await.expect("listed");
    assert_eq!(listed.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_start_at_the_same_time_create_the_tables_once() {
    let fixture = Fixture::new().await;
    let replicas: Vec<_> = (0..6).map(|_| state(&fixture)).collect();
    let mut opening = JoinSet::new();
    for (state, _) in &replicas {
        let state = state.clone();
        opening.spawn(async move { state.open().await });
    }
    for opened in opening.join_all().await {
        opened.expect("opened");
    }
}

#[test]
fn a_state_url_may_write_and_shows_no_password() {
    let database = StateDatabase::describe("postgres://app:swordfish@db.example/state", |_| Ok(()));
    let database = database.expect("good");
    assert!(database.allows_writes());
    assert_eq!(database.name(), "state");
    assert!(!format!("{database:?}").contains("swordfish"));
    let error = StateDatabase::describe("mysql://app:swordfish@db.example/state", |_| Ok(()));
    let error = error.expect_err("another kind").to_string();
    assert!(!error.contains("swordfish"), "{error}");
}
