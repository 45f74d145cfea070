//! Filters on masked columns, which do not exist for the asker.

use serde_json::{Value, json};

use super::{ASK, Asker, COLUMNS, Masked, QUESTION};

/// Asks with a filter on a column.
fn filtered(asker: &Asker, column: &str, stream: bool) -> (u16, String) {
    let filter = json!({"conditions": [{"column": column, "operator": "LIKE", "value": "%"}]});
    let body = json!({"query": QUESTION, "filter": filter, "stream": stream});
    let answer = asker.post(ASK, &body);
    // The name is the asker's own.
    (
        answer.status,
        answer.body.replace(&format!("column {column} "), ""),
    )
}

fn searched(asker: &Asker, column: &str) -> Value {
    let filter = json!({"conditions": [{"column": column, "operator": "IN", "value": ["a"]}]});
    let found = asker.tool(
        "search_documents",
        &json!({"query": QUESTION, "filter": filter}),
    );
    let text = found.to_string().replace(&format!("column {column} "), "");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_masked_column_is_an_unknown_one() {
    let masks = "{column: public.documents.url, mask: last4, for: {tokens: [masked]}}, \
                 {column: public.documents.id, mask: hash, for: {tokens: [masked]}}";
    for columns in ["['*']", "[lang, url, id]"] {
        let table = format!("{{{COLUMNS}, filter_columns: {columns}}}");
        let server = Masked::new(&table, masks);
        let (_program, masked, open) = server.serve();
        assert_eq!(filtered(&masked, "lang", false).0, 200, "{columns}");
        for column in ["url", "id"] {
            assert_eq!(filtered(&open, column, false).0, 200, "{columns}");
            for stream in [false, true] {
                let refused = filtered(&masked, column, stream);
                assert_eq!(refused, filtered(&masked, "absent", stream), "{columns}");
                let is_told = refused.1.contains("url") || refused.1.contains("id,");
                assert!(!is_told, "{refused:?}");
            }
            let found = searched(&masked, column);
            assert_eq!(found, searched(&masked, "absent"), "{columns}");
            assert_eq!(found["isError"], true, "{found}");
        }
        let refused = filtered(&masked, "url", false);
        assert_eq!(refused.0, 400, "{refused:?}");
        assert_eq!(filtered(&open, "url", false).0, 200, "{columns}");
    }
}

#[test]
fn a_column_that_is_masked_in_part_may_be_filtered_by() {
    let masks = "{column: public.documents.url, patterns: [email], for: {tokens: [masked]}}";
    let table = format!("{{{COLUMNS}, filter_columns: [url]}}");
    let server = Masked::new(&table, masks);
    let (_program, masked, _) = server.serve();
    assert_eq!(filtered(&masked, "url", false).0, 200);
    assert_eq!(filtered(&masked, "title", false).0, 400);
}
