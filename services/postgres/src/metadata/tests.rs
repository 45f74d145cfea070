//! Tests with all kinds of objects that PostgreSQL allows.

mod relations;

use std::fmt::Write as _;

use super::{load::Limits, *};
use crate::{error::QueryError, fixture::Fixture, pool::Pool};

async fn load(pool: &Pool) -> Metadata {
    let lease = pool.lease().await.expect("a connection");
    Metadata::load(lease).await.expect("metadata")
}

async fn loaded(sql: &str) -> Metadata {
    let mut fixture = Fixture::new().await;
    fixture.given(sql).await;
    load(&fixture.readable()).await
}

/// Returns each table as a line of text. Tables of extensions are not included.
fn tables(metadata: &Metadata) -> Vec<String> {
    metadata
        .tables()
        .map(|table| {
            let partition = if table.is_partition() { " part" } else { "" };
            format!("{table:?}{partition}")
        })
        .collect()
}

/// Returns each column of a table as a line of text, with all its facts.
fn columns(metadata: &Metadata, schema: &str, table: &str) -> Vec<String> {
    let table = metadata.table(schema, table).expect("a table");
    table
        .columns()
        .map(|column| {
            let mut line = format!("{column:?}");
            let facts = [
                (!column.is_nullable(), "not null"),
                (column.is_primary_key(), "pk"),
                (column.is_unique(), "unique"),
                (column.is_indexed(), "indexed"),
            ];
            for (_, fact) in facts.iter().filter(|(holds, _)| *holds) {
                write!(line, ", {fact}").expect("a string");
            }
            let texts = [
                ("->", column.references()),
                ("identity", column.identity()),
                ("default", column.default()),
                ("comment", column.comment()),
            ];
            for (label, text) in texts.iter().filter(|(_, text)| !text.is_empty()) {
                write!(line, ", {label} {text}").expect("a string");
            }
            if column.is_vector() {
                write!(line, ", vector {}", column.vector_dims()).expect("a string");
            }
            line
        })
        .collect()
}

#[tokio::test]
async fn every_kind_of_table_is_listed_in_order_and_nothing_of_the_system() {
    let metadata = loaded(
        "CREATE TABLE public.plain (id int);
         CREATE TABLE none ();
         CREATE TABLE whole (id int, at date) PARTITION BY RANGE (at);
         CREATE TABLE part PARTITION OF whole FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')
             PARTITION BY LIST (id);
         CREATE TABLE part_of_part PARTITION OF part DEFAULT;
         CREATE TABLE parent (id int);
         CREATE TABLE child () INHERITS (parent);
         CREATE VIEW seen AS SELECT 1 AS one;
         CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one;
         CREATE SCHEMA \"Mixed Case\";
         CREATE VIEW \"Mixed Case\".seen AS SELECT 2 AS two;
         CREATE TEMP TABLE passing (id int);
         CREATE UNLOGGED TABLE quick (id int);
         CREATE SEQUENCE numbers; CREATE TYPE pair AS (a int, b int);
         CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER far FOREIGN DATA WRAPPER nowhere;
         CREATE FOREIGN TABLE elsewhere (id int) SERVER far;",
    )
    .await;
    assert_eq!(
        tables(&metadata),
        [
            "VIEW Mixed Case.seen",
            "TABLE public.child",
            "FOREIGN TABLE public.elsewhere",
            "MATERIALIZED VIEW public.kept",
            "TABLE public.none",
            "TABLE public.parent",
            "PARTITIONED TABLE public.part part",
            "TABLE public.part_of_part part",
            "TABLE public.plain",
            "TABLE public.quick",
            "VIEW public.seen",
            "PARTITIONED TABLE public.whole",
        ]
    );
    assert_eq!(columns(&metadata, "public", "none").len(), 0);
    assert_eq!(columns(&metadata, "Mixed Case", "seen"), ["two integer"]);
    assert!(metadata.table("public", "PLAIN").is_none(), "exact names");
    assert_eq!(metadata.schema("Mixed Case").len(), 1);
    assert_eq!(metadata.schema("public").len(), 11);
    assert_eq!(metadata.schema("nowhere").len(), 0);
    assert!(!metadata.is_cut());
}

#[tokio::test]
async fn types_are_written_as_postgresql_writes_them() {
    let metadata = loaded(
        "CREATE TYPE mood AS ENUM ('fine'); CREATE TYPE pair AS (a int, b int);
         CREATE DOMAIN name50 AS varchar(50) NOT NULL DEFAULT 'x';
         CREATE DOMAIN meaning AS vector(5); CREATE DOMAIN sense AS meaning;
         CREATE TABLE typed (
             a varchar(50), b numeric(8,2), c name50, d mood, e pair, f int4range, g text[],
             gone int, h timestamptz(3), i meaning, j sense, k vector(3), l vector,
             m halfvec(4), n sparsevec(1000), o vector(3)[], p bit(3));
         ALTER TABLE typed DROP COLUMN gone;",
    )
    .await;
    assert_eq!(
        columns(&metadata, "public", "typed"),
        [
            "a character varying(50)",
            "b numeric(8,2)",
            "c name50, not null",
            "d mood",
            "e pair",
            "f int4range",
            "g text[]",
            "h timestamp(3) with time zone",
            "i meaning, vector 5",
            "j sense, vector 5",
            "k vector(3), vector 3",
            "l vector, vector 0",
            "m halfvec(4), vector 4",
            "n sparsevec(1000), vector 1000",
            "o vector(3)[]",
            "p bit(3)",
        ]
    );
    let table = metadata.table("public", "typed").expect("there");
    assert!(table.has_vectors());
}

#[tokio::test]
async fn keys_indexes_defaults_and_comments_belong_to_their_columns() {
    let metadata = loaded(
        "CREATE TABLE region (country text, code text, name text UNIQUE, PRIMARY KEY (country, code));
         CREATE TABLE city (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
             other int GENERATED BY DEFAULT AS IDENTITY,
             country text NOT NULL, code text, twin bigint REFERENCES city,
             size int DEFAULT 1 + 2, double int GENERATED ALWAYS AS (id * 2) STORED,
             a int, b int, c int, d int,
             UNIQUE (a, b), FOREIGN KEY (country, code) REFERENCES region,
             FOREIGN KEY (country) REFERENCES region (name));
         CREATE INDEX ON city (c) INCLUDE (d);
         CREATE INDEX ON city ((d + 1));
         COMMENT ON TABLE city IS E'first\\tline\\nsecond';
         COMMENT ON COLUMN city.size IS 'how many';",
    )
    .await;
    assert_eq!(
        columns(&metadata, "public", "city"),
        [
            "id bigint, not null, pk, indexed, identity a",
            "other integer, not null, identity d",
            "country text, not null, -> public.region.country,public.region.name",
            "code text, -> public.region.code",
            "twin bigint, -> public.city.id",
            "size integer, default (1 + 2), comment how many",
            "double integer, default (id * 2)",
            "a integer, unique, indexed",
            "b integer, unique, indexed",
            "c integer, indexed",
            "d integer",
        ]
    );
    let table = metadata.table("public", "city").expect("there");
    assert_eq!(table.comment(), "first\tline\nsecond");
    assert_eq!(
        columns(&metadata, "public", "region"),
        [
            "country text, not null, pk, indexed",
            "code text, not null, pk, indexed",
            "name text, unique, indexed",
        ]
    );
}

#[tokio::test]
async fn a_foreign_key_between_partitioned_tables_is_one() {
    let metadata = loaded(
        "CREATE TABLE item (id int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
         CREATE TABLE item_1 PARTITION OF item FOR VALUES FROM (0) TO (10);
         CREATE TABLE item_2 PARTITION OF item FOR VALUES FROM (10) TO (20);
         CREATE TABLE line (nr int, item int REFERENCES item) PARTITION BY RANGE (nr);
         CREATE TABLE line_1 PARTITION OF line FOR VALUES FROM (0) TO (10);
         CREATE TABLE line_2 (item int REFERENCES item, nr int);
         ALTER TABLE line ATTACH PARTITION line_2 FOR VALUES FROM (10) TO (20);
         CREATE TABLE item_3 PARTITION OF item FOR VALUES FROM (20) TO (30);",
    )
    .await;
    let to_item = "item integer, -> public.item.id";
    for table in ["line", "line_1", "line_2"] {
        let columns = columns(&metadata, "public", table);
        assert!(columns.iter().any(|line| line == to_item), "{columns:?}");
    }
}

#[tokio::test]
async fn a_schema_without_usage_is_denied_and_its_tables_are_not_known() {
    let mut fixture = Fixture::new().await;
    let role = format!("reader_{}", fixture.settings.database.replace('-', "_"));
    fixture
        .given(&format!(
            "CREATE ROLE \"{role}\" LOGIN PASSWORD 'readers' CONNECTION LIMIT 5;
             CREATE SCHEMA closed; CREATE TABLE closed.secret (id int);
             CREATE SCHEMA open; CREATE TABLE open.known (id int);
             GRANT USAGE ON SCHEMA open TO \"{role}\";"
        ))
        .await;
    let pool = fixture.pool(|settings| {
        settings.user.clone_from(&role);
        settings.password = "readers".to_owned().into();
    });
    let metadata = load(&pool).await;
    fixture.given(&format!("DROP OWNED BY \"{role}\"")).await;
    fixture.pools.close_all();
    fixture.given(&format!("DROP ROLE \"{role}\"")).await;

    assert_eq!(tables(&metadata), ["TABLE open.known"]);
    assert!(metadata.is_denied("closed"));
    for schema in ["open", "public", "nowhere", "pg_toast"] {
        assert!(!metadata.is_denied(schema), "{schema}");
    }
}

#[tokio::test]
async fn the_widest_table_there_can_be_is_read_whole() {
    let columns: Vec<_> = (1..=1600).map(|n| format!("c{n} int")).collect();
    let metadata = loaded(&format!("CREATE TABLE wide ({})", columns.join(","))).await;
    let table = metadata.table("public", "wide").expect("there");
    assert_eq!(table.columns().len(), 1600);
    let last = table.columns().last().expect("many");
    assert_eq!((last.name(), last.data_type()), ("c1600", "integer"));
}

#[tokio::test]
async fn metadata_beyond_a_limit_is_cut_between_tables_and_reported() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE a (one int, two int); CREATE TABLE b (one int, two int);
             CREATE TABLE c (one int, two int, three int); CREATE TABLE d ();",
        )
        .await;
    let pool = fixture.readable();
    let (most, plenty) = (usize::MAX / 2, 1 << 20);
    // tables, columns, text
    let cases: [([usize; 3], &[&str], bool); 7] = [
        ([4, 7, plenty], &["a", "b", "c", "d"], false),
        ([3, 7, plenty], &["a", "b", "c"], true),
        ([4, 6, plenty], &["a", "b"], true),
        ([4, 4, plenty], &["a", "b"], true),
        ([4, 3, plenty], &["a"], true),
        ([0, 7, plenty], &[], true),
        // Room for the texts `public abcd one integer two`, but not for `three`.
        ([4, 7, 6 + 4 + 3 + 7 + 3], &["a", "b"], true),
    ];
    for ([tables, columns, text], expected, is_cut) in cases {
        let limits = Limits {
            tables: tables.min(most),
            columns: columns.min(most),
            text,
        };
        let lease = pool.lease().await.expect("a connection");
        let metadata = Metadata::load_within(lease, limits).await.expect("some");
        let names: Vec<_> = metadata.tables().map(Table::name).collect();
        assert_eq!(names, expected, "{limits:?}");
        assert_eq!(metadata.is_cut(), is_cut, "{limits:?}");
        for table in metadata.tables().filter(|table| table.name() < "c") {
            assert_eq!(table.columns().len(), 2, "{limits:?} {table:?}");
        }
    }
}

#[tokio::test]
async fn reading_it_is_bounded_by_the_timeout_and_leaves_no_transaction() {
    let mut fixture = Fixture::new().await;
    fixture.given("CREATE TABLE a (id int)").await;
    let pool = fixture.pool(|settings| settings.max_connections = 1);
    load(&pool).await;
    // The only connection can be used again.
    load(&pool).await;
    let open = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in%'";
    assert_eq!(fixture.count(open).await, 0);

    // Another session locks a table that has to be read.
    let mut holder = fixture.connect().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE pg_catalog.pg_description IN ACCESS EXCLUSIVE MODE")
        .execute(&mut holder)
        .await
        .expect("a lock");
    let hasty = fixture.pool(|settings| {
        settings.query_timeout = std::time::Duration::from_millis(50);
    });
    let lease = hasty.lease().await.expect("a connection");
    let error = Metadata::load(lease).await.expect_err("a timeout");
    let QueryError::Failed { report, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(report.sqlstate, "57014");
}
