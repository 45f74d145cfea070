use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::time;
use tower::{Layer as _, ServiceExt as _};
use ziggurat_answers::test_server;
use ziggurat_databases::{Configured, Databases};
use ziggurat_layers::json_rpc::JsonRpcLayer;
use ziggurat_mcp::{Mcp, Prompts, Resources, ServerInfo, Tools, dialect};
use ziggurat_postgres::{
    database::Settings,
    fixture::{Fixture, Silence},
};
use ziggurat_runtime::logs::captured::CapturedLog;

use super::GetSchemaInfo;

/// A server with this tool and a database for tests.
struct TestServer {
    fixture: Fixture,
    databases: Databases,
    max_bytes: usize,
}

impl TestServer {
    async fn with(sql: &str) -> Self {
        Self::described(sql, |_| {}).await
    }

    async fn described(sql: &str, change: impl FnOnce(&mut Settings)) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let configured = Configured::new(fixture.describe(change));
        let databases = Databases::new(fixture.pools.clone(), [configured]);
        Self {
            fixture,
            databases,
            max_bytes: 1 << 20,
        }
    }

    /// Returns the answer of the server.
    async fn answer(&self, arguments: Value) -> Value {
        let tool = GetSchemaInfo::new(self.databases.clone()).with_max_bytes(self.max_bytes);
        let about = ServerInfo::new("test", "0");
        let tools = Tools::new().with(tool);
        let mcp = Mcp::new(&about, tools, Resources::new(), Prompts::new()).expect("one tool");
        let server = JsonRpcLayer::new().with_dialect(dialect()).layer(mcp);
        let params = json!({"name": "get_schema_info", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = Request::post("/").body(Full::<Bytes>::from(call.to_string()));
        let response = server.oneshot(request.expect("constant parts")).await;
        let body = response.expect("infallible").into_body().collect().await;
        serde_json::from_slice(&body.expect("whole").to_bytes()).expect("JSON")
    }

    /// Returns the text and the structure of an answer.
    async fn both(&self, arguments: Value) -> (String, Value) {
        let tool = GetSchemaInfo::new(self.databases.clone()).with_max_bytes(self.max_bytes);
        test_server::structured(tool, arguments).await
    }

    /// Returns the text and the structure of an answer of at most this many tokens.
    async fn within(&self, max_tokens: u32, arguments: Value) -> (String, Value) {
        let tool = GetSchemaInfo::new(self.databases.clone()).with_max_tokens(max_tokens as usize);
        let (text, structure) = test_server::structured(tool, arguments).await;
        let bytes = u32::try_from(text.len()).expect("a short text");
        assert!(
            (f64::from(bytes) * 0.3 + 10.0).ceil() <= max_tokens.into(),
            "{text}"
        );
        (text, structure)
    }

    /// Returns the text of the answer, and whether it is an error.
    async fn call(&self, arguments: Value) -> (String, bool) {
        let answer = self.answer(arguments).await;
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("a text in {answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    /// Returns the text of a successful answer.
    async fn text(&self, arguments: Value) -> String {
        let (text, failed) = self.call(arguments).await;
        assert!(!failed, "{text}");
        text
    }
}

const SHOP: &str = "CREATE TABLE item (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, sku varchar(20) NOT NULL UNIQUE,
        price numeric(8,2) DEFAULT 0, meaning vector(3));
    COMMENT ON TABLE item IS E'things\\tfor\\nsale';
    CREATE TABLE line (item bigint REFERENCES item, \"Odd\tName\" text);
    CREATE VIEW cheap AS SELECT sku FROM item;
    CREATE SCHEMA other; CREATE VIEW other.cheap AS SELECT 1 AS one;
    CREATE TABLE bare ();";

/// Returns statements that create this many tables in schema `public`.
fn many(count: usize) -> String {
    let statements = (0..count).map(|n| format!("CREATE TABLE t{n:02} (id int);"));
    statements.collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn a_small_database_is_described_column_by_column() {
    let test_server = TestServer::with(SHOP).await;
    let item = "public\titem\tTABLE\tthings\\tfor\\nsale";
    assert_eq!(
        test_server.text(json!({})).await,
        format!(
            "Database: main\n\n\
             schema\ttable\ttype\ttable_desc\tcolumn\tdata_type\tnullable\tcol_desc\tis_pk\t\
             is_unique\tfk_ref\tis_indexed\tidentity\tdefault\tis_vector\tvector_dims\n\
             other\tcheap\tVIEW\t\tone\tinteger\tYES\t\tfalse\tfalse\t\tfalse\t\t\tfalse\t0\n\
             public\tbare\tTABLE\t\t\t\t\t\t\t\t\t\t\t\t\t\n\
             public\tcheap\tVIEW\t\tsku\tcharacter varying(20)\tYES\t\tfalse\tfalse\t\tfalse\t\t\tfalse\t0\n\
             {item}\tid\tbigint\tNO\t\ttrue\tfalse\t\ttrue\ta\t\tfalse\t0\n\
             {item}\tsku\tcharacter varying(20)\tNO\t\tfalse\ttrue\t\ttrue\t\t\tfalse\t0\n\
             {item}\tprice\tnumeric(8,2)\tYES\t\tfalse\tfalse\t\tfalse\t\t0\tfalse\t0\n\
             {item}\tmeaning\tvector(3)\tYES\t\tfalse\tfalse\t\tfalse\t\t\ttrue\t3\n\
             public\tline\tTABLE\t\titem\tbigint\tYES\t\tfalse\tfalse\tpublic.item.id\tfalse\t\t\tfalse\t0\n\
             public\tline\tTABLE\t\tOdd\\tName\ttext\tYES\t\tfalse\tfalse\t\tfalse\t\t\tfalse\t0\n"
        )
    );
}

#[tokio::test]
async fn the_fields_of_a_table_stand_once_for_a_client_that_negotiates() {
    let test_server = TestServer::with(SHOP).await;
    let (text, _) = test_server.both(json!({"schema_name": "public"})).await;
    let repeated = test_server.text(json!({"schema_name": "public"})).await;
    let mut table = String::new();
    for (line, whole) in text.lines().zip(repeated.lines()).skip(3) {
        let fields: Vec<_> = whole.splitn(5, '\t').collect();
        let of_table = fields[..4].join("\t");
        let expected = if of_table == table {
            format!("\t\t\t\t{}", fields[4])
        } else {
            whole.to_owned()
        };
        assert_eq!(line, expected);
        table = of_table;
    }
    assert_eq!(text.matches("things\\tfor\\nsale").count(), 1, "{text}");
    assert!(text.len() < repeated.len(), "{text}");
}

#[tokio::test]
async fn each_filter_narrows_what_is_shown() {
    let test_server = TestServer::with(SHOP).await;
    // The arguments, and the tables of the answer, in order.
    let cases: [(Value, &[&str]); 9] = [
        (json!({"schema_name": "other"}), &["other.cheap"]),
        (
            json!({"schema_name": "public", "table_name": "cheap"}),
            &["public.cheap"],
        ),
        (json!({"vector_tables_only": true}), &["public.item"]),
        (
            json!({"schema_name": "public", "table_name": "line", "compact": true}),
            &["public.line", "public.line"],
        ),
        (
            json!({"compact": true}),
            &[
                "other.cheap",
                "public.bare",
                "public.cheap",
                "public.item",
                "public.line",
            ],
        ),
        (
            json!({"compact": true, "vector_tables_only": true}),
            &["public.item"],
        ),
        // Arguments of the wrong type and empty names count as missing.
        (
            json!({"schema_name": "other", "table_name": "", "compact": "yes"}),
            &["other.cheap"],
        ),
        (
            json!({"schema_name": "", "compact": true, "vector_tables_only": true}),
            &["public.item"],
        ),
        (
            json!({"schema_name": 7, "compact": true, "vector_tables_only": true}),
            &["public.item"],
        ),
    ];
    for (arguments, expected) in cases {
        let text = test_server.text(arguments.clone()).await;
        let mut tables: Vec<_> = text
            .lines()
            .skip_while(|line| !line.starts_with("schema\t"))
            .skip(1)
            .map(|line| {
                let mut fields = line.split('\t');
                let (schema, table) = (fields.next(), fields.next());
                format!("{}.{}", schema.expect("one"), table.expect("one"))
            })
            .collect();
        if arguments["compact"] != true {
            tables.dedup();
        }
        let mut expected: Vec<_> = expected.to_vec();
        expected.dedup();
        tables.dedup();
        assert_eq!(tables, expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_compact_answer_has_a_line_for_each_table() {
    let test_server = TestServer::with(SHOP).await;
    let text = test_server
        .text(json!({"schema_name": "public", "compact": true}))
        .await;
    assert_eq!(
        text,
        "Database: main\n\n\
         schema\ttable\ttype\ttable_desc\n\
         public\tbare\tTABLE\t\n\
         public\tcheap\tVIEW\t\n\
         public\titem\tTABLE\tthings\\tfor\\nsale\n\
         public\tline\tTABLE\t\n"
    );
}

#[tokio::test]
async fn more_than_ten_tables_are_summed_up_unless_something_is_asked_for() {
    let sql = many(10) + "CREATE SCHEMA a; CREATE TABLE a.docs (meaning halfvec(2));";
    let mut test_server = TestServer::with(&sql).await;
    let text = test_server.text(json!({})).await;
    let expected = "Database: main\n\n\
        Database Schema Summary:\n\
        ========================\n\n\
        Found 11 tables across 2 schemas.\n\n\
        Schema 'a': 1 tables\n  Tables: docs\n  Vector-enabled: docs\n\n\
        Schema 'public': 10 tables\n  Tables: t00, t01, t02, t03, t04, ... (+5 more)\n\n\
        <next_steps>\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.ends_with("\n</next_steps>"), "{text}");
    for schema in ["a", "public"] {
        let step = format!("\n- schema_name=\"{schema}\" (");
        assert!(text.contains(&step), "{text}");
    }

    for arguments in [json!({"schema_name": "public"}), json!({"compact": true})] {
        let text = test_server.text(arguments.clone()).await;
        assert!(text.contains("\nschema\ttable\ttype"), "{arguments}");
    }
    test_server.fixture.given("DROP TABLE t00").await;
    let current = test_server.databases.current(None).expect("one");
    test_server.databases.changed(&current);
    let text = test_server.text(json!({})).await;
    assert!(text.contains("\tt01\t"), "ten are not many: {text}");
}

#[tokio::test]
async fn partitions_are_shown_when_they_are_asked_for() {
    let test_server = TestServer::with(
        "CREATE TABLE log (at date) PARTITION BY RANGE (at);
         CREATE TABLE log_24 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');",
    )
    .await;
    let lines = |text: String| -> Vec<String> { text.lines().skip(3).map(str::to_owned).collect() };
    let whole = "public\tlog\tPARTITIONED TABLE\t";
    let part = "public\tlog_24\tTABLE\t";
    let compact = test_server.text(json!({"compact": true})).await;
    assert_eq!(lines(compact), [whole]);
    let all = json!({"compact": true, "include_partitions": true});
    assert_eq!(lines(test_server.text(all).await), [whole, part]);
    let named = json!({"schema_name": "public", "table_name": "log_24"});
    assert!(test_server.text(named).await.contains(part));
}

#[tokio::test]
async fn nothing_found_is_an_error_that_says_what_to_try() {
    let test_server = TestServer::with(SHOP).await;
    let cases = [
        (
            json!({"schema_name": "nope"}),
            "No tables found in schema 'nope'.",
        ),
        (
            json!({"schema_name": "public", "table_name": "Item"}),
            "No tables found in schema 'public' under the name 'Item'.",
        ),
        (
            json!({"schema_name": "other", "vector_tables_only": true}),
            "No tables found with vector columns in schema 'other'.",
        ),
        (
            json!({"schema_name": "pg_catalog"}),
            "No tables found in schema 'pg_catalog'.",
        ),
    ];
    for (arguments, what) in cases {
        let (text, failed) = test_server.call(arguments.clone()).await;
        assert!(failed, "{arguments}");
        let start = format!(
            "\nNo tables found matching your criteria.\n\n{what}\n\n\
             <current_connection>\nConnected to: main\n</current_connection>\n\n<diagnosis>\n- "
        );
        assert!(text.starts_with(&start), "{text}");
        assert!(
            text.contains("\n</diagnosis>\n\n<next_steps>\n- "),
            "{text}"
        );
        assert!(text.ends_with("\n</next_steps>"), "{text}");
    }

    let empty = TestServer::with("SELECT").await;
    let (text, failed) = empty.call(json!({})).await;
    assert!(failed);
    assert!(
        text.contains("\nNo tables found in this database."),
        "{text}"
    );
}

#[tokio::test]
async fn a_table_that_was_just_created_is_found() {
    let mut test_server = TestServer::with(SHOP).await;
    test_server.text(json!({})).await;
    test_server
        .fixture
        .given("CREATE TABLE late (id int)")
        .await;
    let late = json!({"schema_name": "public", "table_name": "late"});
    let (text, failed) = test_server.call(late.clone()).await;
    assert!(failed, "it has looked just now: {text}");
    time::pause();
    time::advance(Duration::from_secs(3)).await;
    time::resume();
    assert!(test_server.text(late).await.contains("public\tlate\tTABLE"));
}

#[tokio::test]
async fn a_table_without_its_schema_is_refused() {
    let test_server = TestServer::with("SELECT").await;
    let (text, failed) = test_server.call(json!({"table_name": "item"})).await;
    assert_eq!(text, "table_name requires schema_name to be specified");
    assert!(failed);
}

#[tokio::test]
async fn a_schema_the_role_may_not_use_answers_as_postgresql_does() {
    let mut test_server =
        TestServer::with("CREATE SCHEMA closed; CREATE TABLE closed.secret (id int)").await;
    let role = format!("reader_of_{}", test_server.fixture.settings.database);
    test_server
        .fixture
        .given(&format!("CREATE ROLE \"{role}\" LOGIN PASSWORD 'readers'"))
        .await;
    let reader = test_server.fixture.describe(|settings| {
        settings.user.clone_from(&role);
        settings.password = "readers".to_owned().into();
    });
    test_server.databases.replace([Configured::new(reader)]);
    let closed = test_server.call(json!({"schema_name": "closed"})).await;
    let table = json!({"schema_name": "closed", "table_name": "secret"});
    let table = test_server.call(table).await;
    let all = test_server.call(json!({})).await;
    test_server.databases.replace([]);
    let drop = format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"");
    test_server.fixture.given(&drop).await;

    let denied = "ERROR: permission denied for schema closed (SQLSTATE 42501)";
    assert_eq!(closed, (denied.to_owned(), true));
    assert_eq!(table, (denied.to_owned(), true));
    assert!(!all.0.contains("secret"), "{}", all.0);
}

#[tokio::test]
async fn an_answer_that_is_too_long_ends_between_tables_and_says_so() {
    let mut test_server = TestServer::with(&many(9)).await;
    test_server.max_bytes = 150;
    let text = test_server.text(json!({"compact": true})).await;
    let note = "Database: main\n\nNote: the first 8 of 9 tables, ";
    assert!(text.starts_with(note), "{text}");
    assert!(text.ends_with("public\tt07\tTABLE\t\n"), "{text}");

    test_server.max_bytes = 1;
    let text = test_server.text(json!({})).await;
    assert!(text.contains("the first 1 of 9"), "{text}");
    assert!(text.contains("public\tt00\tTABLE"), "{text}");
}

#[tokio::test]
async fn the_cause_of_a_failed_connection_is_logged_and_shown_only_if_enabled() {
    let cause = "FATAL: password authentication failed for user \"nobody_of_that_name\" \
                 (SQLSTATE 28P01)";
    let log = CapturedLog::default();
    let _guard = log.capture();
    for is_shown in [false, true] {
        let test_server = TestServer::described("SELECT", |settings| {
            settings.password = "wrong".to_owned().into();
            settings.user = "nobody_of_that_name".into();
            settings.shows_causes = is_shown;
        })
        .await;
        drop(log.take());
        let (text, failed) = test_server.call(json!({})).await;
        assert!(failed);
        let opening = "Failed to get database client: failed to connect to database 'main': ";
        assert!(text.starts_with(opening), "{text}");
        assert_eq!(text.contains(cause), is_shown, "{text}");

        let log = log.take();
        let lines: Vec<_> = log
            .lines()
            .filter(|line| line.contains("nobody_of_that_name"))
            .collect();
        assert_eq!(lines.len(), 1, "once: {log}");
        assert!(
            lines[0].starts_with("ERROR no connection to a database"),
            "{log}"
        );
        let (_, id) = lines[0].rsplit_once("request_id=").expect("an id");
        assert_eq!(text.contains(id), !is_shown, "{text}: {log}");
    }
}

#[tokio::test]
async fn an_error_of_postgresql_while_reading_is_passed_on() {
    let test_server = TestServer::described("SELECT", |settings| {
        settings.query_timeout = Duration::from_millis(50);
    })
    .await;
    let mut holder = test_server.fixture.connect().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE pg_catalog.pg_description IN ACCESS EXCLUSIVE MODE")
        .execute(&mut holder)
        .await
        .expect("a lock");
    let (text, failed) = test_server.call(json!({})).await;
    assert!(failed);
    assert_eq!(
        text,
        "Failed to load database metadata: ERROR: canceling statement due to statement timeout \
         (SQLSTATE 57014)"
    );
}

#[tokio::test]
async fn while_a_database_is_being_prepared_a_call_is_an_error_of_its_own() {
    let test_server = TestServer::with("SELECT").await;
    let silent = Silence::new().await;
    let configured = Configured::new(
        test_server
            .fixture
            .describe(|settings| silent.stand_in(settings)),
    );
    test_server.databases.replace([configured]);
    time::pause();
    let answers = async { test_server.answer(json!({})).await };
    let ((), answer) = tokio::join!(test_server.databases.warm(), answers);
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
}

#[tokio::test]
async fn the_structure_has_a_row_for_each_line() {
    let test_server = TestServer::with(SHOP).await;
    let (text, table) = test_server.both(json!({})).await;
    let repeated = test_server.text(json!({})).await;
    let columns: Vec<_> = text.lines().nth(2).expect("a header").split('\t').collect();
    assert_eq!(table["columns"], json!(columns));
    let rows = table["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), text.lines().count() - 3, "{text}");
    assert_eq!(rows.len(), repeated.lines().count() - 3, "{repeated}");
    assert_eq!(
        (&table["row_count"], &table["truncated"]),
        (&json!(9), &json!(false))
    );
    // Without the name and the kind of the table.
    let values = |at: usize| rows[at].as_array().expect("values")[3..].to_vec();
    let item = json!("things\tfor\nsale");
    let key = json!([
        item, "id", "bigint", "NO", null, true, false, null, true, "a", null, false, 0
    ]);
    let vector = json!([
        item,
        "meaning",
        "vector(3)",
        "YES",
        null,
        false,
        false,
        null,
        false,
        null,
        null,
        true,
        3
    ]);
    let reference = json!([
        null,
        "item",
        "bigint",
        "YES",
        null,
        false,
        false,
        "public.item.id",
        false,
        null,
        null,
        false,
        0
    ]);
    assert_eq!(values(1), vec![Value::Null; 13]);
    assert_eq!(json!(values(3)), key);
    assert_eq!(json!(values(6)), vector);
    assert_eq!(json!(values(7)), reference);
}

#[tokio::test]
async fn the_structure_of_a_compact_answer_has_a_row_for_each_table() {
    let test_server = TestServer::with(SHOP).await;
    let (_, table) = test_server
        .both(json!({"compact": true, "schema_name": "other"}))
        .await;
    assert_eq!(
        table,
        json!({
            "columns": ["schema", "table", "type", "table_desc"],
            "rows": [["other", "cheap", "VIEW", null]],
            "row_count": 1,
            "truncated": false,
        })
    );
}

#[tokio::test]
async fn the_structure_has_the_tables_of_the_text_and_is_marked_as_truncated() {
    let test_server = TestServer::with(&many(20)).await;
    let (text, table) = test_server
        .within(300, json!({"schema_name": "public"}))
        .await;
    let shown = text
        .lines()
        .filter(|line| line.starts_with("public\t"))
        .count();
    assert!((1..20).contains(&shown), "{text}");
    assert_eq!(
        (&table["row_count"], &table["truncated"]),
        (&json!(shown), &json!(true))
    );
}

#[tokio::test]
async fn tables_are_shown_within_the_tokens_and_search_schema_finds_the_others() {
    let test_server = TestServer::with(&many(30)).await;
    let (text, _) = test_server
        .within(400, json!({"schema_name": "public"}))
        .await;
    let (tables, hint) = text.trim_end().rsplit_once('\n').expect("lines");
    let shown = tables
        .lines()
        .filter(|line| line.starts_with("public\t"))
        .count();
    assert_eq!(
        hint,
        format!(
            "… {} more tables. Find them with search_schema(schema=\"public\", query=\"words of \
             the question\"), or list them with search_schema(schema=\"public\", \
             level=\"names\").",
            30 - shown
        )
    );
    let (compact, _) = test_server.within(400, json!({"compact": true})).await;
    assert!(compact.lines().count() > text.lines().count(), "{compact}");
}

#[tokio::test]
async fn a_table_that_is_too_wide_loses_its_last_columns() {
    let columns: Vec<_> = (0..200).map(|n| format!("c{n:03} int")).collect();
    let wide = format!("CREATE TABLE wide ({})", columns.join(", "));
    let test_server = TestServer::with(&wide).await;
    let (text, _) = test_server.within(1000, json!({})).await;
    let shown = text
        .lines()
        .filter(|line| line.contains("\tinteger\t"))
        .count();
    assert!(shown > 10, "{text}");
    let hint = format!(
        "… {} more columns of public.wide: search_schema(schema=\"public\", table=\"wide\", \
         level=\"full\") has all, in pages.\n",
        200 - shown
    );
    assert!(text.ends_with(&hint), "{text}");
    let (whole, _) = test_server.within(20_000, json!({})).await;
    assert!(
        whole.ends_with("\tfalse\t0\n") && whole.contains("\tc199\t"),
        "{whole}"
    );
}

#[tokio::test]
async fn a_summary_within_the_tokens_has_fewer_schemas() {
    let schemas =
        (0..120).map(|n| format!("CREATE SCHEMA s{n:03}; CREATE TABLE s{n:03}.t (id int);"));
    let test_server = TestServer::with(&schemas.collect::<String>()).await;
    let (text, _) = test_server.within(1200, json!({})).await;
    assert!(
        text.contains("Found 120 tables across 120 schemas."),
        "{text}"
    );
    assert!(
        text.ends_with("search_schema(query=\"words of the question\") finds tables."),
        "{text}"
    );
    let (whole, _) = test_server.within(20_000, json!({})).await;
    assert!(!whole.contains("search_schema"), "{whole}");
    let (least, _) = test_server.within(200, json!({})).await;
    assert!(least.contains("120 tables"), "{least}");
    let old = test_server.text(json!({})).await;
    assert_eq!(old, whole, "clients that negotiate nothing have no limit");
}

#[tokio::test]
async fn the_structure_of_many_tables_has_a_row_for_each_schema() {
    let vectors = "CREATE SCHEMA two; CREATE TABLE two.one (v vector(2));";
    let test_server = TestServer::with(&[&many(11), vectors].concat()).await;
    let (text, table) = test_server.both(json!({})).await;
    assert!(text.contains("Database Schema Summary:"), "{text}");
    assert_eq!(
        table,
        json!({
            "columns": ["schema", "table_count", "tables", "vector_tables"],
            "rows": [
                ["public", 11, "t00, t01, t02, t03, t04, ... (+6 more)", null],
                ["two", 1, "one", "one"],
            ],
            "row_count": 2,
            "truncated": false,
        })
    );
}
