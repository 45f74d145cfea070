//! Tests of previews for clients that can ask their user.

use super::*;

fn ask_user(shop: &Shop, sql: &str, members: &Value) -> Value {
    call(&shop.client, &json!({"query": sql}), true, members)
}

#[test]
fn a_user_sees_the_changed_rows_and_commits_exactly_them() {
    let shop = Shop::new("mode: require");
    let asked = ask_user(&shop, DELETE, &json!({}));
    let expected = format!(
        "This statement would change 2 rows in the database shop:\n\n{DELETE}\n\n{DELETED}\n\nCommit \
         exactly this change?"
    );
    assert_eq!(message(&asked), expected);
    let done = ask_user(&shop, DELETE, &yes(&asked));
    assert!(text(&done).contains("Rows affected: 1"), "{done}");
    assert_eq!(shop.orders(), 1);
    let again = ask_user(&shop, DELETE, &yes(&asked));
    assert!(
        message(&again).starts_with("The data have changed."),
        "{again}"
    );
    let recorded = shop.recorded();
    assert_eq!(recorded[0].0["diff"], recorded[1].0["diff"]);
    let expected = [
        ["preview", "asked"],
        ["committed", "ok"],
        ["mismatch", "asked"],
    ];
    assert_eq!(steps(&recorded), expected);
}

#[test]
fn a_confirmation_of_the_same_change_is_valid_once() {
    let shop = Shop::new("mode: offer");
    let sql = "INSERT INTO draft (note) VALUES ('n') RETURNING note";
    let asked = ask_user(&shop, sql, &json!({}));
    let done = ask_user(&shop, sql, &yes(&asked));
    assert!(text(&done).ends_with("note\nn"), "{done}");
    let again = ask_user(&shop, sql, &yes(&asked));
    assert!(
        message(&again).starts_with("This confirmation is used up"),
        "{again}"
    );
    assert_eq!(shop.postgres.count("SELECT count(*) FROM draft"), 1);
    let expected = [
        ["preview", "asked"],
        ["committed", "ok"],
        ["preview", "asked"],
    ];
    assert_eq!(steps(&shop.recorded()), expected);
}

#[test]
fn a_user_who_says_no_changes_nothing() {
    let shop = Shop::new("mode: require");
    let asked = ask_user(&shop, DELETE, &json!({}));
    let mut no = yes(&asked);
    no["inputResponses"]["confirm"]["content"]["confirm"] = json!(false);
    let refused = ask_user(&shop, DELETE, &no);
    assert_eq!(
        text(&refused),
        "The user did not confirm the statement, and it was not run."
    );
    assert_eq!(shop.orders(), 2);
}

#[test]
fn data_that_change_each_time_end_the_exchange_after_its_rounds() {
    let shop = Shop::new("mode: require, rounds: 1");
    let sql = "UPDATE orders SET status = random()::text WHERE id = 7";
    let first = ask_user(&shop, sql, &json!({}));
    let second = ask_user(&shop, sql, &yes(&first));
    let beginning = format!(
        "The data have changed. This is what the statement would do now:\n\n{sql}\n\npublic"
    );
    assert!(message(&second).starts_with(&beginning), "{second}");
    let ended = ask_user(&shop, sql, &yes(&second));
    let expected = "The data changed each time between preview and commit. Nothing was changed. These \
                    columns differ each time: public.orders.status. An operator can list them in \
                    preview.ignore.";
    assert_eq!(text(&ended), expected);
    assert_eq!(
        shop.postgres
            .count("SELECT count(*) FROM orders WHERE status = 'open'"),
        1
    );
    let expected = [
        ["preview", "asked"],
        ["mismatch", "asked"],
        ["mismatch", "asked"],
    ];
    assert_eq!(steps(&shop.recorded()), expected);
}

#[test]
fn ignored_columns_are_no_difference() {
    let shop = Shop::new("mode: require, ignore: ['*.status']");
    let sql = "UPDATE orders SET status = random()::text WHERE id = 7";
    let asked = ask_user(&shop, sql, &json!({}));
    let done = ask_user(&shop, sql, &yes(&asked));
    assert!(text(&done).contains("Rows affected: 1"), "{done}");
}

#[test]
fn a_statement_without_a_preview_is_refused_or_asked_by_its_text() {
    let sql = "CREATE TABLE new (a int)";
    let shop = Shop::new("mode: require");
    let refused = ask_user(&shop, sql, &json!({}));
    let expected = "The statement was not run: it changes definitions (pg_class).";
    assert_eq!(text(&refused), expected);
    let shop = Shop::new("mode: offer");
    let asked = ask_user(&shop, sql, &json!({}));
    let expected = format!(
        "There is no preview: it changes definitions (pg_class).\n\nMay this statement be run in \
         the database shop?\n\n    {sql}"
    );
    assert_eq!(message(&asked), expected);
    let done = ask_user(&shop, sql, &yes(&asked));
    assert!(text(&done).contains("Command: CREATE TABLE"), "{done}");
}

#[test]
fn a_query_that_writes_by_a_function_is_shown_and_others_are_not_asked_about() {
    let shop = Shop::new("mode: require");
    let read = ask_user(&shop, "SELECT count(*) FROM orders", &json!({}));
    assert!(text(&read).ends_with("count\n2"), "{read}");
    let asked = ask_user(&shop, "SELECT wipe()", &json!({}));
    assert!(message(&asked).contains("would change 2 rows"), "{asked}");
    ask_user(&shop, "SELECT wipe()", &yes(&asked));
    assert_eq!(shop.orders(), 1);
}

#[test]
fn a_client_that_asks_for_structures_gets_the_changed_rows_beside_the_question() {
    let shop = Shop::new("mode: offer");
    let members = json!({"_meta": {"ziggurat/structured": true}});
    let asked = ask_user(&shop, DELETE, &members);
    let structure = &asked["_meta"]["ziggurat/preview"];
    assert_eq!(structure["changed"], false);
    let changes = &structure["preview"]["tables"][1]["changes"];
    let before = json!({"id": "7", "customer": "3", "status": "open"});
    assert_eq!(
        changes,
        &json!([{"op": "delete", "key": ["7"], "before": before}])
    );
    shop.postgres.run("UPDATE orders SET status = 'paid'");
    let mut again = yes(&asked);
    again["_meta"] = members["_meta"].clone();
    let asked = ask_user(&shop, DELETE, &again);
    assert_eq!(
        asked["_meta"]["ziggurat/preview"]["changed"], true,
        "{asked}"
    );
    let unseen = ask_user(&shop, "CREATE TABLE new (a int)", &members);
    assert_eq!(
        unseen["_meta"]["ziggurat/preview"],
        json!({"reason": "it changes definitions (pg_class)"})
    );
    let plain = ask_user(&shop, DELETE, &json!({}));
    assert_eq!(plain["_meta"].get("ziggurat/preview"), None, "{plain}");
}

#[test]
fn a_call_can_ask_for_the_preview_alone() {
    let shop = Shop::new("mode: offer");
    let members = json!({"_meta": {"ziggurat/preview": true}});
    for can_ask in [true, false] {
        let arguments = json!({"query": DELETE});
        let shown = call(&shop.client, &arguments, can_ask, &members);
        let expected = format!(
            "This statement would change 2 rows in the database shop:\n\n{DELETE}\n\n{DELETED}"
        );
        assert_eq!(
            (text(&shown), &shown["isError"]),
            (&*expected, &Value::Null)
        );
    }
    assert_eq!(shop.orders(), 2);
}
