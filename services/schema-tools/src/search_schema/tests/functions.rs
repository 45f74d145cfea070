//! Tests of functions, and of tables that the role may not read.

use super::*;

const FUNCTIONS: &str = "CREATE TABLE film (id int);
    CREATE FUNCTION film_in_stock(film int, store int DEFAULT 1) RETURNS SETOF int
        LANGUAGE sql AS 'SELECT 1';
    COMMENT ON FUNCTION film_in_stock IS 'Copies that can be rented';
    CREATE PROCEDURE close_day(day date) LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION stamped() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';";

#[tokio::test]
async fn functions_are_found_by_their_names_and_comments() {
    let server = TestServer::with(FUNCTIONS).await;
    let stock = "public.film_in_stock(film integer, store integer DEFAULT 1)";
    let line = format!("{stock} (function) returns SETOF integer -- Copies that can be rented\n");
    for query in ["rented copies", "stock"] {
        assert_eq!(
            text(&server, json!({"query": query})).await,
            line,
            "{query}"
        );
    }
    let day = text(&server, json!({"query": "close day"})).await;
    assert_eq!(day, "public.close_day(IN day date) (procedure)\n");
    assert_eq!(names(&server, "film").await, ["public.film", stock]);
    let all = json!({"kinds": ["function"], "level": "names"});
    assert_eq!(
        text(&server, all.clone()).await,
        format!("public.close_day(IN day date)\n{stock}\n"),
        "a function of triggers cannot be called"
    );
    let found = call(tool(server.databases()), json!({"query": "stock"})).await;
    assert_eq!(
        found["structuredContent"]["matches"][0],
        json!({
            "kind": "function", "name": stock, "level": "summary",
            "comment": "Copies that can be rented", "returns": "SETOF integer",
        })
    );
}

#[tokio::test]
async fn a_table_that_the_role_may_not_read_is_found_by_its_name_only() {
    let sql = "CREATE TABLE payroll (id int PRIMARY KEY);
        CREATE TABLE payroll_public (id int REFERENCES payroll);
        CREATE FUNCTION payroll_sum() RETURNS int LANGUAGE sql AS 'SELECT 1';
        REVOKE ALL ON FUNCTION payroll_sum() FROM PUBLIC;";
    let mut server = TestServer::with(sql).await;
    let role = format!("reader_of_{}", server.fixture.settings.database);
    let create = format!(
        "CREATE ROLE \"{role}\" LOGIN PASSWORD 'readers'; GRANT SELECT ON payroll_public TO \
         \"{role}\""
    );
    server.fixture.given(&create).await;
    server.settings.user.clone_from(&role);
    server.settings.password = "readers".to_owned().into();
    let databases = server.databases();
    let ask = async |arguments: Value| {
        let result = call(tool(databases.clone()), arguments).await;
        result["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    let found = ask(json!({"query": "payroll", "level": "names"})).await;
    let all = ask(json!({"kinds": ["table"], "level": "names"})).await;
    let named = ask(json!({"table": "payroll"})).await;
    databases.replace([]);
    server.fixture.pools.close_all();
    let drop = format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"");
    server.fixture.given(&drop).await;

    assert_eq!(found, "public.payroll_public\n");
    assert_eq!(all, "public.payroll_public\n");
    let expected = "public.payroll (table, unknown rows, 1 column, not readable) pk id\n";
    assert_eq!(named, expected);
}
