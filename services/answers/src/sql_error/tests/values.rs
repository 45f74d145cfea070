use super::*;

#[tokio::test]
async fn a_value_that_its_type_refuses_has_the_form_of_the_type() {
    let server = TestServer::with(
        "CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad', 'ok', 'happy');
         CREATE TABLE person (id int, feeling s.mood, born date)",
    )
    .await;
    let cases = [
        (
            "SELECT * FROM person WHERE feeling = 'hapy'",
            "The values of s.mood are 'happy', 'sad', 'ok'.",
        ),
        (
            "SELECT x::s.mood FROM (VALUES ('Ok')) AS v (x)",
            "The values of s.mood are 'ok', 'sad', 'happy'.",
        ),
        (
            "SELECT * FROM person WHERE id = 'one'",
            "The type integer expects a whole number from -2147483648 to 2147483647.",
        ),
        (
            "SELECT 99999999999::int",
            "The type integer expects a whole number from -2147483648 to 2147483647.",
        ),
        (
            "SELECT 'x'::date",
            "The type date expects a day such as '2024-12-31'.",
        ),
        (
            "SELECT * FROM person WHERE born > '2024-13-45'",
            "Write a day as '2024-12-31' and a time as '23:59:00', and use only days that exist.",
        ),
        (
            "SELECT '1,2'::int[]",
            "Write an array as ARRAY[1, 2] or '{1,2}'.",
        ),
        (
            "SELECT * FROM person WHERE id = $1",
            "Write the values into the statement: parameters such as $1 have none.",
        ),
        (
            "SELECT 1 / 0",
            "Write NULLIF(divisor, 0), so that a division by zero is NULL.",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn errors_of_syntax_have_their_usual_correction() {
    let server = TestServer::with(SHOP).await;
    let cases = [
        (
            "SELECT id, FROM customer",
            "Remove the comma before this word.",
        ),
        (
            "SELECT TOP 10 * FROM customer",
            "Write LIMIT at the end instead of TOP.",
        ),
        (
            "SELECT `id` FROM customer",
            "Write names in double quotes, not in backticks.",
        ),
        (
            "SELECT [id] FROM customer",
            "Write names in double quotes, not in brackets.",
        ),
        ("SELECT (id FROM customer", ""),
        (
            "SELECT id FROM customer WHERE (id = 1",
            "A parenthesis is not closed.",
        ),
        (
            "SELECT id FROM customer WHERE",
            "The text ends too early: something is missing at its end.",
        ),
        (
            "SELECT now() + INTERVAL 1 DAY",
            "Write an interval as interval '1 day'.",
        ),
        (
            "SELECT * FROM order",
            "order is a reserved word: write \"order\".",
        ),
        ("SELECT * FROM WHERE id = 1", ""),
        (
            "DESCRIBE customer",
            "search_schema shows tables and their columns.",
        ),
        ("SELECT 'a", "A string, quoted name or comment has no end."),
        (
            "SELECT * FROM customer LIMIT 5, 10",
            "Use separate LIMIT and OFFSET clauses.",
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn errors_of_grouping_have_their_usual_correction() {
    let server = TestServer::with(SHOP).await;
    let subquery = "Compute it in a subquery or WITH query first, and use its result here.";
    let cases = [
        (
            "SELECT c.\"birthDate\", count(*) FROM customer c",
            "Add c.\"birthDate\" to GROUP BY, or put it into an aggregate function such as \
             max(c.\"birthDate\").",
        ),
        (
            "SELECT name FROM customer WHERE count(*) > 1",
            "A condition on an aggregate belongs into HAVING, behind GROUP BY.",
        ),
        ("SELECT sum(count(*)) FROM customer", subquery),
        (
            "SELECT name FROM customer WHERE row_number() OVER () > 1",
            subquery,
        ),
    ];
    check(&server, &cases).await;
}

#[tokio::test]
async fn a_violated_constraint_has_its_definition() {
    let mut server = TestServer::with(SHOP).await;
    server.settings.allow_writes = true;
    let more = "CREATE DOMAIN age AS int CONSTRAINT adult CHECK (VALUE >= 18);
        CREATE TABLE visit (id int CONSTRAINT late REFERENCES customer DEFERRABLE INITIALLY DEFERRED);
        CREATE UNIQUE INDEX by_name ON city (lower(name)); INSERT INTO city VALUES (1, 'Ur')";
    server.fixture.given(more).await;
    let cases = [
        (
            "INSERT INTO orders VALUES (1, 7, 5)",
            "The constraint orders_customer_id_fkey is: FOREIGN KEY (customer_id) REFERENCES \
             customer(id)",
        ),
        (
            "INSERT INTO orders VALUES (1, NULL, -5)",
            "The constraint orders_total_check is: CHECK ((total >= (0)::numeric))",
        ),
        (
            "INSERT INTO customer VALUES (1)",
            "Give the column name of customer a value that is not NULL.",
        ),
        (
            "INSERT INTO city VALUES (2, 'UR')",
            "The constraint by_name is: CREATE UNIQUE INDEX by_name ON public.city USING btree \
             (lower(name))",
        ),
        (
            "SELECT 17::age",
            "The constraint adult is: CHECK ((VALUE >= 18))",
        ),
        (
            "INSERT INTO visit VALUES (9)",
            "The constraint late is: FOREIGN KEY (id) REFERENCES customer(id) DEFERRABLE INITIALLY \
             DEFERRED",
        ),
    ];
    check(&server, &cases).await;
    let text = query(&server, "INSERT INTO orders VALUES (1, 7, 5)").await;
    let detail = "\nDETAIL: Key (customer_id)=(7) is not present in table \"customer\".\n";
    assert!(text.contains(detail), "{text}");
    let text = query(&server, "INSERT INTO visit VALUES (9)").await;
    assert!(text.contains("\nNOTE: The statement ran, but "), "{text}");
}
