//! Tests that a tool writes rows as `query_database` does.

use serde_json::json;

use super::{SHOP, call, home, text};
use crate::support::Postgres;

/// Statements with a parameter that changes nothing.
const STATEMENTS: [&str; 12] = [
    "SELECT 1 AS a, 'x' AS a, NULL AS b, 2 AS a WHERE :n > 0",
    "SELECT WHERE :n > 0",
    "SELECT FROM generate_series(1, 3) WHERE :n > 0",
    "SELECT g, md5(g::text) FROM generate_series(1, 1000) g WHERE :n > 0 ORDER BY g",
    "SELECT g FROM generate_series(1, 1001) g WHERE :n > 0 ORDER BY g",
    r#"SELECT ARRAY[1, NULL], ARRAY['a,b', '"', '{}', NULL, ''], ARRAY[[1.50], [2]], '{}'::int[] WHERE :n > 0"#,
    "SELECT 1.10::numeric, 'NaN'::numeric, 1e40::numeric, 0.0000001, -0.0::float8, 1e-300::float8, \
     123456789012345678901234567890.5 WHERE :n > 0",
    "SELECT 'infinity'::timestamptz, '-infinity'::date, 'infinity'::float8, '-infinity'::timestamp, \
     'NaN'::float4 WHERE :n > 0",
    "SELECT ROW(1, 'a b', NULL, ROW(true)), o FROM orders o WHERE :n > 0 ORDER BY id",
    r#"SELECT '{"a": [1.50, "x\ty"]}'::json, '{"b": 1}'::jsonb, '\x00ff'::bytea, true, '1 day 2h'::interval,
     '10:00'::time, '10.0.0.1/8'::inet, '[1,5)'::int4range, 'a'::"char", 'id'::name, 42::oid WHERE :n > 0"#,
    r"SELECT E'tab\there', E'line\nbreak\r', E'back\\slash', U&'\202e hidden', '\N', '' WHERE :n > 0",
    "SELECT repeat('long ', 4000), '2026-01-31 12:00+02'::timestamptz, '0044-03-15 BC'::date WHERE :n > 0",
];

/// Returns tools for the statements, with the parameter and without.
fn tools() -> String {
    let tool = |(index, statement): (usize, &&str)| {
        let bare = json!(statement.replace(":n >", "1 >"));
        let statement = json!(statement);
        format!(
            "- {{name: bound_{index}, description: D, row_limit: 1000, statement: {statement}, \
             parameters: [{{name: n, type: integer}}]}}\n\
             - {{name: bare_{index}, description: D, row_limit: 1000, statement: {bare}}}\n"
        )
    };
    STATEMENTS.iter().enumerate().map(tool).collect()
}

/// Returns the rows in the answer of `query_database`, which also says how to get the next ones.
fn rows_of(text: &str) -> String {
    let rows = &text[text.find("Results (").expect(text)..];
    let (heading, lines) = rows.split_once('\n').expect("a heading");
    let (heading, _) = heading.split_once([':', '-']).expect("an end");
    let heading = heading.trim_end_matches([' ', ')']);
    format!("{heading}):\n{lines}")
}

#[test]
fn rows_have_the_text_that_query_database_gives_them() {
    let postgres = Postgres::with(SHOP);
    let home = home(&postgres, &tools());
    let (_program, client) = home.serve(&["-no-auth"]);
    for (index, statement) in STATEMENTS.into_iter().enumerate() {
        let (bound, bare) = (format!("bound_{index}"), format!("bare_{index}"));
        let query = json!({"query": statement.replace(":n >", "1 >"), "limit": 1000});
        let (bound_arguments, none) = (json!({"n": 1}), json!({}));
        let calls = [(&*bound, &bound_arguments), (&*bare, &none)];
        let expected = call(&client, "query_database", &query);
        let rows = rows_of(text(&expected));
        for (name, arguments) in calls {
            let found = call(&client, name, arguments);
            assert_eq!(rows_of(text(&found)), rows, "{statement}");
            assert_eq!(
                found["structuredContent"]["rows"],
                expected["structuredContent"]["rows"]
            );
        }
        let (expected, _) = client.tool("query_database", &query);
        let rows = rows_of(&expected);
        for (name, arguments) in calls {
            let (found, _) = client.tool(name, arguments);
            assert_eq!(rows_of(&found), rows, "{statement}");
        }
    }
}
