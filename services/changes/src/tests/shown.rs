//! The texts about changed rows.

use serde_json::json;

use super::*;
use crate::{Unread, Unreadable};

/// Tables with a row that others refer to.
const SHOP: &str = "
    CREATE TABLE item (id int PRIMARY KEY, customer int, status text);
    CREATE TABLE part_of (id int PRIMARY KEY, ord int REFERENCES item ON DELETE SET NULL, note text);
    INSERT INTO item VALUES (7, 3, 'open'), (8, 4, E'it''s\\nlate');
    INSERT INTO part_of VALUES (12, 7, NULL);";

async fn shop() -> (Fixture, Pool) {
    let mut fixture = given().await;
    fixture.given(SHOP).await;
    let pool = fixture.writable();
    (fixture, pool)
}

async fn changed(pool: &Pool, text: &str) -> Box<Seen> {
    match seen(pool, text).await {
        Ok(Outcome::Seen(seen)) => seen,
        other => panic!("{text}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_described_for_people_and_for_programs() {
    let (_fixture, pool) = shop().await;
    let seen = changed(&pool, "DELETE FROM item WHERE id = 7").await;
    let text = "public.item: 1 removed\n  id 7: customer 3, status 'open'\n\
                public.part_of: 1 changed\n  id 12: ord 7 -> NULL\n";
    assert_eq!(seen.described(), text);
    let expected = json!({
        "rows": 2,
        "tables": [
            {
                "table": "public.item", "inserted": 0, "updated": 0, "deleted": 1, "key": ["id"],
                "masked": [],
                "changes": [{
                    "op": "delete", "key": ["7"],
                    "before": {"id": "7", "customer": "3", "status": "open"},
                }],
                "more": 0,
            },
            {
                "table": "public.part_of", "inserted": 0, "updated": 1, "deleted": 0, "key": ["id"],
                "masked": [],
                "changes": [{
                    "op": "update", "key": ["12"], "before": {"ord": "7"}, "after": {"ord": null},
                }],
                "more": 0,
            },
        ],
        "uncompared": [], "sequences": [], "notes": [],
        "digest": "k3f9a2c07b1e",
    });
    assert_eq!(
        serde_json::to_value(seen.shown("k3f9a2c07b1e")).expect("JSON"),
        expected
    );
    let seen = changed(&pool, "DELETE FROM item WHERE id = 8").await;
    let text = "public.item: 1 removed\n  id 8: customer 4, status 'it''s\\nlate'\n";
    assert_eq!(seen.described(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_description_says_how_many_rows_it_leaves_out() {
    let (_fixture, pool) = shop().await;
    let text = "INSERT INTO item SELECT n, n, 'new' FROM generate_series(1001, 2224) n";
    let seen = changed(&pool, text).await;
    let described = seen.described();
    assert!(
        described.starts_with("public.item: 1,224 added\n  + id 1001: "),
        "{described}"
    );
    assert!(described.ends_with("\n… 1,204 more rows\n"), "{described}");
    let shown = serde_json::to_value(seen.shown("k3f9a2c07b1e")).expect("JSON");
    let table = &shown["tables"][0];
    let sent = table["changes"].as_array().map(Vec::len);
    assert_eq!((sent, &table["more"]), (Some(200), &json!(1024)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_has_limits() {
    let (_fixture, pool) = shop().await;
    let text = "UPDATE leaf SET note = note || 'x'";
    let narrow = |change: fn(&mut Rules)| {
        let mut rules = Rules::default();
        change(&mut rules);
        rules
    };
    for (rules, reason) in [
        (narrow(|it| it.max_rows = 20), Reason::Rows(20)),
        (narrow(|it| it.max_bytes = 900), Reason::Bytes(900)),
        (
            narrow(|it| it.scan_bytes = 10),
            Reason::TooLarge("public.audit".to_owned()),
        ),
    ] {
        match preview(&pool, text, &rules).await {
            Ok(Outcome::Unseen(found)) => assert_eq!(found, reason),
            other => panic!("{reason}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_the_caller_may_not_read_are_counted() {
    let (mut fixture, _) = shop().await;
    let name: String = sqlx::query_scalar("SELECT current_database()::text")
        .fetch_one(&mut fixture.outside)
        .await
        .expect("a name");
    let role = format!("{name}_writer");
    fixture
        .given(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'p'; GRANT SELECT, UPDATE ON child TO {role}; \
             GRANT INSERT ON audit TO {role}; \
             CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN PERFORM pg_notify(''x'', ''y''); RETURN NULL; END'; \
             CREATE TRIGGER tell AFTER UPDATE ON child EXECUTE FUNCTION tell(); \
             CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN SET CONSTRAINTS ALL DEFERRED; RETURN NULL; END'; \
             CREATE TRIGGER delay AFTER UPDATE ON child EXECUTE FUNCTION delay()"
        ))
        .await;
    let pool = fixture.pool(|settings| {
        settings.allow_writes = true;
        settings.user = role.clone();
        settings.password = "p".to_owned().into();
    });
    let text = "UPDATE child SET note = 'x' WHERE id < 3";
    let seen = changed(&pool, text).await;
    let table = "public.audit".to_owned();
    let rows = [2, 0, 0];
    assert_eq!(seen.unread, [Unread { table, rows }]);
    let notes = [
        "public.audit: 2 rows added, which you may not read.",
        "public.delay may have effects that are not shown.",
        "public.tell may have effects that are not shown.",
    ];
    assert_eq!(seen.notes, notes);
    let rules = Rules {
        unreadable: Unreadable::Refuse,
        ..Rules::default()
    };
    let refused = preview(&pool, text, &rules).await.expect("it runs");
    let Outcome::Unseen(reason) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(reason.to_string(), "you may not read public.audit");
    drop(pool);
    fixture
        .given(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_and_values_stay_on_their_line() {
    let mut fixture = given().await;
    fixture
        .given("CREATE TABLE \"odd\nname\" (id int PRIMARY KEY, \"and\ncolumn\" text)")
        .await;
    let pool = fixture.writable();
    let text = "INSERT INTO \"odd\nname\" VALUES (1, E'a\\nb\\u202e')";
    let seen = changed(&pool, text).await;
    let expected = "public.odd\\nname: 1 added\n  + id 1: and\\ncolumn 'a\\nb\\u{202e}'\n";
    assert_eq!(seen.described(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_row_security_hides_are_counted() {
    let (mut fixture, _) = shop().await;
    let name: String = sqlx::query_scalar("SELECT current_database()::text")
        .fetch_one(&mut fixture.outside)
        .await
        .expect("a name");
    let role = format!("{name}_limited");
    fixture
        .given(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'p'; GRANT SELECT, UPDATE ON parent TO {role}; \
             ALTER TABLE parent ENABLE ROW LEVEL SECURITY; \
             CREATE POLICY few ON parent USING (id < 3); \
             CREATE FUNCTION spreads() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \
             'BEGIN UPDATE parent SET name = ''s'' WHERE id BETWEEN 2 AND 4; RETURN NULL; END'; \
             CREATE TRIGGER spreads AFTER UPDATE ON parent FOR EACH ROW \
             WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION spreads()"
        ))
        .await;
    let pool = fixture.pool(|settings| {
        settings.allow_writes = true;
        settings.user = role.clone();
        settings.password = "p".to_owned().into();
    });
    let seen = changed(&pool, "UPDATE parent SET name = 'x' WHERE id = 1").await;
    let note = "public.parent: up to 2 more changes that you may not see.";
    assert_eq!((seen.rows(), &*seen.notes), (2, &[note.to_owned()][..]));
    drop(pool);
    fixture
        .given(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
}
