//! Tests of the digests of equal and of other changes.

use super::*;
use crate::Digest;

async fn digest(pool: &Pool, text: &str) -> Digest {
    match seen(pool, text).await {
        Ok(Outcome::Seen(seen)) => seen.digest,
        other => panic!("{text}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_changes_have_equal_digests_whatever_is_drawn() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let order = "WITH o AS (INSERT INTO orders (customer) VALUES ('x'), ('y') RETURNING id) \
                 INSERT INTO line (ord, at) SELECT id, now() FROM o";
    let key = "INSERT INTO keyed (note) VALUES ('a'), ('b')";
    let first = [digest(&pool, order).await, digest(&pool, key).await];
    fixture
        .given("SELECT nextval('orders_id_seq'), nextval('line_id_seq')")
        .await;
    let second = [digest(&pool, order).await, digest(&pool, key).await];
    assert_eq!(second, first);
    let other = order.replace("'y'", "'z'");
    assert_ne!(digest(&pool, &other).await, first[0]);
    let other = "INSERT INTO line (ord) SELECT max(id) FROM orders";
    let before = digest(&pool, other).await;
    fixture
        .given("INSERT INTO orders (customer) VALUES ('new')")
        .await;
    let after = digest(&pool, other).await;
    assert_ne!(after, before, "it refers to another row");
}

/// More tables.
const MORE: &str = "
    INSERT INTO keyed (note) VALUES ('here');
    ALTER TABLE keyed ADD UNIQUE (note);
    INSERT INTO line (ord) VALUES (1);
    ALTER TABLE line ADD local timestamp;
    CREATE SEQUENCE other;
    SELECT nextval('other'), nextval('orders_id_seq');
    CREATE TABLE replaced (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n int);
    CREATE FUNCTION replaces() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN new.id = gen_random_uuid(); RETURN new; END';
    CREATE TRIGGER replaces BEFORE INSERT ON replaced FOR EACH ROW EXECUTE FUNCTION replaces();";

#[tokio::test(flavor = "multi_thread")]
async fn each_other_value_is_another_change() {
    let mut fixture = given().await;
    fixture.given(MORE).await;
    let pool = fixture.writable();
    for text in [
        // Given identifiers, though the list of columns leaves them out.
        "INSERT INTO keyed (note) VALUES ('new'); INSERT INTO keyed SELECT gen_random_uuid()",
        "INSERT INTO keyed (note) VALUES ('here') ON CONFLICT (note) DO UPDATE \
         SET id = gen_random_uuid()",
        "INSERT INTO keyed (id, note) VALUES (gen_random_uuid(), 'new')",
        "INSERT INTO replaced (n) VALUES (1)",
        // Times of other moments.
        "INSERT INTO line (ord, at) VALUES (1, now() + interval '5 s')",
        "INSERT INTO line (ord, at) VALUES (1, clock_timestamp() - interval '5 s')",
        // A number that was drawn, but not from the sequence of the column.
        "INSERT INTO parent (id) VALUES (1000 + nextval('other'))",
        "INSERT INTO loose (a) VALUES (nextval('orders_id_seq'))",
        "INSERT INTO orders OVERRIDING SYSTEM VALUE VALUES (1000 + nextval('other'), 'far')",
        // A number in that column, beside one that was drawn.
        "INSERT INTO orders (customer) VALUES ('drawn'); INSERT INTO orders \
         OVERRIDING SYSTEM VALUE VALUES (1000000 + (random() * 1e9)::int, 'far')",
    ] {
        let digests = [digest(&pool, text).await, digest(&pool, text).await];
        assert_ne!(digests[0], digests[1], "{text}");
    }
    let texts = ["id < 5", "false", "id < 6"].map(|it| format!("DELETE FROM leaf WHERE {it}"));
    let [some, none, more] = texts.each_ref().map(|text| digest(&pool, text));
    let digests = [some.await, none.await, more.await];
    assert!(digests[0] != digests[1] && digests[0] != digests[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_the_run_are_no_difference() {
    let mut fixture = given().await;
    fixture.given(MORE).await;
    let pool = fixture.writable();
    for text in [
        "INSERT INTO line (ord, at) VALUES (1, now())",
        "UPDATE line SET at = clock_timestamp(), local = localtimestamp",
        "INSERT INTO keyed (note) VALUES ('here'), ('new') ON CONFLICT (note) DO UPDATE \
         SET note = excluded.note",
        "INSERT INTO keyed (note) VALUES ('new')",
        "INSERT INTO orders (customer) VALUES ('a')",
        "DELETE FROM leaf WHERE id < 5",
    ] {
        let digests = [digest(&pool, text).await, digest(&pool, text).await];
        assert_eq!(digests[0], digests[1], "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_time_without_a_zone_may_be_the_one_of_the_session() {
    let mut fixture = given().await;
    fixture.given(MORE).await;
    let pool = fixture.writable();
    let range = |hour| format!("2020-01-01 {hour}:00:00")..=format!("2020-01-01 {hour}:00:02");
    for (column, is_equal) in [("at", true), ("local", false)] {
        let text = format!("INSERT INTO line (ord, {column}) VALUES (1, '2020-01-01 09:00:01+00')");
        let Ok(Outcome::Seen(mut seen)) = seen(&pool, &text).await else {
            panic!("{text}");
        };
        let [utc, both] = [vec![range("00")], vec![range("00"), range("09")]].map(|times| {
            seen.run.times = times;
            Digest::of(&seen.tables, &seen.unread, &seen.run)
        });
        assert_eq!(utc == both, is_equal, "{column}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ignored_columns_are_not_compared_and_others_are() {
    let mut fixture = given().await;
    let silent = "DROP TRIGGER note_child ON child; DROP TRIGGER note_leaf ON leaf";
    fixture.given(silent).await;
    let pool = fixture.writable();
    let rules = Rules {
        ignored: ["public.child.note".to_owned(), "*.b".to_owned()]
            .into_iter()
            .collect(),
        ..Rules::default()
    };
    for (text, is_equal) in [
        ("UPDATE child SET note = random()::text WHERE id = 1", true),
        ("UPDATE loose SET b = random()::text WHERE a = 1", true),
        (
            "UPDATE loose SET b = 'x', c = random()::text WHERE a = 1",
            false,
        ),
        ("UPDATE leaf SET note = random()::text WHERE id = 1", false),
    ] {
        let [one, other] = [0, 1].map(|_| preview(&pool, text, &rules));
        let (Ok(Outcome::Seen(one)), Ok(Outcome::Seen(other))) = (one.await, other.await) else {
            panic!("{text}");
        };
        assert_eq!(one.digest == other.digest, is_equal, "{text}");
        assert_eq!(one.unstable(&other).len(), 1, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn drawn_numbers_of_too_many_sequences_are_compared_like_other_values() {
    let mut fixture = given().await;
    let pool = fixture.writable();
    let text = "INSERT INTO orders (customer) VALUES ('a')";
    let note = "Drawn numbers are compared like other values: there are more than 2,000 sequences.";
    for has_many in [false, true] {
        let (Ok(Outcome::Seen(one)), Ok(Outcome::Seen(other))) =
            (seen(&pool, text).await, seen(&pool, text).await)
        else {
            panic!("{text}");
        };
        assert_eq!(one.digest == other.digest, !has_many);
        assert_eq!(
            one.notes.contains(&note.to_owned()),
            has_many,
            "{:?}",
            one.notes
        );
        if has_many {
            break;
        }
        let many = "DO $$ BEGIN FOR n IN 1..1999 LOOP EXECUTE 'CREATE SEQUENCE many_' || n; \
                    END LOOP; END $$";
        fixture.given(many).await;
    }
}
