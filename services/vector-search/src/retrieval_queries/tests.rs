use std::sync::Arc;

use super::*;
use ziggurat_postgres::{
    database::{Acting, Password},
    fixture::Fixture,
    pool::Pool,
    single_round_trip::ReadOnlyQuery,
};

async fn shape_of(pool: &Pool, place: &SearchTable) -> Shape {
    Shape::load(place, pool).await.expect("an answer")
}

fn relation(json: &str) -> Shape {
    let relation = serde_json::from_str(json).expect(json);
    Shape {
        relation: Some(relation),
        ..Shape::default()
    }
}

fn search<'a>(place: &'a SearchTable, shape: &'a Shape) -> Search<'a> {
    Search {
        place,
        shape,
        filter: None,
        excluded: &[],
        rows: 20,
    }
}

async fn plan(fixture: &mut Fixture, read_query: &ReadOnlyQuery) -> String {
    let before = read_query.before.as_deref().unwrap_or("SELECT 1");
    fixture.given(&format!("BEGIN; {before}")).await;
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN {}", read_query.query));
    let mut query = sqlx::query_scalar::<_, String>(explain).persistent(false);
    for value in &read_query.values {
        query = match value {
            Value::Text(text) => query.bind(text),
            Value::Texts(texts) => query.bind(texts),
            other => panic!("no search has {other:?}"),
        };
    }
    let lines = query.fetch_all(&mut fixture.outside).await.expect("a plan");
    fixture.given("ROLLBACK").await;
    lines.join("\n")
}

#[test]
fn the_parts_of_a_name_are_quoted_once() {
    let cases = [
        ("docs", r#""docs""#),
        ("shop.Docs", r#""shop"."Docs""#),
        (r#"shop."my.docs""#, r#""shop"."my.docs""#),
        (r#""a ""b"".c".d"#, r#""a ""b"".c"."d""#),
        (r#"a"b"#, r#""a""b""#),
        ("a\0b", r#""ab""#),
    ];
    for (name, expected) in cases {
        assert_eq!(qualified(name), expected, "{name}");
    }
}

#[tokio::test]
async fn a_table_that_cannot_be_searched_is_reported_with_the_fix() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE EXTENSION IF NOT EXISTS vector;
             CREATE TABLE docs (id int, content text, embedding vector(3), other int[]);
             INSERT INTO docs SELECT n, 'x', '[1,2,3]' FROM generate_series(1, 20000) AS n;
             ANALYZE docs;",
        )
        .await;
    let pool = fixture.readable();
    let cases = [
        (
            SearchTable::new("nope", "content", "embedding"),
            "there is no table \"nope\"",
        ),
        (
            SearchTable::new("docs", "body", "embedding"),
            "the table has no column \"body\"",
        ),
        (
            SearchTable::new("docs", "content", "other"),
            "the column \"other\" has the type integer[]",
        ),
        (
            SearchTable::new("docs", "content", "embedding"),
            "run CREATE INDEX CONCURRENTLY ON \"docs\" USING hnsw (\"embedding\" vector_cosine_ops)",
        ),
    ];
    for (place, expected) in cases {
        let findings = shape_of(&pool, &place).await.findings(&place);
        let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert!(
            texts.iter().any(|text| text.contains(expected)),
            "{texts:?}"
        );
    }
    fixture
        .given("CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops)")
        .await;
    let place = SearchTable::new("docs", "content", "embedding").with_id("id");
    let shape = shape_of(&pool, &place).await;
    assert_eq!(shape.findings(&place), []);
    assert_eq!(
        shape.column("embedding").and_then(Column::dimensions),
        Some(3)
    );
    assert_eq!(shape.column("id").and_then(Column::dimensions), None);
    assert!(
        (15_000.0..25_000.0).contains(&shape.rows()),
        "{}",
        shape.rows()
    );
    let read_query = search(&place, &shape).closest_query(&[1.0, 0.0, 0.0], Some(0.5), None);
    let plan = plan(&mut fixture, &read_query).await;
    assert!(
        plan.contains("Index Scan using docs_embedding_idx"),
        "{plan}"
    );
}

#[tokio::test]
async fn an_index_in_half_precision_serves_vectors() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE EXTENSION IF NOT EXISTS vector; SELECT setseed(0.5);
             CREATE TABLE docs (id int, content text, embedding vector(3));
             INSERT INTO docs SELECT n, 'x', ARRAY[random(), random(), random()]::vector
                 FROM generate_series(1, 12000) AS n;
             CREATE INDEX halves ON docs USING hnsw ((embedding::halfvec(3)) halfvec_cosine_ops);
             ANALYZE docs;",
        )
        .await;
    let pool = fixture.readable();
    let place = SearchTable::new("docs", "content", "embedding").with_id("id");
    let shape = shape_of(&pool, &place).await;
    assert_eq!(shape.findings(&place), []);
    let search = search(&place, &shape);
    let read_query = search.closest_query(&[0.1, 0.2, 0.3], None, Some(100));
    let plan = plan(&mut fixture, &read_query).await;
    assert!(plan.contains("Index Scan using halves"), "{plan}");
    let found = search.closest(&[0.1, 0.2, 0.3], None, None, &pool).await;
    let found = found.expect("rows");
    assert_eq!(found.len(), 20);
    assert!(found[0].score > 0.99, "{found:?}");
}

#[tokio::test]
async fn columns_may_have_the_names_that_a_query_uses() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE EXTENSION IF NOT EXISTS vector;
             CREATE TABLE docs (id text, distance text, near text, embedding vector(3));
             INSERT INTO docs VALUES ('one', 'far', 'a', '[0,1,0]'), ('two', 'close', 'b', '[1,0,0]');",
        )
        .await;
    let pool = fixture.readable();
    let place = SearchTable::new("docs", "distance", "embedding")
        .with_id("id")
        .with_title("near")
        .with_url("distance");
    let shape = shape_of(&pool, &place).await;
    for (least, expected) in [(None, 2), (Some(0.5), 1)] {
        let found = search(&place, &shape)
            .closest(&[1.0, 0.0, 0.0], least, None, &pool)
            .await
            .expect("rows");
        assert_eq!(found.len(), expected, "{found:?}");
        assert_eq!(found[0].id.as_deref(), Some("two"));
        assert_eq!(found[0].content, "close");
        assert_eq!(found[0].title.as_deref(), Some("b"));
        assert!((found[0].score - 1.0).abs() < 1e-9, "{found:?}");
    }
}

#[tokio::test]
async fn settings_of_the_index_are_sent_only_if_they_change_something() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE EXTENSION IF NOT EXISTS vector;
             CREATE TABLE docs (id int, content text, embedding vector(3));",
        )
        .await;
    let pool = fixture.readable();
    let place = SearchTable::new("docs", "content", "embedding");
    let filtered = place
        .clone()
        .with_filter(Restriction::Raw("id > 7".to_owned()));
    let shape = shape_of(&pool, &place).await;
    let sent = |place: &SearchTable, rows, ef_search| {
        let search = Search {
            rows,
            ..search(place, &shape)
        };
        let read_query = search.closest_query(&[1.0, 0.0, 0.0], None, ef_search);
        read_query.before.unwrap_or_default()
    };
    assert_eq!(sent(&place, 40, None), "");
    assert!(sent(&place, 41, None).contains("41"));
    assert!(sent(&place, 10, Some(200)).contains("200"));
    assert!(sent(&filtered, 10, None).contains("iterative_scan"));
}

#[tokio::test]
async fn a_column_that_may_not_be_read_is_reported() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE EXTENSION IF NOT EXISTS vector;
             CREATE TABLE docs (id int, content text, embedding vector(3));
             REVOKE ALL ON docs FROM PUBLIC;",
        )
        .await;
    let role = format!("blind_{}", fixture.settings.database.replace('-', "_"));
    fixture
        .given(&format!(
            "CREATE ROLE \"{role}\" LOGIN PASSWORD 'x';
             GRANT SELECT (content) ON docs TO \"{role}\""
        ))
        .await;
    let pool = fixture.pool(|settings| {
        settings.user = role.clone();
        settings.password = "x".to_owned().into();
    });
    let place = SearchTable::new("docs", "content", "embedding");
    let findings = shape_of(&pool, &place).await.findings(&place);
    fixture
        .given(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\""))
        .await;
    let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].contains("GRANT SELECT (\"embedding\") ON \"docs\""),
        "{texts:?}"
    );
}

#[tokio::test]
async fn an_index_over_words_is_found_whichever_way_it_was_made() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE plain (title text, content text);
             CREATE INDEX ON plain USING gin (to_tsvector('simple', title || ' ' || content));
             CREATE INDEX ON plain USING gin (to_tsvector('english', content));
             CREATE TABLE short (content varchar(90));
             CREATE INDEX ON short USING gin (to_tsvector('german', coalesce(content, '')));
             CREATE TABLE made (content text, words tsvector GENERATED ALWAYS AS
                 (setweight(to_tsvector('french', content), 'A')) STORED);
             CREATE INDEX ON made USING gin (words);
             CREATE TABLE filled (content text, words tsvector);
             CREATE INDEX ON filled USING gin (words);
             CREATE TRIGGER fill BEFORE INSERT OR UPDATE ON filled FOR EACH ROW EXECUTE FUNCTION
                 tsvector_update_trigger(words, 'pg_catalog.spanish', content);
             CREATE TABLE not_this (title text, content text);
             CREATE INDEX ON not_this USING gin (to_tsvector('english', title));
             CREATE INDEX ON not_this USING gin (to_tsvector('english', content))
                 WHERE title = 'x';",
        )
        .await;
    let pool = fixture.readable();
    let cases = [
        (
            "plain",
            Some(("(to_tsvector('english'::regconfig, content))", "'english'")),
        ),
        (
            "short",
            Some((
                "(to_tsvector('german'::regconfig, (COALESCE(content, ''::character varying))::text))",
                "'german'",
            )),
        ),
        ("made", Some(("\"words\"", "'french'"))),
        ("filled", Some(("\"words\"", "'pg_catalog.spanish'"))),
        ("not_this", None),
    ];
    for (table, expected) in cases {
        let place = SearchTable::new(table, "content", "embedding");
        let lexicon = shape_of(&pool, &place).await.lexicon(&place);
        let found = lexicon.as_ref().map(Lexicon::parts);
        let expected = expected.map(|(vector, configuration)| (vector, Some(configuration)));
        assert_eq!(found, expected, "{table}");
    }
}

#[tokio::test]
async fn words_are_counted_and_found_by_the_index() {
    let mut fixture = Fixture::new().await;
    fixture
        .given(
            "CREATE TABLE docs (content text);
             INSERT INTO docs SELECT 'always ' || CASE WHEN n % 10 = 0 THEN 'running' ELSE '' END
                 || ' word' || n FROM generate_series(1, 20000) AS n;
             CREATE INDEX ON docs USING gin (to_tsvector('english', content)); ANALYZE docs;",
        )
        .await;
    let pool = fixture.readable();
    let place = SearchTable::new("docs", "content", "embedding");
    let shape = shape_of(&pool, &place).await;
    let lexicon = shape.lexicon(&place).expect("there is one");
    let words = ["always", "running", "the", "it's \\ ' x"].map(str::to_owned);
    let lexemes = lexicon.configuration().lexemes(&words, &pool).await;
    let lexemes = lexemes.expect("lexemes");
    assert_eq!(lexemes, [vec!["alway"], vec!["run"], vec![], vec!["x"]]);
    let asked = ["alway", "run", "it's \\", "word77"].map(str::to_owned);
    let counts = lexicon
        .frequencies(&asked, 100, &place, &shape, &pool)
        .await;
    let counts = counts.expect("counts");
    assert!((19_000.0..=20_000.0).contains(&counts[0]), "{counts:?}");
    assert!((1500.0..=2500.0).contains(&counts[1]), "{counts:?}");
    assert_eq!(counts[2..], [0.0, 1.0]);
    let lexeme_query = LexemeQuery(vec![vec!["run".to_owned(), "alway".to_owned()]]);
    let read_query = search(&place, &shape).matching_query(&lexicon, &lexeme_query);
    let plan = plan(&mut fixture, &read_query).await;
    assert!(
        plan.contains("Bitmap Index Scan on docs_to_tsvector_idx"),
        "{plan}"
    );
}

const TEXTSEARCH: &str = r#"{"kind": "r", "triggers": [], "columns": [], "indexes": [
    {"name": "public.docs_idx", "method": "bm25", "reads": ["content"], "options": [], "keys": [
        {"column": "content", "definition": "content", "class": "text_bm25_ops",
         "extension": "pg_textsearch", "schema": "public"}]}]}"#;

const SEARCH: &str = r#"{"kind": "r", "triggers": [], "columns": [], "indexes": [
    {"name": "public.docs_idx", "method": "bm25", "reads": ["id", "content"],
     "options": ["key_field=id"], "keys": [
        {"column": "id", "definition": "id", "class": "anyelement_bm25_ops",
         "extension": "pg_search", "schema": "pg_catalog"},
        {"column": "content", "definition": "content", "class": "anyelement_bm25_ops",
         "extension": "pg_search", "schema": "pg_catalog"}]}]}"#;

const VCHORD: &str = r#"{"kind": "r", "triggers": ["bert\\000content\\000tokens\\000"],
    "columns": [], "indexes": [
    {"name": "public.docs_idx", "method": "bm25", "reads": ["tokens"], "options": [], "keys": [
        {"column": "tokens", "definition": "tokens", "class": "bm25_ops",
         "extension": "vchord_bm25", "schema": "bm25_catalog"}]}]}"#;

#[test]
fn indexes_of_extensions_are_distinguished_by_their_owner() {
    let place = SearchTable::new("docs", "content", "embedding").with_id("id");
    for (json, expected) in [
        (TEXTSEARCH, Extension::PgTextsearch),
        (SEARCH, Extension::PgSearch),
        (VCHORD, Extension::VchordBm25),
    ] {
        let shape = relation(json);
        for extension in Extension::ALL {
            let ranking = shape.ranking(extension, &place);
            let found = ranking.map(|ranking| ranking.extension());
            let expected = (extension == expected).then_some(extension);
            assert_eq!(found, expected, "{json}");
        }
        let other = SearchTable::new("docs", "title", "embedding");
        assert_eq!(shape.ranking(expected, &other), None, "{json}");
    }
    // A trigger with other arguments names no tokenizer.
    let shape = relation(&VCHORD.replace("\"bert", "\"x\\\\000bert"));
    assert_eq!(shape.ranking(Extension::VchordBm25, &place), None);
}

#[test]
fn an_index_over_trigrams_serves_patterns_for_its_column() {
    let shape = relation(
        r#"{"kind": "r", "columns": [], "triggers": [], "indexes": [{"name": "public.t",
            "method": "gin", "options": [], "reads": ["content"], "keys": [{"column": "content",
            "definition": "content", "class": "gin_trgm_ops", "extension": "pg_trgm",
            "schema": "public"}]}]}"#,
    );
    let place = |text| SearchTable::new("docs", text, "embedding");
    assert!(shape.has_trigrams(&place("content")));
    assert!(!shape.has_trigrams(&place("title")));
    assert_eq!(shape.lexicon(&place("content")), None);
}

#[test]
fn queries_for_extensions_follow_their_documentation() {
    let place = SearchTable::new("docs", "content", "embedding").with_id("id");
    let cases = [
        (
            TEXTSEARCH,
            Extension::PgTextsearch,
            "ORDER BY \"content\" OPERATOR(public.<@>) public.to_bm25query($1::text, \
             'public.docs_idx') ASC LIMIT 20",
        ),
        (
            SEARCH,
            Extension::PgSearch,
            "WHERE \"content\" @@@ paradedb.match('content', $1::text) AND \"content\" IS NOT NULL",
        ),
        (
            SEARCH,
            Extension::PgSearch,
            "ORDER BY paradedb.score(\"id\") DESC LIMIT 20",
        ),
        (
            VCHORD,
            Extension::VchordBm25,
            "ORDER BY \"tokens\" OPERATOR(bm25_catalog.<&>) bm25_catalog.to_bm25query(\
             'public.docs_idx'::regclass, tokenizer_catalog.tokenize($1::text, 'bert')\
             ::bm25_catalog.bm25vector) ASC LIMIT 20",
        ),
    ];
    for (json, extension, expected) in cases {
        let shape = relation(json);
        let ranking = shape.ranking(extension, &place).expect(json);
        let read_query = search(&place, &shape).ranked_query(&ranking, "what's up", 20);
        assert!(read_query.query.contains(expected), "{}", read_query.query);
        assert_eq!(read_query.values, [Value::Text("what's up".to_owned())]);
    }
}

/// Texts of two tenants, with row security by a setting. The role of the login sees no row without it,
/// and may not execute `set_config`.
fn tenants(fixture: &Fixture) -> String {
    format!(
        "CREATE EXTENSION IF NOT EXISTS vector;
         CREATE ROLE \"{0}_reader\" LOGIN PASSWORD 'reader';
         CREATE TABLE docs (id int PRIMARY KEY, tenant text, content text, embedding vector(2),
             words tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED);
         INSERT INTO docs SELECT n, 'one', 'about run ' || n, ARRAY[n, 1]::vector
             FROM generate_series(1, 50) AS n;
         CREATE INDEX ON docs USING gin (words);
         CREATE INDEX ON docs USING hnsw (embedding vector_cosine_ops);
         ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
         CREATE POLICY own ON docs
             USING (tenant = nullif(current_setting('app.tenant', true), ''));
         GRANT SELECT ON docs TO \"{0}_reader\";
         REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;",
        fixture.settings.database
    )
}

/// Returns all that a search of a tenant tells.
async fn told(place: &SearchTable, pool: &Pool) -> String {
    let shape = shape_of(pool, place).await;
    assert!(shape.hides_rows());
    let search = search(place, &shape);
    let closest = search.closest(&[0.0, 1.0], None, None, pool).await;
    let lexicon = shape.lexicon(place).expect("there is one");
    let words = ["run", "about", "7"].map(str::to_owned);
    let frequencies = lexicon.frequencies(&words, 10, place, &shape, pool).await;
    let wanted = LexemeQuery(vec![vec!["7".to_owned()], vec!["run".to_owned()]]);
    let matching = search.matching(&lexicon, &wanted, |hit| hit.id, pool).await;
    let length = |_, text: &str| u32::try_from(text.len()).expect("short");
    let sample = search.sample(length, pool).await.expect("lengths");
    assert_eq!(sample.len(), 50);
    format!(
        "{} {:?} {:?} {:?} {sample:?}",
        shape.rows(),
        closest.expect("rows"),
        frequencies.expect("counts"),
        matching.expect("rows"),
    )
}

#[tokio::test]
async fn a_search_of_a_tenant_tells_nothing_of_the_rows_of_others() {
    let mut fixture = Fixture::new().await;
    fixture.given(&tenants(&fixture)).await;
    let reader = fixture.describe(|settings| {
        settings.user = format!("{}_reader", settings.database);
        settings.password = Password::Given("reader".to_owned().into());
    });
    let acting = Acting::default().with_setting("app.tenant", "one");
    let acting = reader.acting(acting.expect("good")).expect("usable");
    let pool = fixture.pools.pool("one", &Arc::new(acting));
    let place = SearchTable::new("docs", "content", "embedding").with_id("id");
    let before = told(&place, &pool).await;
    assert!(before.starts_with("50 "), "{before}");
    let others = "INSERT INTO docs SELECT 1000 + n, 'two', 'run about 7 run ' || n,
            ARRAY[n / 1e6, 1]::vector FROM generate_series(1, 3000) AS n; ANALYZE docs;";
    fixture.given(others).await;
    assert_eq!(told(&place, &pool).await, before);
    let role = format!("{}_reader", fixture.settings.database);
    fixture
        .given(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\""))
        .await;
}
