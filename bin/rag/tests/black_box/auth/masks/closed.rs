//! Tables that an asker cannot search.

use serde_json::{Value, json};

use super::{ASK, Asker, COLUMNS, Masked, QUESTION};

/// Views of the documents, and a part of another table.
const RELATIONS: &str = "
    CREATE VIEW seen AS SELECT id, content AS body, embedding FROM documents;
    CREATE VIEW made AS SELECT id, upper(content) AS body, embedding FROM documents;
    CREATE TABLE parted (id text, body text, embedding vector(256)) PARTITION BY LIST (id);
    CREATE TABLE part PARTITION OF parted DEFAULT;
    INSERT INTO parted SELECT id, content, embedding FROM documents;";

/// Returns an answer without its times.
fn told(answer: &Value) -> Value {
    let mut answer = answer.clone();
    answer["debug"]["milliseconds"] = json!(null);
    answer
}

/// Returns the answer to a question in a table without rows.
fn nothing() -> Value {
    let entry = "{table: none, text_column: content, vector_column: embedding, id_column: id}";
    let server = Masked::new(
        entry,
        "{column: public.other.x, mask: fixed, for: {tokens: [none]}}",
    );
    server
        .postgres
        .run("CREATE TABLE none (id text, content text, embedding vector(256))");
    let (_program, masked, _) = server.serve();
    told(&masked.ask(&json!({})).json())
}

fn is_answered(asker: &Asker) -> bool {
    let answer = asker.ask(&json!({})).json();
    answer["sources"]
        .as_array()
        .is_some_and(|it| !it.is_empty())
}

#[test]
fn a_pipeline_without_an_open_table_finds_nothing() {
    let own = |more: &str| format!("{{{COLUMNS}{more}}}");
    let view = |name: &str| {
        format!("{{table: {name}, text_column: body, vector_column: embedding, id_column: id}}")
    };
    let expected = nothing();
    for (table, column) in [
        (own(""), "documents.content, mask: fixed"),
        (own(""), "documents.embedding, mask: null"),
        (
            own(", keyword_columns: {lang: 1}"),
            "documents.lang, mask: last4",
        ),
        (
            own(", keyword_columns: {title: 2}"),
            "documents.title, mask: email",
        ),
        (view("seen"), "documents.content, mask: drop"),
        (view("made"), "documents.content, mask: fixed"),
        (view("parted"), "part.body, mask: fixed"),
        (view("part"), "parted.embedding, mask: fixed"),
    ] {
        let masks = format!("{{column: public.{column}, for: {{tokens: [masked]}}}}");
        let server = Masked::new(&table, &masks);
        server.postgres.run(RELATIONS);
        let (program, masked, open) = server.serve();
        assert!(is_answered(&open), "{column}");
        let sent = server.fake.requests().len();
        let answer = masked.ask(&json!({}));
        assert_eq!(
            (answer.status, told(&answer.json())),
            (200, expected.clone()),
            "{column}"
        );
        let stream = json!({"query": QUESTION, "stream": true});
        let streamed = masked.post(ASK, &stream).body;
        assert!(
            streamed.contains("No relevant information found"),
            "{streamed}"
        );
        let found = masked.tool("search_documents", &json!({"query": QUESTION}));
        assert_eq!(
            found["content"][0]["text"], "No passages were found.",
            "{found}"
        );
        let read = masked.tool("read_document", &json!({"id": "plum-doc-0"}));
        assert_eq!(read["isError"], true, "{read}");
        let listed = masked.call("resources/list", &json!({}));
        assert_eq!(listed["result"]["resources"], json!([]), "{listed}");
        assert_eq!(server.fake.requests().len(), sent, "no model was asked");
        program.wait_for("the table is left out for askers for whom this column is masked");
        assert!(is_answered(&open), "{column}");
    }
}

#[test]
fn the_other_tables_are_searched() {
    let tables = format!(
        "{{{COLUMNS}}}, {{table: notes, text_column: body, vector_column: embedding, id_column: id}}"
    );
    let masks = "{column: public.documents.content, mask: fixed, for: {tokens: [masked]}}";
    let server = Masked::new(&tables, masks);
    server.postgres.run(
        "CREATE TABLE notes AS SELECT 'note-' || id AS id, 'Note: Ferns like shade' AS body, \
         embedding FROM documents",
    );
    let (_program, masked, _) = server.serve();
    let answer = masked.ask(&json!({})).json();
    let sources = answer["sources"].as_array().expect("sources");
    assert!(!sources.is_empty(), "{answer}");
    for source in sources {
        let id = source["id"].as_str().expect("an id");
        assert!(id.starts_with("note-"), "{answer}");
    }
    let tables = answer["debug"]["candidates"]["vector"]
        .as_array()
        .expect("rows");
    assert!(tables.iter().all(|row| row["table"] == "notes"), "{answer}");
    // The number of the first table stays its own.
    let read = masked.tool("read_document", &json!({"id": "2:note-plum-doc-0"}));
    assert!(read.to_string().contains("Ferns like shade"), "{read}");
    let read = masked.tool("read_document", &json!({"id": "1:plum-doc-0"}));
    assert_eq!(read["isError"], true, "{read}");
}

#[test]
fn a_table_that_takes_the_name_of_another_is_not_read_with_its_masks() {
    let masks = "{column: public.documents.title, mask: fixed, for: {tokens: [masked]}}, \
                 {column: public.later.content, mask: fixed, for: {tokens: [masked]}}";
    let server = Masked::new(&format!("{{{COLUMNS}}}"), masks);
    server
        .postgres
        .run("CREATE TABLE later AS SELECT * FROM documents; UPDATE later SET content = 'Medlar'");
    let (_program, masked, open) = server.serve();
    assert!(is_answered(&masked) && is_answered(&open));
    server
        .postgres
        .run("ALTER TABLE documents RENAME TO earlier; ALTER TABLE later RENAME TO documents");
    let answer = masked.ask(&json!({})).body;
    assert!(!answer.contains("Medlar"), "{answer}");
    assert!(open.ask(&json!({})).body.contains("Medlar"));
}
