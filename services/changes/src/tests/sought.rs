//! Tables that are too large to be read through.

use super::*;

/// Tables that all have a key, and indexes for their foreign keys.
const INDEXES: &str = "
    DROP TRIGGER note_child ON child;
    DROP TRIGGER note_leaf ON leaf;
    ALTER TABLE loose ADD id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
    CREATE INDEX ON child (parent_id);
    CREATE INDEX ON leaf (child_id);";

/// Statements that are sought to their end.
const FOUND: [&str; 12] = [
    "DELETE FROM parent WHERE id = 7",
    "DELETE FROM parent p USING child c WHERE c.parent_id = p.id AND c.id < 5",
    "UPDATE parent AS p SET name = 'new' FROM child c WHERE c.parent_id = p.id AND c.id < 9",
    "UPDATE child SET note = 'new' WHERE id BETWEEN 5 AND 9 -- all",
    "UPDATE child SET note = note WHERE id < 50",
    "INSERT INTO loose VALUES (1, 'a', 'b'), (1, 'a', 'b')",
    "INSERT INTO part VALUES ('a', 900, 'x'), ('b', 901, 'y')",
    "DELETE FROM part WHERE id < 9",
    "INSERT INTO parent (id, name) SELECT g, 'x' FROM generate_series(50, 70) g \
     ON CONFLICT (id) DO UPDATE SET name = 'y'",
    "WITH o AS (INSERT INTO orders (customer) VALUES ('x'), ('y') RETURNING id) \
     INSERT INTO line (ord, at) SELECT id, now() FROM o",
    "DELETE FROM child WHERE id = 3",
    "UPDATE child SET note = 'none' WHERE id = -1",
];

#[tokio::test(flavor = "multi_thread")]
async fn sought_rows_equal_scanned_ones_or_there_is_no_preview() {
    let mut fixture = given().await;
    fixture.given(INDEXES).await;
    let pool = fixture.writable();
    let rules = Rules {
        scan_bytes: 0,
        ..Rules::default()
    };
    let mut random = random::Random::new(23);
    let texts: Vec<_> = (0..300).map(|_| random.statement()).collect();
    let (mut found, mut refused) = (0, 0);
    for text in FOUND.iter().map(|text| (*text).to_owned()).chain(texts) {
        let Ok(Outcome::Seen(scanned)) = seen(&pool, &text).await else {
            continue;
        };
        match preview(&pool, &text, &rules).await.expect(&text) {
            Outcome::Seen(sought) => {
                // Drawn numbers differ.
                assert_eq!(sought.digest, scanned.digest, "{text}");
                found += usize::from(!sought.tables.is_empty());
            }
            Outcome::Unseen(reason) => {
                assert!(matches!(reason, Reason::TooLarge(_)), "{text}: {reason}");
                assert!(!FOUND.contains(&&*text), "{text}: {reason}");
                refused += 1;
            }
        }
    }
    assert!(
        found > 60 && refused > 20,
        "{found} found, {refused} refused"
    );
}
