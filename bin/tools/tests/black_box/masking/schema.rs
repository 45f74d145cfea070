//! Marks of masked columns in answers about the schema, and what these answers leave out.

use serde_json::{Value, json};

use crate::{
    masking::{OPEN, PEOPLE, Shop, masking},
    revisions::result,
    support::{Client, Postgres},
};

/// More definitions with values of masked columns in them: all have `sec-` in their texts.
const DEFINITIONS: &str = "
    CREATE INDEX ssn_some ON person (ssn) WHERE ssn <> 'sec-index';
    CREATE INDEX ssn_is ON person ((ssn = 'sec-key'));
    CREATE INDEX name_some ON person (name) WHERE name <> 'open-index';
    ALTER TABLE person ADD CHECK (name <> 'open-check');
    ALTER TABLE person ENABLE ROW LEVEL SECURITY;
    CREATE POLICY others ON person USING (ssn <> 'sec-policy');
    CREATE DOMAIN code AS text CHECK (value <> 'sec-domain');
    CREATE TABLE parted (id int, ssn code) PARTITION BY LIST (ssn);
    CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('sec-bound');
    INSERT INTO parted SELECT 1, 'sec-bound' FROM generate_series(1, 90);
    INSERT INTO person SELECT n, 'name', 'sec-' || n % 3, 'x' FROM generate_series(10, 200) AS n;
    ANALYZE;";

/// Returns the answers about the tables of [`DEFINITIONS`], at every entrance, by their names.
fn answers(client: &Client) -> Vec<(&'static str, String)> {
    let tool = |name: &str, arguments: Value| client.tool(name, &arguments).0;
    let resource = |uri: &str| {
        let read = result(client, "resources/read", &json!({"uri": uri}));
        let text = read["contents"][0]["text"].as_str();
        text.unwrap_or_default().to_owned()
    };
    let full = |table: &str| {
        let named =
            json!({"schema": "public", "table": table, "level": "full", "max_tokens": 9000});
        tool("search_schema", named)
    };
    vec![
        ("full", full("person")),
        ("partition", full("parted_a")),
        (
            "words",
            tool(
                "search_schema",
                json!({"query": "person ssn", "kinds": ["column", "table"]}),
            ),
        ),
        (
            "info",
            tool("get_schema_info", json!({"schema_name": "public"})),
        ),
        ("api", client.get("/api/schema").body),
        ("table", resource("pg://shop/public/person")),
        ("column", resource("pg://shop/public/person/ssn")),
        ("part", resource("pg://shop/public/parted_a")),
    ]
}

fn shop() -> Shop {
    let postgres = Postgres::with(PEOPLE);
    postgres.run(DEFINITIONS);
    let parted = "    - {column: public.parted.ssn, mask: fixed, unless: {tokens: [token-9]}}\n";
    Shop::on(postgres, &format!("{}{parted}", masking("plan")))
}

#[test]
fn answers_about_tables_have_no_values_of_masked_columns() {
    let shop = shop();
    let mut seen = String::new();
    // Callers with masks and without ask in turns: nothing that is kept crosses.
    for _ in 0..2 {
        for (_, answer) in answers(&shop.client.bearing(OPEN)) {
            seen += &answer;
        }
        for (name, answer) in answers(&shop.masked()) {
            assert!(answer.contains("ssn"), "{name}: {answer}");
            assert!(!answer.contains("sec-"), "{name}: {answer}");
        }
    }
    for shown in ["index", "key", "bad", "policy", "domain", "bound", "1"] {
        assert!(seen.contains(&format!("sec-{shown}")), "{shown}: {seen}");
    }
    let all: String = answers(&shop.masked())
        .into_iter()
        .map(|(_, it)| it)
        .collect();
    for kept in ["open-index", "open-check", "ssn_some", "others"] {
        assert!(all.contains(kept), "{kept}: {all}");
    }
}

#[test]
fn columns_are_marked_for_callers_with_masks_only() {
    let shop = shop();
    for (client, is_masked) in [(shop.masked(), true), (shop.client.bearing(OPEN), false)] {
        for (name, answer) in answers(&client) {
            assert_eq!(answer.contains("asked"), is_masked, "{name}: {answer}");
        }
        let schema = client.get("/api/schema").json();
        let tables = schema["schemas"][0]["tables"].as_array().expect("tables");
        let person = tables.iter().find(|it| it["name"] == "person");
        let columns = person
            .and_then(|it| it["columns"].as_array())
            .expect("columns");
        let marks = columns.iter().map(|it| it["masked"] == true);
        let expected = [false, false, is_masked, is_masked];
        assert_eq!(marks.collect::<Vec<_>>(), expected, "{columns:?}");
    }
    let masked = shop.masked();
    let (text, _) = masked.tool(
        "search_schema",
        &json!({"table": "person", "level": "full"}),
    );
    assert!(text.contains("  ssn text masked\n"), "{text}");
    assert!(text.contains("  name text"), "{text}");
    let (text, _) = masked.tool("get_schema_info", &json!({"schema_name": "public"}));
    assert!(text.contains("\tvector_dims\tmasked\n"), "{text}");
    let arguments = json!({"schema_name": "public", "table_name": "person"});
    let called = json!({"name": "get_schema_info", "arguments": arguments});
    let called = result(&masked, "tools/call", &called);
    let text = called["content"][0]["text"].as_str().unwrap_or_default();
    let lines: Vec<_> = text.lines().filter(|it| it.contains("\ttext\t")).collect();
    let ends = lines
        .iter()
        .map(|it| it.rsplit('\t').next().unwrap_or_default());
    assert_eq!(
        ends.collect::<Vec<_>>(),
        ["false", "true", "true"],
        "{text}"
    );
}
