use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use ziggurat_mcp::protocol::Revision;

use super::*;
use ziggurat_answers::test_server::{TestServer, respond};

const SHOP: &str = "CREATE SCHEMA sales; CREATE SCHEMA hr;
    CREATE TYPE order_status AS ENUM ('open', 'paid', 'void');
    COMMENT ON TYPE order_status IS 'State of an order';
    CREATE TABLE customer (id bigint PRIMARY KEY, full_name text NOT NULL, email text UNIQUE);
    CREATE TABLE orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        customer_id bigint NOT NULL REFERENCES customer,
        status order_status NOT NULL DEFAULT 'open', placed_at date);
    COMMENT ON TABLE orders IS 'One row per order';
    CREATE TABLE product (id int PRIMARY KEY, title text);
    CREATE TABLE order_line (
        order_id bigint REFERENCES orders, nr int, product_id int REFERENCES product,
        amount int CHECK (amount > 0), PRIMARY KEY (order_id, nr));
    CREATE TABLE shipment (
        order_id bigint, nr int, sent date, FOREIGN KEY (order_id, nr) REFERENCES order_line);
    CREATE TABLE orders_archive (id bigint, note text);
    CREATE TABLE reorder (id int);
    CREATE TABLE sales.report (id int, total numeric);
    COMMENT ON COLUMN sales.report.total IS 'Turnover of all orders';
    CREATE VIEW sales.open_orders AS SELECT * FROM orders WHERE status = 'open';
    CREATE TABLE hr.report (id int);
    CREATE TABLE \"Lager\" (\"Größe\" int, \"order\" int);
    CREATE TABLE log (at date) PARTITION BY RANGE (at);
    CREATE TABLE log_2024 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');";

const GLOSSARY: &str = "
- {term: MRR, note: Monthly recurring revenue of all subscriptions.}
- {database: main, object: public.orders.status, note: void ones count nowhere}
- {database: other, object: public.orders.id, note: of another database}
- {object: public.customer, note: people and companies}";

fn tool(server: &TestServer) -> SearchSchema {
    let entries = serde_yaml::from_str(GLOSSARY).expect("YAML");
    let glossary = Glossary::read(entries).expect("valid");
    SearchSchema::new(server.databases()).with_glossary(glossary)
}

/// Calls the tool. Returns the result of the call.
async fn call(tool: SearchSchema, arguments: Value) -> Value {
    let body = respond(tool, Revision::V2025_11_25, arguments).await;
    let answer = body.collect().await.expect("whole").to_bytes();
    let mut answer: Value = serde_json::from_slice(&answer).expect("JSON");
    answer["result"].take()
}

async fn text(server: &TestServer, arguments: Value) -> String {
    let result = call(tool(server), arguments).await;
    result["content"][0]["text"]
        .as_str()
        .expect("a text")
        .to_owned()
}

#[tokio::test]
async fn show() {
    let server = TestServer::with(SHOP).await;
    for arguments in [
        json!({}),
        json!({"level": "names"}),
        json!({"query": "order"}),
        json!({"query": "how many open orders per customer last month"}),
        json!({"query": "MRR"}),
        json!({"query": "custmer", "level": "names"}),
        json!({"query": "product shipment"}),
        json!({"query": "status", "kinds": ["column"]}),
        json!({"table": "orders", "level": "full"}),
        json!({"table": "public.orders", "level": "full"}),
        json!({"table": "report", "level": "full"}),
        json!({"table": "Lager", "level": "full"}),
        json!({"table": "lager", "level": "full"}),
        json!({"table": "report"}),
        json!({"from": "shipment", "to": "customer"}),
        json!({"from": "product", "to": "hr.report"}),
        json!({"from": "product", "to": "reprt"}),
        json!({"schema": "sales", "level": "full"}),
        json!({"schema": "nope"}),
        json!({"query": "zzzzzz"}),
        json!({"max_tokens": 200}),
    ] {
        println!(
            "=== {arguments}\n{}",
            text(&server, arguments.clone()).await
        );
    }
}
