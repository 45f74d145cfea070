//! Tests of keys, partitions, estimates and enums.

use super::*;

/// Returns the foreign keys of a table, and those that refer to it, as text.
fn foreign_keys(metadata: &Metadata, name: &str) -> (Vec<String>, Vec<String>) {
    let table = metadata.table("public", name).expect("a table");
    let text = |key: ForeignKey<'_>| format!("{key:?}").replace("public.", "");
    (
        table.foreign_keys().map(text).collect(),
        table.referenced_by().map(text).collect(),
    )
}

fn rows(metadata: &Metadata, name: &str) -> Option<u64> {
    metadata.table("public", name).expect("a table").rows()
}

#[tokio::test]
async fn keys_keep_the_order_of_their_columns() {
    let metadata = loaded(
        "CREATE TABLE region (gone int, code text, country text, name text UNIQUE,
             PRIMARY KEY (country, code));
         ALTER TABLE region DROP COLUMN gone;
         CREATE TABLE city (id bigint PRIMARY KEY, code text, country text,
             capital bigint REFERENCES city, name text REFERENCES region (name),
             FOREIGN KEY (country, code) REFERENCES region);
         CREATE TABLE plain (id int);",
    )
    .await;
    let key = |name| {
        let table = metadata.table("public", name).expect("a table");
        table.primary_key().collect::<Vec<_>>()
    };
    assert_eq!(key("region"), ["country", "code"]);
    assert_eq!(key("city"), ["id"]);
    assert_eq!(key("plain"), [""; 0]);
    let of_city = [
        "city (country, code) -> region (country, code)",
        "city (capital) -> city (id)",
        "city (name) -> region (name)",
    ];
    assert_eq!(
        foreign_keys(&metadata, "city"),
        (of_city.map(str::to_owned).into(), vec![of_city[1].into()])
    );
    assert_eq!(
        foreign_keys(&metadata, "region"),
        (vec![], vec![of_city[0].into(), of_city[2].into()])
    );
    assert_eq!(foreign_keys(&metadata, "plain"), (vec![], vec![]));
}

#[tokio::test]
async fn foreign_keys_of_partitioned_tables_belong_to_the_table_that_declares_them() {
    let metadata = loaded(
        "CREATE TABLE item (id int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
         CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
         CREATE TABLE item_2 PARTITION OF item FOR VALUES FROM (10) TO (20);
         CREATE TABLE line (nr int, item int REFERENCES item) PARTITION BY RANGE (nr);
         CREATE TABLE line_1 PARTITION OF line FOR VALUES FROM (0) TO (10);
         CREATE TABLE line_2 PARTITION OF line FOR VALUES FROM (10) TO (20);
         ALTER TABLE line_2 ADD FOREIGN KEY (nr) REFERENCES item;",
    )
    .await;
    let (declared, own) = ("line (item) -> item (id)", "line_2 (nr) -> item (id)");
    let none = || Vec::<String>::new();
    assert_eq!(
        foreign_keys(&metadata, "line"),
        (vec![declared.into()], none())
    );
    assert_eq!(
        foreign_keys(&metadata, "item"),
        (none(), vec![declared.into(), own.into()])
    );
    assert_eq!(
        foreign_keys(&metadata, "line_2"),
        (vec![own.into()], none())
    );
    for partition in ["line_1", "item_1", "item_2"] {
        assert_eq!(foreign_keys(&metadata, partition), (none(), none()));
    }
}

#[tokio::test]
async fn a_key_to_a_table_that_is_not_known_is_left_out() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE a (one int PRIMARY KEY); CREATE TABLE b (one int REFERENCES a);
             CREATE TABLE c (one int PRIMARY KEY, two int); ALTER TABLE a ADD two int REFERENCES c;
             ALTER TABLE b ADD two int REFERENCES c;",
        )
        .await;
    for (columns, of_a, of_b) in [(6, 1, 2), (5, 0, 1), (3, 0, 0)] {
        let lease = fixture.readable().lease().await.expect("a connection");
        let limits = Limits {
            columns,
            ..Limits::default()
        };
        let metadata = Metadata::load_within(lease, limits).await.expect("some");
        let keys = |name| {
            let table = metadata.table("public", name);
            table.map_or(0, |table| table.foreign_keys().count())
        };
        assert_eq!((keys("a"), keys("b")), (of_a, of_b), "{columns}");
    }
}

#[tokio::test]
async fn rows_are_the_estimate_of_the_planner_and_of_partitions_the_sum() {
    let metadata = loaded(
        "CREATE TABLE plain (id int); INSERT INTO plain SELECT generate_series(1, 70);
         CREATE TABLE unknown (id int);
         CREATE TABLE whole (id int) PARTITION BY RANGE (id);
         CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (100)
             PARTITION BY RANGE (id);
         CREATE TABLE leaf_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
         CREATE TABLE leaf_2 PARTITION OF part FOR VALUES FROM (10) TO (100);
         CREATE TABLE leaf_3 PARTITION OF whole FOR VALUES FROM (100) TO (200);
         CREATE TABLE never PARTITION OF whole DEFAULT;
         CREATE TABLE empty (id int) PARTITION BY RANGE (id);
         INSERT INTO whole SELECT generate_series(0, 149);
         CREATE VIEW seen AS SELECT * FROM plain;
         CREATE MATERIALIZED VIEW kept AS SELECT * FROM plain;
         ANALYZE plain; ANALYZE leaf_1; ANALYZE leaf_2; ANALYZE leaf_3; ANALYZE kept;",
    )
    .await;
    let expected = [
        ("plain", Some(70)),
        ("unknown", None),
        ("whole", Some(150)),
        ("part", Some(100)),
        ("leaf_1", Some(10)),
        ("never", None),
        ("empty", None),
        ("seen", None),
        ("kept", Some(70)),
    ];
    for (name, expected) in expected {
        assert_eq!(rows(&metadata, name), expected, "{name}");
    }
}

#[tokio::test]
async fn enums_are_found_through_domains_and_arrays() {
    let metadata = loaded(
        "CREATE SCHEMA other;
         CREATE TYPE mood AS ENUM ('sad', 'so, \"so\"', 'happy');
         ALTER TYPE mood ADD VALUE 'fine' BEFORE 'happy';
         CREATE TYPE other.level AS ENUM ('low', 'high'); CREATE TYPE nothing AS ENUM ();
         COMMENT ON TYPE mood IS 'as they say';
         CREATE DOMAIN deep AS mood; CREATE DOMAIN deeper AS deep;
         CREATE DOMAIN many AS mood[]; CREATE DOMAIN whole AS int;
         CREATE TABLE typed (a mood, b deeper, c mood[], d many, e deep[], f other.level,
             g whole, h int, i text[], j whole[]);",
    )
    .await;
    let enums: Vec<_> = metadata.enums().map(|found| format!("{found:?}")).collect();
    let all = [
        "ENUM other.level",
        "ENUM public.mood",
        "ENUM public.nothing",
    ];
    assert_eq!(enums, all);
    let table = metadata.table("public", "typed").expect("there");
    let of_columns: Vec<_> = table
        .columns()
        .map(|column| column.enum_type().map_or("-", EnumType::name))
        .collect();
    let mood = "mood";
    assert_eq!(
        of_columns,
        [mood, mood, mood, mood, mood, "level", "-", "-", "-", "-"]
    );
    let mood = metadata.enums().nth(1).expect("three");
    let labels: Vec<_> = mood.labels().collect();
    assert_eq!(labels, ["sad", "so, \"so\"", "fine", "happy"]);
    assert_eq!((mood.schema(), mood.comment()), ("public", "as they say"));
    assert_eq!(
        metadata
            .enums()
            .map(|found| found.labels().count())
            .sum::<usize>(),
        6
    );
}

#[tokio::test]
async fn an_enum_has_a_thousand_labels_at_most() {
    let labels: Vec<_> = (0..1001).map(|n| format!("'n{n}'")).collect();
    let sql = format!("CREATE TYPE long AS ENUM ({})", labels.join(","));
    let metadata = loaded(&sql).await;
    let long = metadata.enums().next().expect("one");
    assert_eq!(
        (long.labels().count(), long.labels().last()),
        (1000, Some("n999"))
    );
}
