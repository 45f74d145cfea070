//! Answers about a database with everything that is long.

use std::fmt::Write as _;

use proptest::{prelude::*, test_runner::Config};
use tokio::runtime::Runtime;

use super::*;

/// Makes tables with long names, comments, many columns and references.
fn statements() -> String {
    let mut sql = String::from("CREATE TABLE hub (id int PRIMARY KEY);");
    let labels: Vec<_> = (0..300).map(|n| format!("'label {n}'")).collect();
    let columns: Vec<_> = (0..1500)
        .map(|n| format!("column_{n} int DEFAULT {n}"))
        .collect();
    let long = "ä".repeat(31);
    write!(
        sql,
        "CREATE TYPE long_enum AS ENUM ({});
         CREATE TABLE wide ({});
         CREATE SCHEMA \"{long}\";
         CREATE TABLE \"{long}\".\"{long}\" (\"{long}\" long_enum, id int REFERENCES hub);
         COMMENT ON TABLE \"{long}\".\"{long}\" IS '{}';
         COMMENT ON COLUMN \"{long}\".\"{long}\".id IS E'{}';
         CREATE TABLE \"new\\nline \"\"quotes\"\"\" (\"tab\t\" int, id int REFERENCES hub);",
        labels.join(", "),
        columns.join(", "),
        "long words ".repeat(300),
        "line\\n".repeat(500),
    )
    .expect("a string");
    for n in 0..60 {
        let keys = (0..n % 25).map(|key| format!("hub_{key} int REFERENCES hub,"));
        let keys: String = keys.collect();
        write!(
            sql,
            "CREATE TABLE order_{n} (id int PRIMARY KEY, {keys} status long_enum, note text);
             COMMENT ON COLUMN order_{n}.note IS '{}';",
            "word ".repeat(n * 7),
        )
        .expect("a string");
    }
    sql
}

/// Returns all pages of an answer, each within the tokens.
async fn pages(tool: &SearchSchema, arguments: &Value, max_tokens: u32) -> Vec<String> {
    let mut arguments = arguments.clone();
    arguments["max_tokens"] = max_tokens.into();
    let mut pages = Vec::new();
    loop {
        let result = call(tool.clone(), arguments.clone()).await;
        let text = text_of(&result, result["isError"] == true);
        let bytes = u32::try_from(text.len()).expect("a short text");
        let tokens = (f64::from(bytes) / 4.0 * 1.2 + 10.0).ceil();
        assert!(
            tokens <= max_tokens.into(),
            "{tokens} of {max_tokens}: {text}"
        );
        let cursor = text
            .rsplit_once("; cursor=")
            .map(|(_, cursor)| cursor.to_owned());
        assert_eq!(
            result["structuredContent"]["cursor"].as_str(),
            cursor.as_deref()
        );
        pages.push(text);
        match cursor {
            Some(cursor) if pages.len() < 400 => arguments["cursor"] = cursor.into(),
            _ => return pages,
        }
    }
}

#[test]
fn no_page_exceeds_its_tokens_and_no_entry_is_lost() {
    let runtime = Runtime::new().expect("a runtime");
    let server = runtime.block_on(TestServer::with(&statements()));
    let tool = tool(server.databases());
    let levels = prop::sample::select(vec!["names", "summary", "full"]);
    let queries = prop::sample::select(vec![
        "",
        "order",
        "ääää",
        "hub status note",
        "column 7",
        "label",
    ]);
    let kinds = prop::sample::select(vec![
        json!([]),
        json!(["table"]),
        json!(["column"]),
        json!(["enum", "view"]),
    ]);
    let config = Config {
        cases: 24,
        failure_persistence: None,
        ..Config::default()
    };
    proptest!(config, |(level in levels, query in queries, kinds in kinds, max_tokens in 200_u32..3000)| {
        let arguments = json!({"query": query, "level": level, "kinds": kinds});
        runtime.block_on(pages(&tool, &arguments, max_tokens));
    });
    let names = json!({"level": "names"});
    let whole = runtime.block_on(pages(&tool, &names, 20_000)).concat();
    let paged = runtime.block_on(pages(&tool, &names, 200));
    assert!(paged.len() > 2);
    let lines = paged.iter().flat_map(|page| page.lines());
    assert!(
        lines
            .filter(|line| !line.contains("cursor="))
            .eq(whole.lines())
    );
}

#[tokio::test]
async fn an_entry_that_does_not_fit_is_shown_at_a_lower_level() {
    let server = TestServer::with(&statements()).await;
    let tool = tool(server.databases());
    let arguments = json!({"query": "wide", "level": "full", "kinds": ["table", "view"]});
    let whole = pages(&tool, &arguments, 20_000).await;
    assert!(
        whole[0].contains("column_700 integer [default 700]"),
        "{}",
        whole[0]
    );
    let arguments = json!({"query": "wide order_1", "level": "full"});
    let shortened = pages(&tool, &arguments, 600).await.concat();
    let line =
        "public.wide (table, unknown rows, 1500 columns) (shortened: ask for this table alone)\n";
    assert!(shortened.contains(line), "{shortened}");
}

#[tokio::test]
async fn the_pages_of_one_wide_table_have_all_its_columns() {
    let server = TestServer::with(&statements()).await;
    let tool = tool(server.databases());
    let arguments = json!({"table": "wide", "level": "full"});
    let pages = pages(&tool, &arguments, 4000).await;
    assert!(pages.len() > 2);
    let head = "public.wide (table, unknown rows, 1500 columns)\n";
    assert!(pages.iter().all(|page| page.starts_with(head)));
    let columns = pages
        .iter()
        .flat_map(|page| page.lines().filter(|line| line.starts_with("  ")));
    assert_eq!(columns.count(), 1500);
}
