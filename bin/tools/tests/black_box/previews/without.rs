//! Tests of writes of clients that cannot ask their user.

use super::*;
use crate::support::Transports;

const NOT_APPROVED: &str =
    "This change needs an approval that this client cannot ask for. Nothing was changed.";

#[test]
fn a_client_that_cannot_ask_writes_only_where_previews_are_not_required() {
    let arguments = json!({"query": DELETE});
    let shop = Shop::new("mode: require");
    for sql in [DELETE, "SELECT wipe()", "UPDATE orders SET id = id"] {
        let arguments = json!({"query": sql});
        let refused = call(&shop.client, &arguments, false, &json!({}));
        assert_eq!(
            (text(&refused), &refused["isError"]),
            (NOT_APPROVED, &json!(true))
        );
        assert_eq!(
            shop.client.tool("query_database", &arguments),
            (NOT_APPROVED.to_owned(), true)
        );
    }
    let (read, is_error) = shop
        .client
        .tool("query_database", &json!({"query": "SELECT 1 AS n"}));
    assert!(!is_error && read.ends_with("n\n1"), "{read}");
    assert_eq!(shop.orders(), 2);
    let shop = Shop::new("mode: offer");
    let done = call(&shop.client, &arguments, false, &json!({}));
    assert!(text(&done).contains("Rows affected: 1"), "{done}");
    assert_eq!(shop.orders(), 1);
}

#[test]
fn a_client_may_approve_a_change_for_itself_where_the_operator_allows_that() {
    let shop = Shop::new("mode: require, approve: client");
    let shown = call(&shop.client, &json!({"query": DELETE}), false, &json!({}));
    let before = format!(
        "This statement would change 2 rows in the database shop:\n\n{DELETE}\n\n{DELETED}\n\nTo commit \
         exactly this change, repeat the call with approve: \""
    );
    let seal = text(&shown)
        .strip_prefix(&*before)
        .and_then(|rest| rest.strip_suffix("\"."));
    let seal = seal.unwrap_or_else(|| panic!("{shown}"));
    let other = json!({"query": "DELETE FROM orders WHERE id = 8", "approve": seal});
    let refused = call(&shop.client, &other, false, &json!({}));
    assert!(
        text(&refused).starts_with("This statement would change"),
        "{refused}"
    );
    assert_eq!(shop.orders(), 2, "the seal is of another statement");
    let approved = json!({"query": DELETE, "approve": seal});
    let done = call(&shop.client, &approved, false, &json!({}));
    assert!(text(&done).contains("Rows affected: 1"), "{done}");
    assert_eq!(shop.orders(), 1);
    let again = call(&shop.client, &approved, false, &json!({}));
    assert!(
        text(&again).starts_with("The data have changed."),
        "{again}"
    );
    let steps = shop.recorded();
    assert_eq!(steps[0].1, "asked");
}

#[test]
fn only_tools_of_databases_with_such_approvals_have_the_argument() {
    let argument = |keys: &str| {
        let shop = Shop::new(keys);
        properties(&shop.client, "query_database")["approve"].clone()
    };
    assert!(argument("mode: require, approve: client").is_object());
    assert_eq!(argument("mode: require"), Value::Null);
}

#[test]
fn the_first_revision_writes_as_before_unless_previews_are_required() {
    let answers = |preview: &str| {
        let postgres = Postgres::with(SHOP);
        let home = Home::new();
        let entry = postgres.entry("shop");
        home.configure(&format!(
            "databases:\n{entry}    allow_writes: true\n{preview}"
        ));
        let mut transports = Transports::open(home);
        let update = json!({"query": "UPDATE orders SET status = 'x' WHERE id = 7"});
        transports.tool_each("query_database", &update)
    };
    let usual = answers("");
    assert!(usual.iter().all(|(_, is_error)| !is_error), "{usual:?}");
    assert_eq!(answers("    preview: {mode: off}\n"), usual);
    assert_eq!(answers("    preview: {mode: offer}\n"), usual);
    for (text, is_error) in answers("    preview: {mode: require}\n") {
        assert_eq!((&*text, is_error), (NOT_APPROVED, true));
    }
}
