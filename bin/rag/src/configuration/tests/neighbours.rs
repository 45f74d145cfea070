//! Settings of columns that are searched by words, of neighbours and of operators.

use super::{Case, messages::refused};

#[test]
fn columns_of_a_table_are_checked() {
    let at = |key: &str, message: &str| format!("pipelines[0].tables[0].{key}: {message}");
    for (old, new, message) in [
        (
            "vector_column: embedding",
            "vector_column: embedding, keyword_columns: {title: 11}",
            at("keyword_columns.title", "must be between 0 and 10"),
        ),
        (
            "vector_column: embedding",
            "vector_column: embedding, keyword_columns: {content: 2}",
            at(
                "keyword_columns",
                "must not have the text column, whose words count once",
            ),
        ),
        (
            "vector_column: embedding",
            "vector_column: embedding, keyword_columns: {title: 2}, keyword_backend: pg_search",
            at("keyword_columns", "has no effect with this keyword_backend"),
        ),
        (
            "vector_column: embedding",
            "vector_column: embedding, id_column: id, document_column: doc",
            at(
                "position_column",
                "required, because document_column is set",
            ),
        ),
        (
            "vector_column: embedding",
            "vector_column: embedding, document_column: doc, position_column: at",
            at("id_column", "required, because document_column is set"),
        ),
        (
            "vector_column: embedding",
            "vector_column: embedding, position_column: at",
            at(
                "document_column",
                "required, because position_column is set",
            ),
        ),
    ] {
        refused(&[(old, new, &message)]);
    }
}

#[test]
fn neighbours_need_columns_that_order_the_rows() {
    let at = |message: &str| format!("pipelines[0].search.expand: {message}");
    for (expand, message) in [
        (6, at("must be between 0 and 5")),
        (
            1,
            at("has no effect: no table has a document_column and a position_column"),
        ),
    ] {
        let new = format!("name: docs\n  search: {{expand: {expand}}}");
        refused(&[("name: docs", &new, &message)]);
    }
}

#[test]
fn columns_and_operators_are_read() {
    let case = Case::changed(&[
        (
            "name: docs",
            "name: docs\n  search: {expand: 2, operators: true}",
        ),
        (
            "vector_column: embedding",
            "vector_column: embedding, id_column: id, keyword_columns: {title: 3, tags: 1}, \
             document_column: doc, position_column: at",
        ),
    ]);
    let pipeline = case.pipeline();
    assert!(pipeline.search.operators);
    assert_eq!(pipeline.search.expand, 2);
    let table = &pipeline.tables[0];
    let columns = table.keyword_columns.iter();
    let columns: Vec<_> = columns.map(|(name, weight)| (&**name, *weight)).collect();
    assert_eq!(columns, [("title", 3), ("tags", 1)]);
    let order = table.order.as_ref().expect("it has one");
    assert_eq!((&*order.document, &*order.position), ("doc", "at"));
    assert!(!Case::changed(&[]).pipeline().search.operators);
}
