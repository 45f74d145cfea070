use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use ziggurat_databases::{Configured, Databases};
use ziggurat_mcp::{Mcp, Prompts, ReadResource, Resources, ServerInfo, Tools, dialect};
use ziggurat_postgres::{database::Settings, fixture::Fixture};

use super::*;

/// Expressions, and the JSON that the driver of the old server made of them.
const VALUES: &[(&str, &str)] = &[
    ("NULL::int", "null"),
    ("true", "true"),
    ("(-32768)::int2", "-32768"),
    ("2147483647", "2147483647"),
    ("42::int8", r#""42""#),
    ("4294967295::oid", "4294967295"),
    ("1e-7::float4", "1e-7"),
    ("1e20::float8", "100000000000000000000"),
    ("1e21::float8", "1e+21"),
    ("'-0'::float8", "0"),
    ("'NaN'::float8", "null"),
    ("'-Infinity'::float4", "null"),
    ("19.90", r#""19.90""#),
    ("'NaN'::numeric", r#""NaN""#),
    ("'12.34'::money", r#""$12.34""#),
    (r"E'a\t\u0001'", r#""a\t\u0001""#),
    ("'Ada'::char(5)", r#""Ada  ""#),
    ("'A'::\"char\"", r#""A""#),
    ("'Ada'::name", r#""Ada""#),
    ("'so so'::mood", r#""so so""#),
    ("7::percent", "7"),
    ("ROW(1, NULL, 'a')", r#""(1,,a)""#),
    (r"'\x00ff'::bytea", r#"{"type":"Buffer","data":[0,255]}"#),
    (r"'\x'::bytea", r#"{"type":"Buffer","data":[]}"#),
    ("date '2024-01-31'", r#""2024-01-31T00:00:00.000Z""#),
    ("date '0044-03-15 BC'", r#""-000043-03-15T00:00:00.000Z""#),
    ("date '12024-01-01'", r#""+012024-01-01T00:00:00.000Z""#),
    ("date 'infinity'", "null"),
    (
        "timestamp '2024-01-31 12:34:56.789999'",
        r#""2024-01-31T12:34:56.789Z""#,
    ),
    (
        "timestamp '2024-01-31 12:34:56.7'",
        r#""2024-01-31T12:34:56.700Z""#,
    ),
    (
        "timestamp '275760-09-13 00:00'",
        r#""+275760-09-13T00:00:00.000Z""#,
    ),
    ("timestamp '275760-09-13 00:00:00.001'", "null"),
    (
        "timestamptz '2024-01-31 12:34:56+02'",
        r#""2024-01-31T10:34:56.000Z""#,
    ),
    ("time '12:34'", r#""12:34:00""#),
    ("timetz '12:34+02'", r#""12:34:00+02""#),
    ("interval '0'", "{}"),
    (
        "interval '1 year 2 months -3 days 4 hours 6.789 seconds'",
        r#"{"years":1,"months":2,"days":-3,"hours":4,"seconds":6,"milliseconds":789}"#,
    ),
    (
        "interval '-00:00:01.000250'",
        r#"{"seconds":-1,"milliseconds":-0.25}"#,
    ),
    ("point '(1.5,-2)'", r#"{"x":1.5,"y":-2}"#),
    ("point '(Infinity,NaN)'", r#"{"x":null,"y":null}"#),
    ("circle '<(1,2),3.5>'", r#"{"x":1,"y":2,"radius":3.5}"#),
    ("line '{1,2,3}'", r#""{1,2,3}""#),
    ("lseg '[(0,0),(1,1)]'", r#""[(0,0),(1,1)]""#),
    ("box '(1,1),(0,0)'", r#""(1,1),(0,0)""#),
    ("path '((0,0),(1,1))'", r#""((0,0),(1,1))""#),
    ("polygon '((0,0),(1,1))'", r#""((0,0),(1,1))""#),
    ("inet '10.0.0.1'", r#""10.0.0.1""#),
    ("cidr '10.0.0.0/8'", r#""10.0.0.0/8""#),
    ("macaddr '08:00:2b:01:02:03'", r#""08:00:2b:01:02:03""#),
    ("bit '101'", r#""101""#),
    ("varbit '1011'", r#""1011""#),
    ("to_tsvector('simple', 'a')", r#""'a':1""#),
    ("int4range(1, 3)", r#""[1,3)""#),
    ("'$.a'::jsonpath", r#""$.\"a\"""#),
    ("'int4'::regtype", r#""integer""#),
    ("'16/B374D848'::pg_lsn", r#""16/B374D848""#),
    (
        r#"'{"b": 1.0, "10": [], "9": {}, "b": "é"}'::json"#,
        r#"{"9":{},"10":[],"b":"é"}"#,
    ),
    (
        r#"'{"b": 1.50, "a": null}'::jsonb"#,
        r#"{"a":null,"b":1.5}"#,
    ),
    ("'null'::jsonb", "null"),
    ("ARRAY[true, NULL]", "[true,null]"),
    ("ARRAY[1, NULL]::int2[]", "[1,null]"),
    ("ARRAY[1, NULL]::int8[]", r#"["1",null]"#),
    ("ARRAY[1.50, NULL, 'NaN']::numeric[]", "[1.5,null,null]"),
    ("ARRAY[1e21]::float8[]", "[1e+21]"),
    (
        r#"ARRAY['a', NULL, '', 'NULL', 'a"\,{}']"#,
        r#"["a",null,"","NULL","a\"\\,{}"]"#,
    ),
    ("ARRAY[[1, 2], [3, 4]]", "[[1,2],[3,4]]"),
    ("'{}'::int[]", "[]"),
    ("'[0:1]={7,8}'::int[]", "[7,8]"),
    (
        r"ARRAY['\x01']::bytea[]",
        r#"[{"type":"Buffer","data":[1]}]"#,
    ),
    (
        "ARRAY['2024-01-31', 'infinity']::date[]",
        r#"["2024-01-31T00:00:00.000Z",null]"#,
    ),
    ("ARRAY['1 day']::interval[]", r#"[{"days":1}]"#),
    ("ARRAY['(1,2)']::point[]", r#"[{"x":1,"y":2}]"#),
    (r#"ARRAY['{"a": 1.0}']::jsonb[]"#, r#"[{"a":1}]"#),
    ("ARRAY['12:00']::time[]", r#"["12:00:00"]"#),
    ("ARRAY[numrange(1, 2)]", r#"["[1,2)"]"#),
    // The driver did not know the arrays of these types.
    ("ARRAY[int4range(1, 2)]", r#""{\"[1,2)\"}""#),
    ("ARRAY['so so']::mood[]", r#""{\"so so\"}""#),
];

struct TestServer {
    fixture: Fixture,
    databases: Databases,
    max_bytes: usize,
}

impl TestServer {
    async fn with(sql: &str) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.given(sql).await;
        let databases = Databases::new(fixture.pools.clone(), []);
        let max_bytes = 1 << 20;
        let server = Self {
            fixture,
            databases,
            max_bytes,
        };
        server.describe(|_| {});
        server
    }

    fn describe(&self, change: impl FnOnce(&mut Settings)) {
        let database = self.fixture.describe(change);
        self.databases.replace([Configured::new(database)]);
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let resources = Resources::new().with_source(TableSchemas::new(self.databases.clone()));
        let tools = Tools::new()
            .with(Query::new(self.databases.clone(), self.max_bytes))
            .with(ReadResource::new(resources.clone()));
        let about = ServerInfo::new("test", "0");
        let mcp = Mcp::new(&about, tools, resources, Prompts::new()).expect("no duplicates");
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = Request::new(Bytes::from(call.to_string()));
        let Ok(answer) = dialect().read(request).answer(mcp).await;
        let body = answer.into_body().expect("a request").collect().await;
        serde_json::from_slice(&body.expect("whole").to_bytes()).expect("JSON")
    }

    async fn call(&self, arguments: Value) -> Value {
        let params = json!({"name": "query", "arguments": arguments});
        self.ask("tools/call", params).await
    }

    /// Returns the texts of an answer that is not an error.
    async fn texts(&self, sql: &str) -> Vec<String> {
        let answer = self.call(json!({"sql": sql})).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{sql}: {answer}");
        let items = result["content"].as_array().expect("a list").iter();
        let text = |item: &Value| item["text"].as_str().expect("a text").to_owned();
        items.map(text).collect()
    }

    async fn text(&self, sql: &str) -> String {
        let [text] = <[String; 1]>::try_from(self.texts(sql).await).expect("one text");
        text
    }

    async fn error(&self, arguments: Value) -> Value {
        let answer = self.call(arguments).await;
        answer["error"].clone()
    }
}

const TYPES: &str = "CREATE TYPE mood AS ENUM ('so so');
    CREATE DOMAIN percent AS int CHECK (VALUE BETWEEN 0 AND 100)";

#[tokio::test]
async fn a_value_of_each_type_is_the_json_of_the_old_driver() {
    let server = TestServer::with(TYPES).await;
    for (sql, expected) in VALUES {
        let text = server.text(&format!("SELECT {sql} AS v")).await;
        // No value here has a line break or two spaces.
        let compact = text
            .replace('\n', "")
            .replace("  ", "")
            .replace("\": ", "\":");
        let spaced = expected.replace("  ", "");
        assert_eq!(compact, format!(r#"[{{"v":{spaced}}}]"#), "{sql}");
    }
}

#[tokio::test]
async fn rows_are_objects_of_javascript_with_an_indent_of_two() {
    let server =
        TestServer::with("CREATE TABLE t AS SELECT n FROM generate_series(1, 1500) n").await;
    for (sql, expected) in [
        (
            "SELECT 1 AS a, '{\"b\": [1]}'::json AS j; ",
            "[\n  {\n    \"a\": 1,\n    \"j\": {\n      \"b\": [\n        1\n      ]\n    }\n  }\n]",
        ),
        (
            "SELECT 1 AS a, 2 AS b, 3 AS a",
            "[\n  {\n    \"a\": 3,\n    \"b\": 2\n  }\n]",
        ),
        (
            "SELECT 1 AS b, 2 AS \"10\", 3 AS \"9\"",
            "[\n  {\n    \"9\": 3,\n    \"10\": 2,\n    \"b\": 1\n  }\n]",
        ),
        ("SELECT FROM t LIMIT 2", "[\n  {},\n  {}\n]"),
        ("SELECT 1 WHERE false", "[]"),
        ("", "[]"),
        (" ; -- nothing", "[]"),
    ] {
        assert_eq!(server.text(sql).await, expected, "{sql}");
    }
    // There is no limit on the number of rows.
    server.describe(|settings| settings.row_limit = 10);
    let text = server.text("SELECT n FROM t ORDER BY n").await;
    let rows: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert_eq!((rows.len(), &rows[1499]), (1500, &json!({"n": 1500})));
}

#[tokio::test]
async fn an_answer_ends_after_a_whole_row_within_its_bytes_and_says_so() {
    let mut server = TestServer::with("").await;
    server.max_bytes = 1000;
    for sql in [
        "SELECT n, repeat('x', 50) AS x FROM generate_series(1, 100) n",
        "SELECT n, repeat('x', CASE n WHEN 5 THEN 5000 ELSE 10 END) AS x FROM generate_series(1, 9) n",
    ] {
        let [text, more] = <[String; 2]>::try_from(server.texts(sql).await).expect("two texts");
        assert!(text.len() <= 1000, "{text}");
        let rows: Vec<Value> = serde_json::from_str(&text).expect("whole rows");
        assert!(!rows.is_empty(), "{text}");
        assert_eq!(more, format!("{} rows shown, more available.", rows.len()));
    }
    let texts = server.texts("SELECT repeat('x', 2000) AS x").await;
    assert_eq!(texts, ["[]", "0 rows shown, more available."]);
    let row = server.text("SELECT repeat('x', 977) AS x").await;
    assert_eq!(row.len(), 1000);
    let texts = server.texts("SELECT repeat('x', 978) AS x").await;
    assert_eq!(texts.len(), 2, "{texts:?}");
}

#[tokio::test]
async fn errors_are_errors_of_the_protocol() {
    let server = TestServer::with("CREATE TABLE t (n int)").await;
    server.describe(|settings| settings.allow_writes = true);
    for (sql, message) in [
        ("SELECT nothing", "column \"nothing\" does not exist"),
        ("SELEC 1", "syntax error at or near \"SELEC\""),
        ("SELECT 1 FROM", "syntax error at end of input"),
        ("SELECT 1 / 0", "division by zero"),
        (
            "INSERT INTO t VALUES (1)",
            "cannot execute INSERT in a read-only transaction",
        ),
        (
            "SELECT 1; SELECT 2",
            "cannot insert multiple commands into a prepared statement",
        ),
    ] {
        let error = server.error(json!({"sql": sql})).await;
        assert_eq!(error, json!({"code": -32603, "message": message}), "{sql}");
    }
    let refused = server
        .error(json!({"sql": "SELECT pg_read_file('x')"}))
        .await;
    assert_eq!(refused["code"], -32603, "{refused}");
    for arguments in [
        json!({}),
        json!({"sql": null}),
        json!({"sql": 7}),
        json!({"query": "SELECT 1"}),
    ] {
        let error = server.error(arguments).await;
        let message = "Missing or invalid 'sql' parameter";
        assert_eq!(error, json!({"code": -32602, "message": message}));
    }
    server.describe(|settings| settings.database = "no_such_database".into());
    let error = server.error(json!({"sql": "SELECT 1"})).await;
    assert_eq!(error["code"], -32603, "{error}");
    assert!(
        error["message"].is_string() && error["data"].is_null(),
        "{error}"
    );
}

#[tokio::test]
async fn each_table_and_view_of_public_is_a_resource_with_its_columns() {
    let server = TestServer::with(
        "CREATE TABLE orders (id bigint, note text, tags text[]);
         CREATE VIEW \"a b/ä\" AS SELECT 1 AS n; CREATE SCHEMA other; CREATE TABLE other.hidden (x int)",
    )
    .await;
    let list = async || {
        let answer = server.ask("resources/list", json!({})).await;
        answer["result"]["resources"].clone()
    };
    let settings = server
        .databases
        .current(None)
        .expect("one")
        .database()
        .settings()
        .clone();
    let host: String = ziggurat_text::percent::encode(&settings.host).collect();
    let base = format!("postgres://{}@{host}/", settings.user);
    let entry = |base: &str, path: &str, name: &str| {
        let name = format!("\"{name}\" database schema");
        json!({"uri": format!("{base}{path}/schema"), "mimeType": "application/json", "name": name})
    };
    let view = entry(&base, "a%20b%2F%C3%A4", "a b/ä");
    assert_eq!(
        list().await,
        json!([view, entry(&base, "orders", "orders")])
    );

    server.describe(|settings| settings.given_port = Some(settings.port));
    let with_port = format!("postgres://{}@{host}:{}/", settings.user, settings.port);
    assert_eq!(list().await[1], entry(&with_port, "orders", "orders"));

    let read = async |uri: String| {
        let answer = server.ask("resources/read", json!({"uri": uri})).await;
        match &answer["result"] {
            Value::Null => answer["error"].clone(),
            result => result["contents"][0]["text"].clone(),
        }
    };
    let columns = "[\n  {\n    \"column_name\": \"id\",\n    \"data_type\": \"bigint\"\n  },\n  \
                   {\n    \"column_name\": \"note\",\n    \"data_type\": \"text\"\n  },\n  \
                   {\n    \"column_name\": \"tags\",\n    \"data_type\": \"ARRAY\"\n  }\n]";
    assert_eq!(read(format!("{base}orders/schema")).await, columns);
    assert_eq!(read("postgres://other/orders/schema".into()).await, columns);
    let column = "[\n  {\n    \"column_name\": \"n\",\n    \"data_type\": \"integer\"\n  }\n]";
    assert_eq!(read(format!("{base}a%20b%2F%C3%A4/schema")).await, column);
    for missing in ["missing", "hidden", "%zz"] {
        assert_eq!(read(format!("{base}{missing}/schema")).await, "[]");
    }
    let invalid = json!({"code": -32603, "message": "Invalid resource URI"});
    assert_eq!(read(format!("{base}orders/rows")).await, invalid);
    assert_eq!(read("mysql://a/orders/schema".into()).await["code"], -32003);

    let params = json!({"name": "read_resource", "arguments": {"list": true}});
    let answer = server.ask("tools/call", params).await;
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .expect("a text");
    assert!(text.contains("orders/schema"), "{text}");
}
