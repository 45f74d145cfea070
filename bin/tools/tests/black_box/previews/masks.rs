//! Tests of masked values in previews.

use super::*;

const CARDS: &str = "
    CREATE TABLE card (id int PRIMARY KEY, number text, note text);
    CREATE TABLE copy (id int PRIMARY KEY, number text);
    INSERT INTO card VALUES (1, 'sec-2', 'a'), (2, 'sec-1', 'b');";

/// Starts a server in which a column is masked.
fn masked(enforce: &str) -> Shop {
    let shop = Shop::with(
        "mode: require",
        &format!(
            "masking:\n  enforce: {enforce}\n  databases:\n    shop:\n    \
             - {{column: public.card.number, mask: fixed}}\n"
        ),
    );
    shop.postgres.run(CARDS);
    shop
}

#[test]
fn masked_values_are_not_shown_and_changes_of_them_are() {
    let shop = masked("origin");
    let sql = "UPDATE card SET number = number || '!', note = 'c'";
    let answer = ask(&shop.client, sql, &json!({}));
    assert!(!answer.body.contains("sec-"), "{answer:?}");
    let table = &answer.json()["preview"]["tables"][0];
    assert_eq!(table["masked"], json!(["number"]));
    let change = &table["changes"][0];
    assert_eq!(
        (&change["before"]["number"], &change["after"]["number"]),
        (&json!("***"), &json!("***"))
    );
    assert_eq!(
        (&change["before"]["note"], &change["after"]["note"]),
        (&json!("a"), &json!("***")),
        "a new value could be made of a masked one"
    );
    let asked = call(&shop.client, &json!({"query": sql}), true, &json!({}));
    let expected = "public.card: 2 changed\n  id 1: number *** -> ***, note 'a' -> ***\n";
    assert!(message(&asked).contains(expected), "{asked}");
    let confirm = json!({"confirm": answer.json()["confirm"]});
    shop.postgres
        .run("UPDATE card SET number = 'sec-3' WHERE id = 1");
    let changed = ask(&shop.client, sql, &confirm);
    assert_eq!(
        changed.json()["code"],
        "changed",
        "masked values are compared"
    );
    assert!(!changed.body.contains("sec-"), "{changed:?}");
}

#[test]
fn values_that_are_made_of_masked_ones_are_not_shown() {
    let shop = masked("origin");
    for sql in [
        "INSERT INTO copy SELECT id, number FROM card",
        "INSERT INTO copy SELECT length(number), upper(number) FROM card WHERE id = 1",
        "UPDATE card SET note = number",
        "DELETE FROM card RETURNING number, number || '!'",
    ] {
        let answer = ask(&shop.client, sql, &json!({}));
        assert_eq!(answer.status, 409, "{sql}: {answer:?}");
        let text = answer.body.to_lowercase();
        assert!(
            !text.replace(&sql.to_lowercase(), "").contains("sec-"),
            "{sql}: {answer:?}"
        );
    }
}

#[test]
fn texts_that_write_from_masked_columns_stay_refused_by_their_plan() {
    let shop = masked("plan");
    for sql in [
        "UPDATE card SET note = number",
        "INSERT INTO copy SELECT id, number FROM card",
    ] {
        let answer = ask(&shop.client, sql, &json!({}));
        assert!(
            answer.body.contains(r#""code":"refused""#),
            "{sql}: {answer:?}"
        );
    }
    assert_eq!(
        shop.postgres
            .count("SELECT count(*) FROM card WHERE note IN ('a', 'b')"),
        2
    );
}
