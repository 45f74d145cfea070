mod budget;
mod functions;

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::time;
use ziggurat_answers::test_server::{TestServer, respond};
use ziggurat_databases::Configured;
use ziggurat_mcp::protocol::Revision;

use super::*;

const SHOP: &str = "CREATE SCHEMA sales; CREATE SCHEMA hr;
    CREATE TYPE order_status AS ENUM ('open', 'paid', 'void');
    COMMENT ON TYPE order_status IS 'State of an order';
    CREATE TABLE customer (id bigint PRIMARY KEY, full_name text NOT NULL, email text UNIQUE,
        kind text, CHECK (kind <> full_name));
    CREATE TABLE orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        customer_id bigint NOT NULL REFERENCES customer,
        status order_status NOT NULL DEFAULT 'open', placed_at date);
    COMMENT ON TABLE orders IS 'One row per order';
    CREATE INDEX ON orders (placed_at);
    CREATE POLICY mine ON orders FOR SELECT USING (customer_id > 0);
    ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
    CREATE TABLE product (id int PRIMARY KEY, title text);
    CREATE TABLE order_line (
        order_id bigint REFERENCES orders, nr int, product_id int REFERENCES product,
        amount int CHECK (amount > 0), PRIMARY KEY (order_id, nr));
    CREATE TABLE shipment (
        order_id bigint, nr int, sent date, FOREIGN KEY (order_id, nr) REFERENCES order_line);
    CREATE TABLE favourite (who bigint REFERENCES customer, what int REFERENCES product);
    CREATE TABLE orders_archive (id bigint, note text);
    CREATE TABLE reorder (id int);
    CREATE TABLE ordering (id int);
    CREATE TABLE sales.report (id int, total numeric);
    COMMENT ON COLUMN sales.report.total IS 'Turnover of all orders';
    CREATE VIEW sales.open_orders AS SELECT * FROM orders WHERE status = 'open';
    CREATE TABLE hr.report (id int);
    CREATE TABLE \"Lager\" (\"Größe\" int, \"order\" int);
    CREATE TABLE log (at date) PARTITION BY RANGE (at);
    CREATE TABLE log_2024 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    INSERT INTO customer SELECT n, 'name ' || n, n || '@a.example',
        CASE WHEN n % 4 = 0 THEN 'company' ELSE 'person' END FROM generate_series(1, 1234) n;
    ANALYZE customer;";

const GLOSSARY: &str = "
- {term: MRR, note: Monthly recurring revenue of all subscriptions.}
- {database: main, object: public.orders.status, note: void ones count nowhere}
- {database: other, object: public.orders.id, note: of another database}
- {object: public.customer, note: people and companies}";

fn tool(databases: Databases) -> SearchSchema {
    let entries = serde_yaml::from_str(GLOSSARY).expect("YAML");
    let glossary = Glossary::read(entries).expect("valid");
    SearchSchema::new(databases).with_glossary(glossary)
}

/// Calls the tool. Returns the result of the call.
async fn call(tool: SearchSchema, arguments: Value) -> Value {
    let body = respond(tool, Revision::V2025_11_25, arguments).await;
    let answer = body.collect().await.expect("whole").to_bytes();
    let mut answer: Value = serde_json::from_slice(&answer).expect("JSON");
    answer["result"].take()
}

/// Returns the text of a result, which is an error if it has to be.
fn text_of(result: &Value, is_error: bool) -> String {
    assert_eq!(result["isError"] == true, is_error, "{result}");
    result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

async fn text(server: &TestServer, arguments: Value) -> String {
    text_of(&call(tool(server.databases()), arguments).await, false)
}

async fn problem(server: &TestServer, arguments: Value) -> String {
    text_of(&call(tool(server.databases()), arguments).await, true)
}

/// Returns the names that a query finds.
async fn names(server: &TestServer, query: &str) -> Vec<String> {
    let text = text(server, json!({"query": query, "level": "names"})).await;
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn one_word_finds_whole_names_then_parts_beginnings_middles_and_texts() {
    let server = TestServer::with(SHOP).await;
    assert_eq!(
        names(&server, "Orders").await,
        [
            "public.orders",
            "public.order_status",
            "public.order_line",
            "public.orders_archive",
            "sales.open_orders",
            "public.ordering",
            "public.reorder",
            "public.\"Lager\"",
            "public.shipment",
            "sales.report",
        ]
    );
    assert_eq!(names(&server, "order_line").await[0], "public.order_line");
    assert_eq!(names(&server, "orderLines").await[0], "public.order_line");
    assert_eq!(names(&server, "MRR").await, ["term MRR"]);
    assert_eq!(
        names(&server, "companies").await,
        ["public.customer"],
        "of a note"
    );
    assert_eq!(names(&server, "sales.report").await[0], "sales.report");
}

#[tokio::test]
async fn a_question_finds_the_tables_that_match_most_of_its_words() {
    let server = TestServer::with(SHOP).await;
    let question = "How many open orders per customer were there last month?";
    let found = names(&server, question).await;
    let best = &found[..5];
    for table in ["public.orders", "sales.open_orders", "public.customer"] {
        assert!(best.iter().any(|name| name == table), "{found:?}");
    }
    let text = text(&server, json!({"query": "paid orders", "kinds": ["table"]})).await;
    assert!(
        text.starts_with(
            "public.orders (table, unknown rows, 4 columns) pk id; \
             fk customer_id -> public.customer.id; -- One row per order\n  \
             status order_status not null [default 'open'::order_status] [enum open|paid|void] \
             | void ones count nowhere\n"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn abbreviated_and_misspelt_words_find_names_if_nothing_else_does() {
    let server = TestServer::with(SHOP).await;
    assert_eq!(names(&server, "custmer").await[0], "public.customer");
    assert_eq!(names(&server, "shipped").await, ["public.shipment"]);
    assert_eq!(names(&server, "logs").await, ["public.log"]);
}

#[tokio::test]
async fn a_table_that_joins_two_that_match_comes_right_after_them() {
    let server = TestServer::with(SHOP).await;
    let text = text(&server, json!({"query": "customer product"})).await;
    let tables = text.lines().filter(|line| !line.starts_with(' '));
    let names: Vec<_> = tables
        .map(|line| line.split(' ').next().expect("a name"))
        .collect();
    assert_eq!(
        names[..3],
        ["public.product", "public.customer", "public.favourite"],
        "{text}"
    );
}

#[tokio::test]
async fn an_empty_query_lists_everything_and_kinds_and_schemas_limit_it() {
    let server = TestServer::with(SHOP).await;
    let all = text(&server, json!({"level": "names"})).await;
    assert_eq!(all.lines().count(), 16, "{all}");
    assert!(all.starts_with("hr.report\npublic.\"Lager\"\n"), "{all}");
    assert!(all.ends_with("public.order_status\nterm MRR\n"), "{all}");
    let views = json!({"kinds": ["view", "enum"], "level": "summary"});
    assert_eq!(
        text(&server, views).await,
        "sales.open_orders (view, 4 columns)\n\
         public.order_status (enum) open|paid|void -- State of an order\n"
    );
    let columns = json!({"kinds": ["column"], "query": "total", "schema": "sales"});
    assert_eq!(
        text(&server, columns).await,
        "sales.report.total numeric -- Turnover of all orders\n"
    );
    let columns = json!({"kinds": ["column"], "table": "product", "level": "names"});
    assert_eq!(
        text(&server, columns).await,
        "public.product.id\npublic.product.title\n"
    );
    let term = json!({"kinds": ["term"]});
    assert_eq!(
        text(&server, term).await,
        "term MRR: Monthly recurring revenue of all subscriptions.\n"
    );
}

#[tokio::test]
async fn a_table_in_full_has_its_columns_values_and_everything_below_them() {
    let server = TestServer::with(SHOP).await;
    for table in ["orders", "public.orders", "\"orders\""] {
        assert_eq!(
            text(&server, json!({"table": table, "level": "full"})).await,
            "public.orders (table, unknown rows, 4 columns) pk id; \
             fk customer_id -> public.customer.id; -- One row per order\n  \
             id bigint not null pk identity\n  \
             customer_id bigint not null -> public.customer.id\n  \
             status order_status not null [default 'open'::order_status] [enum open|paid|void] \
             | void ones count nowhere\n  \
             placed_at date\n  \
             indexes: orders_placed_at_idx btree (placed_at)\n  \
             policies: RLS on; mine SELECT to PUBLIC using (customer_id > 0)\n  \
             referenced by: public.order_line.order_id\n"
        );
    }
    let found = text(&server, json!({"query": "customer", "level": "full"})).await;
    let expected = "public.customer (table, ~1.2K rows, 4 columns) pk id | people and companies\n  \
        id bigint not null pk\n  \
        full_name text not null\n  \
        email text unique\n  \
        kind text [values: person 75%, company 25%]\n  \
        indexes: customer_email_key unique btree (email)\n  \
        checks: kind <> full_name\n  \
        referenced by: public.favourite.who, public.orders.customer_id\n";
    assert!(found.starts_with(expected), "{found}");
    let log = text(&server, json!({"table": "log", "level": "full"})).await;
    assert!(
        log.contains("(partitioned table, unknown rows, 1 column)\n"),
        "{log}"
    );
    assert!(log.ends_with("  partitions: 1 by range (at)\n"), "{log}");
    let part = text(&server, json!({"table": "log_2024", "level": "full"})).await;
    assert!(
        part.contains("  partition of: public.log from ('2024-01-01')"),
        "{part}"
    );
    let view = text(&server, json!({"table": "open_orders", "level": "full"})).await;
    // PostgreSQL 14 and 15 write the table before each column.
    let query = view.replace("orders.", "");
    assert!(
        query.contains("  view: SELECT id, customer_id, status, placed_at FROM orders"),
        "{view}"
    );
}

#[tokio::test]
async fn values_are_not_shown_if_the_operator_says_so() {
    let server = TestServer::with(SHOP).await;
    let tool = tool(server.databases()).with_values_max(0);
    let result = call(tool, json!({"table": "customer", "level": "full"})).await;
    assert!(!text_of(&result, false).contains("[values"), "{result}");
}

#[tokio::test]
async fn paths_of_foreign_keys_join_two_tables_the_shortest_first() {
    let server = TestServer::with(SHOP).await;
    assert_eq!(
        text(&server, json!({"from": "shipment", "to": "orders"})).await,
        "(public.shipment.order_id, public.shipment.nr) -> \
         (public.order_line.order_id, public.order_line.nr), \
         then public.order_line.order_id -> public.orders.id\n"
    );
    assert_eq!(
        text(
            &server,
            json!({"from": "public.product", "to": "orders", "query": "x"})
        )
        .await,
        "public.order_line.product_id -> public.product.id, \
         then public.order_line.order_id -> public.orders.id\n\
         public.favourite.what -> public.product.id, \
         then public.favourite.who -> public.customer.id, \
         then public.orders.customer_id -> public.customer.id\n"
    );
    assert_eq!(
        text(&server, json!({"from": "product", "to": "hr.report"})).await,
        "No path of up to 4 foreign keys joins them."
    );
}

#[tokio::test]
async fn names_that_do_not_exist_or_are_not_unique_are_explained() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            json!({"table": "report", "level": "full"}),
            "Several schemas have a table 'report': hr.report, sales.report. Name the schema, too.",
        ),
        (
            json!({"from": "report", "to": "orders"}),
            "Several schemas have a table 'report': hr.report, sales.report. Name the schema, too.",
        ),
        (
            json!({"table": "lager", "level": "full"}),
            "Nothing matches. The nearest names are: public.\"Lager\", public.log, public.orders.",
        ),
        (
            json!({"schema": "sales", "table": "orders"}),
            "Nothing matches. The nearest names are: public.orders, public.ordering, public.reorder.",
        ),
        (
            json!({"schema": "nope"}),
            "Nothing matches. No such schema is known; the schemas are: hr, public, sales.",
        ),
        (
            json!({"from": "order", "to": "produkt"}),
            "Nothing matches. The nearest names are: public.orders, public.product, public.reorder.",
        ),
    ];
    for (arguments, expected) in cases {
        assert_eq!(
            problem(&server, arguments.clone()).await,
            expected,
            "{arguments}"
        );
    }
    let both = text(&server, json!({"table": "report", "level": "names"})).await;
    assert_eq!(both, "hr.report\nsales.report\n");
}

#[tokio::test]
async fn a_structure_repeats_the_text_for_programs() {
    let server = TestServer::with(SHOP).await;
    let arguments = json!({"query": "product title", "kinds": ["table"]});
    let result = call(tool(server.databases()), arguments).await;
    assert_eq!(
        result["structuredContent"]["matches"][0],
        json!({
            "kind": "table", "name": "public.product", "level": "summary",
            "columns": [{"name": "title", "type": "text"}],
        })
    );
    let arguments = json!({"level": "names", "max_tokens": 200, "kinds": ["table", "view"]});
    let structure = &call(tool(server.databases()), arguments).await["structuredContent"];
    assert_eq!(structure["more"], 0, "{structure}");
    assert_eq!(structure.get("cursor"), None);
    let paths = json!({"from": "orders", "to": "customer"});
    let structure = &call(tool(server.databases()), paths).await["structuredContent"];
    let path = "public.orders.customer_id -> public.customer.id";
    let expected = json!([{"kind": "path", "name": path, "level": "summary"}]);
    assert_eq!(structure["matches"][0], expected[0]);
}

#[tokio::test]
async fn the_database_is_named_if_the_caller_may_use_several() {
    let server = TestServer::with("CREATE TABLE one (id int)").await;
    let configured = ["main", "other"].map(|name| {
        let database = server
            .fixture
            .describe(|settings| settings.name = name.to_owned());
        Configured::new(database)
    });
    let databases = Databases::new(server.fixture.pools.clone(), configured);
    let result = call(tool(databases), json!({"level": "names"})).await;
    assert_eq!(
        text_of(&result, false),
        "database: main\npublic.one\nterm MRR\n"
    );
}

#[tokio::test]
async fn a_table_that_was_just_created_is_found_by_its_name() {
    let mut server = TestServer::with("CREATE TABLE one (id int)").await;
    let tool = tool(server.databases());
    let late = json!({"table": "late", "level": "names"});
    call(tool.clone(), json!({})).await;
    server.fixture.given("CREATE TABLE late (id int)").await;
    let result = call(tool.clone(), late.clone()).await;
    assert_eq!(
        text_of(&result, true),
        "Nothing matches. The nearest names are: public.one."
    );
    time::pause();
    time::advance(Duration::from_secs(3)).await;
    time::resume();
    assert_eq!(text_of(&call(tool, late).await, false), "public.late\n");
}

#[tokio::test]
async fn an_empty_database_has_nothing() {
    let server = TestServer::with("SELECT").await;
    let tool = SearchSchema::new(server.databases());
    let result = call(tool, json!({})).await;
    assert_eq!(
        text_of(&result, true),
        "Nothing matches. No tables are known that the role may use."
    );
}
