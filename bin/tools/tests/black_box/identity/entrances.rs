//! Searches, resources, exports, completions and schema answers, which give each caller its own rows.

use serde_json::{Value, json};

use crate::{
    identity::{Shop, query},
    revisions::{ask, result},
    support::Client,
    tools_similarity::pages,
};

/// Gives the first two pages to one tenant and the others to another, by role and by setting.
const PAGES_OF_TENANTS: &str = "
    ALTER TABLE page ADD COLUMN owner name;
    UPDATE page SET owner = CASE WHEN id <= 2 THEN 'ONE' ELSE 'TWO' END;
    ALTER TABLE page ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON page
        USING (owner = current_user OR owner = nullif(current_setting('app.tenant', true), ''));
    GRANT SELECT ON page TO PUBLIC;";

/// Adds rows of another tenant that are nearer to each question than the others.
const MORE: &str = "
    INSERT INTO page
    SELECT 10 + n, 'Spades', 'A spade of another', p.body_embedding, 'TWO'
    FROM generate_series(1, 400) n, page p WHERE p.id = 1;
    ANALYZE;";

const QUESTION: &str = "Ferns want shade and water, and no sun at noon.";

/// Returns a shop of each mode with pages of both tenants.
fn shops() -> [Shop; 3] {
    let more = "embedding: {enabled: true, provider: local}\n\
        toolsets: [{name: all, tools: [search_schema, '*'], resources: ['*'], rest: [query], \
        for: {everyone: true}}]\n";
    [
        Shop::connect_as(more),
        Shop::set_role(more),
        Shop::by_setting_with(more),
    ]
    .map(|shop| {
        shop.postgres.run(&pages());
        shop.run(PAGES_OF_TENANTS);
        shop
    })
}

fn search(caller: &Client, format: &str, metric: &str) -> String {
    let arguments = json!({
        "query_text": QUESTION, "table_name": "public.page", "output_format": format,
        "distance_metric": metric,
    });
    let (text, is_error) = caller.tool("similarity_search", &arguments);
    assert!(!is_error, "{text}");
    text
}

#[test]
fn a_search_finds_and_scores_rows_of_its_caller_alone() {
    for shop in shops() {
        let (_program, client) = shop.serve();
        let callers = [1, 2].map(|number| client.bearing(&format!("secret-{number}")));
        let searched = || {
            let kinds = [("full", "cosine"), ("full", "l2"), ("ids_only", "cosine")];
            kinds.map(|(format, metric)| search(&callers[0], format, metric))
        };
        let before = searched();
        for text in &before[..2] {
            assert!(text.contains("Moss covers"), "{text}");
            assert!(!text.contains("spade") && !text.contains("Seeds"), "{text}");
        }
        assert!(before[2].contains("Total: 2 results"), "{}", before[2]);
        let of_two = search(&callers[1], "full", "cosine");
        assert!(
            of_two.contains("spade") && !of_two.contains("Moss covers"),
            "{of_two}"
        );
        // An index returns the rows of another first.
        shop.run(MORE);
        assert_eq!(searched(), before);
    }
}

#[test]
fn resources_and_exports_have_the_rows_of_their_caller_alone() {
    for shop in shops() {
        let (_program, client) = shop.serve();
        for (number, own, other) in [(1, "red", "blue"), (2, "blue", "red")] {
            let caller = client.bearing(&format!("secret-{number}"));
            let read = result(
                &caller,
                "resources/read",
                &json!({"uri": "custom://orders"}),
            );
            let by_tool = caller
                .tool("read_resource", &json!({"uri": "custom://orders"}))
                .0;
            let body = json!({"sql": "SELECT * FROM orders", "format": "csv"}).to_string();
            let link = caller.post("/api/exports", &body).json();
            let link = link["href"].as_str().unwrap_or_else(|| panic!("{link}"));
            let file = caller.get(link).body;
            for text in [read.to_string(), by_tool, file] {
                assert!(
                    text.contains(own) && !text.contains(other),
                    "{number}: {text}"
                );
            }
        }
    }
}

/// A table with few values, which are a part of schema answers, and one that a tenant may not see.
const TABLES: &str = "
    CREATE TABLE visit (id int PRIMARY KEY, owner name, kind text);
    INSERT INTO visit SELECT n, CASE WHEN n % 4 = 0 THEN 'ONE' ELSE 'TWO' END,
        CASE WHEN n % 4 = 0 THEN 'mine' ELSE 'theirs' END FROM generate_series(1, 4000) n;
    ALTER TABLE visit ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON visit
        USING (owner = current_user OR owner = nullif(current_setting('app.tenant', true), ''));
    GRANT SELECT ON visit TO PUBLIC;
    CREATE TABLE vault (id int PRIMARY KEY, secret text);
    INSERT INTO vault SELECT n, 'gold' FROM generate_series(1, 4000) n;
    ANALYZE;";

#[test]
fn schema_answers_and_completions_tell_no_values_and_no_names_of_others() {
    for (at, shop) in shops().into_iter().enumerate() {
        shop.run(TABLES);
        let (_program, client) = shop.serve();
        let caller = client.bearing("secret-1");
        let searched = |arguments: Value| {
            let params = json!({"name": "search_schema", "arguments": arguments});
            result(&caller, "tools/call", &params)["content"][0]["text"].to_string()
        };
        let mut told = ["visit", "vault", "orders"]
            .map(|table| searched(json!({"table": table, "level": "full"})))
            .to_vec();
        told.push(searched(json!({"query": "vaults with a secret"})));
        for table in ["visit", "vault"] {
            let uri = json!({"uri": format!("pg://shop/public/{table}")});
            told.push(ask(&caller, "resources/read", &uri).body);
        }
        for text in &told {
            for value in ["theirs", "gold", "blue", "mine"] {
                assert!(!text.contains(value), "{text}");
            }
        }
        assert!(told[0].contains("kind"), "{}", told[0]);
        let complete = |table: &str| {
            let uri = "pg://{database}/{schema}/{table}";
            let params = json!({
                "ref": {"type": "ref/resource", "uri": uri},
                "argument": {"name": "table", "value": table},
                "context": {"arguments": {"database": "shop", "schema": "public"}},
            });
            result(&caller, "completion/complete", &params)["completion"]["values"].clone()
        };
        assert_eq!(complete("vi"), json!(["visit"]));
        // With settings the role is the database's own user, and all tables are named.
        let expected = if at == 2 { json!(["vault"]) } else { json!([]) };
        assert_eq!(complete("va"), expected, "{at}");
        let (text, is_error) = query(&caller, "SELECT count(*) FROM visit");
        assert!(!is_error && text.contains("1000"), "{text}");
    }
}
