use super::*;

const LIST: &str = "search_schema shows tables and their columns.";

#[tokio::test]
async fn a_missing_table_has_suggestions() {
    let server = TestServer::with(SHOP).await;
    let similar = |names: &str| format!("Tables with a similar name: {names}. {LIST}");
    let quoted = |place: &str| {
        format!("{place}. PostgreSQL reads names without double quotes in lower case.")
    };
    let cases = [
        ("SELECT * FROM custmer", similar("customer")),
        ("SELECT * FROM cities", similar("city")),
        ("SELECT * FROM customer c, Custmoer", similar("customer")),
        ("SELECT * FROM invoice", similar("sales.invoices")),
        ("SELECT * FROM offer", similar("sales.\"Offers\"")),
        ("SELECT * FROM oder", similar("\"order\"")),
        ("SELECT * FROM custom", similar("customer")),
        ("SELECT 'custmer'::regclass", similar("customer")),
        (
            "WITH latest AS (SELECT 1) SELECT * FROM lattest",
            similar("latest"),
        ),
        (
            "SELECT * FROM invoices_2",
            similar("sales.invoices, archive.invoices_2023"),
        ),
        (
            "SELECT * FROM invoices",
            "There is a table \"invoices\" in schema \"sales\": write sales.invoices.".to_owned(),
        ),
        (
            "SELECT * FROM recent",
            "There is a view \"recent\" in schema \"sales\": write sales.recent.".to_owned(),
        ),
        (
            "SELECT * FROM sales.orders",
            "There is a table \"orders\" in schema \"public\": write public.orders.".to_owned(),
        ),
        (
            "SELECT * FROM Kunden",
            quoted("There is a table \"Kunden\" in schema \"public\": write \"Kunden\""),
        ),
        ("SELECT * FROM zzzzz", LIST.to_owned()),
    ];
    let cases: Vec<_> = cases
        .iter()
        .map(|(sql, hint)| (*sql, hint.as_str()))
        .collect();
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_table_of_several_schemas_is_suggested_in_each() {
    let server = TestServer::with(
        "CREATE SCHEMA a; CREATE TABLE a.t (id int); CREATE SCHEMA b; CREATE TABLE b.t (id int)",
    )
    .await;
    let expected = "Other schemas have a table \"t\": write a.t or b.t.";
    check(&server, &[("SELECT * FROM t", expected)]).await;
}

#[tokio::test]
async fn a_column_of_an_unknown_table_is_traced_to_a_source() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            "SELECT orders.id FROM customer c",
            "orders is not in FROM: add JOIN orders ON c.id = orders.customer_id.",
        ),
        (
            "SELECT customer.id FROM orders",
            "customer is not in FROM: add JOIN customer ON orders.customer_id = customer.id.",
        ),
        (
            "SELECT city.id FROM orders",
            "city is not in FROM: add JOIN city ON ….",
        ),
        (
            "SELECT kustomer.id FROM customer",
            "FROM has customer: write customer instead of kustomer.",
        ),
        (
            "SELECT x.id FROM customer c, LATERAL (SELECT 1) AS one",
            "The statement has no table or alias x in FROM. It has: c, one.",
        ),
        (
            "SELECT 1 FROM customer c, orders o JOIN city ON c.id = city.id",
            "c cannot be used here, since JOIN binds more tightly than a comma: join all tables \
             with JOIN, or write LATERAL before a subquery that needs it.",
        ),
        (
            "SELECT x.id",
            "The statement has no table or alias x in FROM.",
        ),
        (
            "SELECT orders.id FROM orders o",
            "Perhaps you meant to reference the table alias \"o\".",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_missing_column_has_suggestions() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        // PostgreSQL's own hint says it.
        (
            "SELECT c.nmae FROM customer c",
            "Perhaps you meant to reference the column \"c.name\".",
        ),
        (
            "SELECT c.total FROM customer c JOIN orders o ON o.customer_id = c.id",
            "Perhaps you meant to reference the column \"o.total\".",
        ),
        (
            "SELECT name FROM \"Kunden\"",
            "\"Kunden\" has a column \"Name\": write \"Name\". PostgreSQL reads names without \
             double quotes in lower case.",
        ),
        (
            "SELECT k.name FROM \"Kunden\" k",
            "k has a column \"Name\": write k.\"Name\". PostgreSQL reads names without double \
             quotes in lower case.",
        ),
        (
            "SELECT c.total FROM customer c",
            "total is a column of orders: add JOIN orders ON c.id = orders.customer_id.",
        ),
        (
            "SELECT email FROM orders o",
            "email is a column of customer: add JOIN customer ON o.customer_id = customer.id.",
        ),
        (
            "SELECT amount FROM customer c",
            "amount is a column of sales.invoices, which the statement does not read here.",
        ),
        (
            "SELECT 1 WHERE amount = 1",
            "amount is a column of sales.invoices, and the statement has no FROM.",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_join_that_lacks_the_table_between_is_completed() {
    let server = TestServer::with(
        "CREATE TABLE film (film_id int PRIMARY KEY, title text);
         CREATE TABLE actor (actor_id int PRIMARY KEY, name text);
         CREATE TABLE film_actor (actor_id int REFERENCES actor, film_id int REFERENCES film);",
    )
    .await;
    let cases = [
        (
            "SELECT f.title FROM actor a JOIN film f ON a.film_id = f.film_id",
            "film_actor connects a and f: add JOIN film_actor ON a.actor_id = film_actor.actor_id, \
             and join f ON f.film_id = film_actor.film_id.",
        ),
        (
            "SELECT actor.film_id FROM actor",
            "film_id is a column of film_actor: add JOIN film_actor ON actor.actor_id = \
             film_actor.actor_id.",
        ),
        // The table between is there, or the column joins nothing.
        (
            "SELECT actor.title FROM actor JOIN film_actor USING (actor_id) JOIN film USING (film_id)",
            "Write film.title.",
        ),
        ("SELECT actor.title FROM actor, film", "Write film.title."),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_name_that_is_no_column_is_told_what_it_can_be() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            "SELECT foo FROM customer",
            "customer has the columns id, name, email, \"birthDate\".",
        ),
        (
            "SELECT total * 2 AS twice FROM orders WHERE twice > 3",
            "twice is a name that SELECT gives to a result, which can only stand alone in ORDER BY \
             and GROUP BY. Repeat its expression here, or put the query into a subquery.",
        ),
        (
            "SELECT * FROM customer WHERE name = \"it's\"",
            "Double quotes are for names. If it is a text, write 'it''s' in single quotes.",
        ),
        (
            "SELECT f.foo FROM generate_series(1, 2) AS f (a)",
            "f returns no column foo: add it there.",
        ),
        (
            "WITH r AS (SELECT id AS total FROM orders) SELECT 1 FROM r WHERE email = ''",
            "r returns no column email: add it there.",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_join_uses_all_columns_of_a_foreign_key() {
    let server = TestServer::with(
        "CREATE TABLE a (x int, y int, PRIMARY KEY (x, y));
         CREATE TABLE b (ax int, ay int, other int, note text, FOREIGN KEY (ax, ay) REFERENCES a)",
    )
    .await;
    let expected = "note is a column of b: add JOIN b ON a.x = b.ax AND a.y = b.ay.";
    // A name in double quotes is not taken for a text if it is a column.
    for sql in ["SELECT note FROM a", "SELECT \"note\" FROM a"] {
        check(&server, &[(sql, expected)]).await;
    }
}

#[tokio::test]
async fn an_ambiguous_column_has_its_qualified_names() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            "SELECT id FROM customer c JOIN orders ON orders.customer_id = c.id",
            "Write one of: c.id, orders.id.",
        ),
        (
            "SELECT * FROM city WHERE id IN (SELECT id FROM orders a, customer AS \"B\")",
            "Write one of: a.id, \"B\".id, city.id.",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_missing_function_has_suggestions() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            "SELECT round(1.5::float8, 1)",
            "There is round(numeric, integer), round(double precision), round(numeric). Argument 1 \
             is of type double precision: cast it, for example x::numeric.",
        ),
        (
            "SELECT sales.discuont(1)",
            "Functions with a similar name: sales.discount(numeric, integer).",
        ),
        (
            "SELECT discount(1.5, 2)",
            "There is sales.discount(numeric, integer). Write it with its schema.",
        ),
        (
            "SELECT IfNull(name, '') FROM customer",
            "PostgreSQL has no ifnull: write coalesce(a, b).",
        ),
        // The policy refuses the function with a similar name.
        (
            "SELECT pg_read_fiel('a')",
            "No function matches the given name and argument types. You might need to add explicit \
             type casts.",
        ),
    ];
    check(&server, &cases).await;
    let text = query(&server, "SELECT substring(1, 2)").await;
    assert!(
        text.contains(" and 3 more. Argument 1 is of type integer: "),
        "{text}"
    );
}

#[tokio::test]
async fn a_missing_operator_has_the_types_of_both_sides() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            "SELECT * FROM orders WHERE id = 'a'::text",
            "No operator = takes integer and text: cast one side, for example the left one with \
             ::text or the right one with ::integer.",
        ),
        (
            "SELECT * FROM orders WHERE id IN ('a'::text)",
            "No operator = takes integer and text: cast one side, for example the left one with \
             ::text or the right one with ::integer.",
        ),
        (
            "SELECT * FROM orders WHERE id == 1",
            "PostgreSQL has no operator ==: write =.",
        ),
        (
            "SELECT * FROM orders WHERE tags = 'a'::text",
            "Compare a value with the elements of an array: value = ANY (array).",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_missing_type_or_schema_has_suggestions() {
    let server =
        TestServer::with("CREATE SCHEMA sales; CREATE TYPE sales.mood AS ENUM ('a')").await;
    let cases = [
        ("SELECT '1'::varchr", "Types with a similar name: varchar."),
        (
            "SELECT '1'::moood",
            "Types with a similar name: sales.mood.",
        ),
        (
            "SELECT CAST(1 AS Unsigned)",
            "PostgreSQL has no type unsigned: write bigint.",
        ),
        ("SELECT sale.f(1)", "Schemas with a similar name: sales."),
        ("SELECT 'a' COLLATE txt", ""),
        (
            "SHOW tables",
            "search_schema shows tables and their columns.",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn names_that_the_role_may_not_use_are_never_suggested() {
    let mut server = TestServer::with(SHOP).await;
    let role = format!("r_{}", server.settings.database);
    let role_settings = format!("CREATE ROLE {role} LOGIN PASSWORD 'p'");
    server.fixture.given(&role_settings).await;
    server.settings.user.clone_from(&role);
    server.settings.password = "p".to_owned().into();
    let cases = [
        ("SELECT * FROM invoices", LIST),
        (
            "SELECT discuont(1)",
            "No function matches the given name and argument types. You might need to add explicit \
             type casts.",
        ),
        ("SELECT sale.f(1)", ""),
    ];
    check(&server, &cases).await;
    server.fixture.given(&format!("DROP ROLE {role}")).await;
}

#[tokio::test]
async fn a_new_table_is_suggested_although_the_metadata_was_read_before() {
    let mut server = TestServer::with(SHOP).await;
    let databases = server.databases();
    let current = databases.current(None).expect("a database");
    let metadata = current.metadata().await.expect("tables");
    assert!(metadata.table("public", "shipment").is_none());
    server.fixture.given("CREATE TABLE shipment ()").await;
    // Longer ago than a reload may be.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(4)).await;
    tokio::time::resume();
    let tool = QueryDatabase::new(databases.clone());
    let text = failure(tool, json!({"query": "SELECT * FROM shipmnet"})).await;
    assert!(text.contains("similar name: shipment."), "{text}");
}
