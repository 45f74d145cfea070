//! Tests of masked columns, at every entrance.

mod others;
mod privileges;
mod schema;

use serde_json::json;

use crate::{
    support::{Client, Home, Postgres, Program, records},
    tools_similarity::garden,
};

/// Tables, and what leads to them. Every value under a mask has `sec` in it.
const PEOPLE: &str = "
    CREATE TABLE person (id int PRIMARY KEY, name text, ssn text DEFAULT 'sec-none', email text,
        CHECK (ssn <> 'sec-bad'));
    INSERT INTO person SELECT n, 'name' || n, 'sec-' || n % 3, 'sec' || n || '@example.com'
        FROM generate_series(1, 9) AS n;
    CREATE TABLE note (id int, body text);
    INSERT INTO note VALUES (1, 'card 4111111111111111');
    CREATE VIEW shown AS SELECT id, ssn AS number, upper(ssn) AS large FROM person;
    ANALYZE;";

/// Tools and a resource of the operator.
const OWN: &str = "tools:
- {name: own_people, description: People, database: shop, statement: 'SELECT id, ssn, ssn AS other, \
ssn || ''!'' AS made FROM person WHERE id = :id', parameters: [{name: id, type: integer, description: \
Number}]}
- {name: own_open, description: People, database: shop, unmasked: true, statement: 'SELECT ssn FROM \
person WHERE id = 1', result: value}
resources:
- {uri: 'custom://people', name: People, description: People, type: sql, sql: 'SELECT id, ssn FROM \
person ORDER BY id LIMIT 2'}
";

/// A toolset with everything that callers can use.
const TOOLSETS: &str = "toolsets:
- {name: all, tools: [search_schema, '*'], resources: ['*'], rest: [schema, query], \
for: {everyone: true}}
";

/// Bearer of the token for whom nothing is masked, and of one with masks.
const OPEN: &str = "secret-9";
const MASKED: &str = "secret-1";

/// A server with masks for all callers but one.
struct Shop {
    _postgres: Postgres,
    _program: Program,
    client: Client,
}

impl Shop {
    fn new(enforce: &str, more: &str) -> Self {
        let postgres = Postgres::with(PEOPLE);
        Self::on(postgres, &format!("{}{}", masking(enforce), more))
    }

    fn on(postgres: Postgres, masking: &str) -> Self {
        let home = Home::new();
        let entry = postgres.entry("shop");
        home.configure(&format!(
            "databases:\n{entry}custom_definitions_path: own.yaml\n{TOOLSETS}{masking}"
        ));
        home.replace(&home.file("own.yaml"), OWN);
        home.replace(&home.file("mask-key"), "0123456789abcdef\n");
        let tokens = [1, 9].map(|number| records::token(number, &format!("secret-{number}"), &[]));
        home.replace(&home.tokens(), &records::tokens(&tokens));
        let (program, client) = home.serve(&[]);
        Self {
            _postgres: postgres,
            _program: program,
            client,
        }
    }

    fn masked(&self) -> Client {
        self.client.bearing(MASKED)
    }

    fn open(&self) -> Client {
        self.client.bearing(OPEN)
    }
}

fn masking(enforce: &str) -> String {
    let unless = "unless: {tokens: [token-9]}";
    format!(
        "masking:\n  enforce: {enforce}\n  key_file: ./mask-key\n  databases:\n    shop:\n    \
         - {{column: public.person.ssn, mask: hash, {unless}}}\n    \
         - {{column: public.person.email, mask: email, {unless}}}\n    \
         - {{column: public.note.body, patterns: [card], {unless}}}\n"
    )
}

fn query(client: &Client, sql: &str) -> (String, bool) {
    client.tool("query_database", &json!({"query": sql}))
}

/// Returns the lines of a statement over HTTP.
fn rows(client: &Client, sql: &str) -> String {
    client
        .post("/api/query", &json!({"sql": sql}).to_string())
        .body
}

/// Returns a file with the rows of a statement.
fn export(client: &Client, sql: &str, format: &str) -> String {
    let body = json!({"sql": sql, "format": format}).to_string();
    let link = client.post("/api/exports", &body);
    match link.json()["href"].as_str() {
        Some(href) => client.get(href).body,
        None => link.body,
    }
}

fn is_hidden(answer: &str) -> bool {
    // The domain is shown, and statements are repeated as they were sent.
    !answer.contains("sec-") && !answer.contains("sec1@")
}

#[test]
fn a_masked_column_is_masked_at_every_entrance() {
    for enforce in ["plan", "origin"] {
        let shop = Shop::new(enforce, "");
        let (masked, open) = (shop.masked(), shop.open());
        let sql = "SELECT id, ssn, email, body FROM person JOIN note USING (id)";
        for (client, is_masked) in [(&masked, true), (&open, false)] {
            let answers = [
                query(client, sql).0,
                rows(client, sql),
                export(client, sql, "csv"),
                export(client, sql, "json"),
                client.tool("own_people", &json!({"id": 1})).0,
                query(client, "SELECT number, large FROM shown").0,
                read(client, "custom://people"),
            ];
            for answer in answers {
                assert_eq!(is_hidden(&answer), is_masked, "{enforce}: {answer}");
            }
        }
        let (text, _) = query(&masked, sql);
        assert!(text.contains("\ts***@example.com\tcard ***"), "{text}");
        let (text, _) = query(
            &masked,
            "SELECT ssn FROM person WHERE id IN (1, 4) ORDER BY id",
        );
        let [.., one, two] = &text.lines().collect::<Vec<_>>()[..] else {
            panic!("{text}");
        };
        assert!(
            one.len() == 16 && one == two,
            "equal values have equal hashes: {text}"
        );
        let described = rows(&masked, sql);
        assert!(
            described.contains(r#""column":"ssn","masked":true"#),
            "{described}"
        );
        assert_eq!(described.matches("masked").count(), 3, "{described}");
        assert!(!rows(&open, sql).contains("masked"));
        let (text, is_error) = masked.tool("own_open", &json!({}));
        assert!(!is_error && text == "sec-1", "{text}");
        let (text, _) = masked.tool("own_people", &json!({"id": 1}));
        assert!(
            text.ends_with("\t***"),
            "a computed column is hidden: {text}"
        );
    }
}

fn read(client: &Client, uri: &str) -> String {
    client
        .call("resources/read", &json!({"uri": uri}))
        .to_string()
}

#[test]
fn conditions_on_masked_columns_are_refused_at_every_entrance() {
    let shop = Shop::new("plan", "");
    let masked = shop.masked();
    let expected = "public.person.ssn is masked and can only be selected as it is";
    let sql = "SELECT id FROM person WHERE ssn = 'sec-1'";
    for answer in [
        query(&masked, sql).0,
        rows(&masked, sql),
        export(&masked, sql, "csv"),
        counted(&masked, "ssn = 'sec-1'"),
        explained(&masked, sql),
        query(&masked, "EXPLAIN SELECT id FROM person ORDER BY ssn").0,
    ] {
        let expected = format!("query rejected: {expected}");
        assert!(answer.contains(&expected), "{answer}");
        assert!(!answer.contains("Seq Scan"), "{answer}");
    }
    for (sql, expected) in [
        (
            "SELECT to_json(p) FROM person p",
            "a whole row of public.person cannot be used",
        ),
        (
            "SELECT * FROM pg_stats",
            "pg_stats may not be used beside masked columns",
        ),
        ("SELECT ssn::int FROM person", expected),
        (
            "SELECT nme FROM person",
            "ERROR: the statement failed (SQLSTATE 42703)",
        ),
        (
            "SELECT table_to_xml('person', true, true, '')",
            "query rejected: ",
        ),
    ] {
        let (text, is_error) = query(&masked, sql);
        assert!(is_error && text.contains(expected), "{sql}: {text}");
    }
    for sql in [
        "SELECT count(*) FROM person",
        "SELECT name, count(*) FROM person GROUP BY name ORDER BY 2",
        "SELECT id, ssn FROM person WHERE name LIKE 'name%' ORDER BY id LIMIT 3",
        "SELECT body FROM note WHERE body LIKE 'card%'",
    ] {
        let (text, is_error) = query(&masked, sql);
        assert!(!is_error, "{sql}: {text}");
    }
    assert!(counted(&masked, "name = 'name1'").contains('1'));
    assert!(explained(&masked, "SELECT id, ssn FROM person").contains("Seq Scan"));
    let (text, is_error) = query(&shop.open(), sql);
    assert!(!is_error && text.contains("Results (3 rows)"), "{text}");
}

fn counted(client: &Client, condition: &str) -> String {
    let arguments = json!({"table": "person", "where": condition});
    client.tool("count_rows", &arguments).0
}

fn explained(client: &Client, sql: &str) -> String {
    client.tool("execute_explain", &json!({"query": sql})).0
}

#[test]
fn with_origins_conditions_are_free_but_counts_and_plans_are_not() {
    let shop = Shop::new("origin", "");
    let masked = shop.masked();
    let (text, is_error) = query(&masked, "SELECT id FROM person WHERE ssn = 'sec-1'");
    assert!(!is_error && text.contains("Results (3 rows)"), "{text}");
    for answer in [
        counted(&masked, "ssn = 'sec-1'"),
        explained(&masked, "SELECT id FROM person WHERE ssn = 'sec-1'"),
    ] {
        let expected = "public.person.ssn is masked and can only be selected as it is";
        assert!(answer.contains(expected), "{answer}");
    }
}

#[test]
fn a_search_leaves_masked_texts_out() {
    let rule = |column: &str| {
        format!(
            "embedding: {{enabled: true, provider: local}}\nmasking:\n  databases:\n    shop:\n    \
             - {{column: {column}, mask: fixed, unless: {{tokens: [token-9]}}}}\n"
        )
    };
    let ask = |shop: &Shop, client: Client| {
        let _ = shop;
        let arguments = json!({"table_name": "page", "query_text": "which plants want shade?"});
        client.tool("similarity_search", &arguments)
    };
    let shop = Shop::on(garden(), &rule("public.page.body_embedding"));
    let (text, is_error) = ask(&shop, shop.masked());
    assert!(
        is_error && text.contains("The texts of this table are masked."),
        "{text}"
    );
    let (text, is_error) = ask(&shop, shop.open());
    assert!(!is_error && text.contains("Ferns want shade"), "{text}");
    let shop = Shop::on(garden(), &rule("public.page.body"));
    let (text, _) = ask(&shop, shop.masked());
    assert!(!text.contains("want shade and water"), "{text}");
}

#[test]
fn two_secrets_are_refused_with_the_same_bytes() {
    let shop = Shop::new("plan", "");
    let masked = shop.masked();
    let of = |id: u32| {
        [
            format!("SELECT upper(ssn) FROM person WHERE id = {id}"),
            format!("SELECT ssn::int FROM person WHERE id = {id}"),
            format!("SELECT 1 / (id - 1) FROM person WHERE id = {id} AND ssn > 'a'"),
        ]
    };
    for (one, two) in of(1).iter().zip(&of(2)) {
        let code = |sql: &str| rows(&masked, sql).lines().last().map(str::to_owned);
        assert_eq!(code(one), code(two), "{one}");
    }
}

#[test]
fn connection_urls_are_off_beside_masks() {
    let shop = Shop::new("plan", "");
    let text = query(&shop.masked(), "SELECT 1 at postgres://localhost/shop").0;
    assert!(!text.contains("Results"), "{text}");
}
