//! Tables that are too large to be read through.

use super::*;

/// Tables that all have a key, and indexes for their foreign keys.
const INDEXES: &str = "
    DROP TRIGGER note_child ON child;
    DROP TRIGGER note_leaf ON leaf;
    ALTER TABLE loose ADD id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
    CREATE INDEX ON child (parent_id);
    CREATE INDEX ON leaf (child_id);";

/// Statements that are sought to their end, from a version of PostgreSQL on.
const FOUND: [(i64, &str); 17] = [
    (0, "DELETE FROM parent WHERE id = 7"),
    (
        0,
        "DELETE FROM parent p USING child c WHERE c.parent_id = p.id AND c.id < 5",
    ),
    (
        0,
        "UPDATE parent AS p SET name = 'new' FROM child c WHERE c.parent_id = p.id AND c.id < 9",
    ),
    (
        0,
        "UPDATE child SET note = 'new' WHERE id BETWEEN 5 AND 9 -- all",
    ),
    (0, "UPDATE child SET note = note WHERE id < 50"),
    (0, "INSERT INTO loose VALUES (1, 'a', 'b'), (1, 'a', 'b')"),
    (
        0,
        "INSERT INTO part VALUES ('a', 900, 'x'), ('b', 901, 'y')",
    ),
    (0, "DELETE FROM part WHERE id < 9"),
    (
        0,
        "INSERT INTO parent (id, name) SELECT g, 'x' FROM generate_series(50, 70) g \
         ON CONFLICT (id) DO UPDATE SET name = 'y'",
    ),
    (
        0,
        "WITH o AS (INSERT INTO orders (customer) VALUES ('x'), ('y') RETURNING id) \
         INSERT INTO line (ord, at) SELECT id, now() FROM o",
    ),
    (0, "DELETE FROM child WHERE id = 3"),
    (0, "UPDATE child SET note = 'none' WHERE id = -1"),
    (
        0,
        "WITH few (id) AS (SELECT 5), more AS (SELECT id FROM few) \
         DELETE FROM child USING more WHERE child.id = more.id",
    ),
    (
        170_000,
        "MERGE INTO child AS c USING (SELECT g AS id FROM generate_series(1, 9) AS g) AS s \
         ON c.id = s.id WHEN MATCHED AND c.id > 5 THEN DELETE \
         WHEN MATCHED AND c.id > 3 THEN UPDATE SET note = 'merged'",
    ),
    // The keys change, and the rows that refer to them with them.
    (180_000, "UPDATE parent SET id = id + 1000 WHERE id < 4"),
    (180_000, "UPDATE leaf SET id = id + 1000 WHERE id < 4"),
    (
        180_000,
        "UPDATE part SET region = CASE region WHEN 'a' THEN 'b' ELSE 'a' END WHERE id < 9",
    ),
];

/// Rules under which no table is read through.
fn seeking() -> Rules {
    Rules {
        scan_bytes: 0,
        ..Rules::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sought_rows_equal_scanned_ones_or_there_is_no_preview() {
    let mut fixture = given().await;
    fixture.given(INDEXES).await;
    let pool = fixture.writable();
    let _disturbing = random::disturb_all(&fixture).await;
    let has_merge = version(&mut fixture).await >= 150_000;
    let mut random = random::Random::new(23).with_merge(has_merge);
    let cases = number("SOUGHT_STATEMENTS", 300);
    let (mut found, mut refused) = (0, 0);
    for turn in 0..cases {
        let text = random.statement();
        let Ok(Outcome::Seen(scanned)) = seen(&pool, &text).await else {
            continue;
        };
        match preview(&pool, &text, &seeking()).await {
            Ok(Outcome::Seen(sought)) => {
                // Drawn numbers differ.
                assert_eq!(sought.digest, scanned.digest, "{turn}: {text}");
                found += usize::from(!sought.tables.is_empty());
            }
            Ok(Outcome::Unseen(reason)) => {
                assert!(
                    matches!(reason, Reason::TooLarge(_)),
                    "{turn}: {text}: {reason}"
                );
                refused += 1;
            }
            // A row that another session holds for too long.
            Err(QueryError::Failed { report, .. }) => {
                let codes = ["55P03", "40001", "40P01"];
                assert!(
                    codes.contains(&&*report.sqlstate),
                    "{turn}: {text}: {report:?}"
                );
            }
            Err(error) => panic!("{turn}: {text}: {error:?}"),
        }
    }
    assert!(
        8 * found > cases && 20 * refused > cases,
        "{found} found, {refused} refused"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_sought_by_all_that_postgresql_returns() {
    let mut fixture = given().await;
    fixture.given(INDEXES).await;
    let pool = fixture.writable();
    let version = version(&mut fixture).await;
    for (since, text) in FOUND {
        let scanned = match seen(&pool, text).await {
            Ok(Outcome::Seen(scanned)) => scanned,
            // MERGE is new in 15.
            other => {
                assert!(version < since, "{text}: {other:?}");
                continue;
            }
        };
        match preview(&pool, text, &seeking()).await.expect(text) {
            Outcome::Seen(sought) => assert_eq!(sought.digest, scanned.digest, "{text}"),
            Outcome::Unseen(reason) => {
                assert!(matches!(reason, Reason::TooLarge(_)), "{text}: {reason}");
                assert!(version < since, "{text}: {reason}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_with_quotes_and_backslashes_are_sought_as_they_are() {
    let mut fixture = given().await;
    fixture
        .given(
            "CREATE TABLE a_named (id text PRIMARY KEY); CREATE TABLE b_naming (id int PRIMARY KEY, \
             named text REFERENCES a_named ON DELETE CASCADE); CREATE INDEX ON b_naming (named); \
             INSERT INTO a_named VALUES ('\\''); DELETE FROM loose; --'); \
             INSERT INTO b_naming SELECT 1, id FROM a_named",
        )
        .await;
    let pool = fixture.writable();
    let rules = Rules {
        // Enough for one of them.
        scan_bytes: 8192,
        ..Rules::default()
    };
    let text = "SELECT set_config('standard_conforming_strings', 'off', true); DELETE FROM a_named";
    let seen = match preview(&pool, text, &rules).await {
        Ok(Outcome::Seen(seen)) => seen,
        other => panic!("{other:?}"),
    };
    let names: Vec<_> = seen.tables.iter().map(|it| &*it.table.name).collect();
    assert_eq!(
        (seen.rows(), names),
        (2, vec!["public.a_named", "public.b_naming"])
    );
}
