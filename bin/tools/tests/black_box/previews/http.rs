//! Tests of previews over HTTP: `/api/query`.

use super::*;

#[test]
fn a_write_is_confirmed_by_its_changed_rows_and_commits_exactly_them() {
    let shop = Shop::new("mode: require");
    let demand = demand(&shop.client, DELETE);
    assert_eq!(demand["code"], "confirm");
    let mut preview = demand["preview"].clone();
    let digest = preview["digest"].take();
    assert_eq!(digest.as_str().map(str::len), Some(12), "{digest}");
    let expected = json!({
        "rows": 2,
        "tables": [
            {"table": "public.line", "inserted": 0, "updated": 1, "deleted": 0, "key": ["id"],
             "masked": [], "changes": [{"op": "update", "key": ["12"], "before": {"ord": "7"},
             "after": {"ord": null}}], "more": 0},
            {"table": "public.orders", "inserted": 0, "updated": 0, "deleted": 1, "key": ["id"],
             "masked": [], "changes": [{"op": "delete", "key": ["7"],
             "before": {"id": "7", "customer": "3", "status": "open"}}], "more": 0},
        ],
        "uncompared": [], "sequences": [], "notes": [], "digest": null,
    });
    assert_eq!(preview, expected);
    assert_eq!(shop.orders(), 2, "nothing was changed");
    let confirm = json!({"confirm": demand["confirm"]});
    let answer = ask(&shop.client, &format!("{DELETE} "), &confirm);
    assert_eq!(answer.status, 409, "it is of another text");
    let done = done(&ask(&shop.client, DELETE, &confirm));
    assert_eq!(
        (&done["committed"], &done["affected"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(shop.orders(), 1);
    assert_eq!(
        ask(&shop.client, DELETE, &confirm).status,
        409,
        "it is used up"
    );
    let recorded = shop.recorded();
    let expected = [
        ["preview", "asked"],
        // The confirmation of another text.
        ["preview", "asked"],
        ["committed", "ok"],
        ["mismatch", "asked"],
    ];
    assert_eq!(steps(&recorded), expected);
    let committed = &recorded[2].0;
    assert_eq!(committed["diff"], digest);
    assert_eq!(
        committed["changed"],
        json!({"public.line": [0, 1, 0], "public.orders": [0, 0, 1]})
    );
    assert!(committed["xid"].is_u64(), "{committed}");
}

#[test]
fn rows_that_changed_since_the_preview_are_shown_anew() {
    let shop = Shop::new("mode: require");
    let first = demand(&shop.client, DELETE);
    shop.postgres
        .run("UPDATE orders SET status = 'paid' WHERE id = 7");
    let answer = ask(&shop.client, DELETE, &json!({"confirm": first["confirm"]}));
    assert_eq!(answer.status, 409, "{answer:?}");
    let second = answer.json();
    assert_eq!(second["code"], "changed");
    let before = &second["preview"]["tables"][1]["changes"][0]["before"];
    assert_eq!(before["status"], "paid");
    assert_eq!(shop.orders(), 2);
    done(&ask(
        &shop.client,
        DELETE,
        &json!({"confirm": second["confirm"]}),
    ));
    assert_eq!(shop.orders(), 1);
    let expected = [
        ["preview", "asked"],
        ["mismatch", "asked"],
        ["committed", "ok"],
    ];
    assert_eq!(steps(&shop.recorded()), expected);
}

#[test]
fn drawn_numbers_are_no_difference_and_returned_rows_come_after_the_commit() {
    let shop = Shop::new("mode: require");
    let sql = "INSERT INTO draft (note) SELECT 'n' FROM generate_series(1, 3) RETURNING id, note";
    let demand = demand(&shop.client, sql);
    assert_eq!(
        demand["preview"]["sequences"],
        json!(["public.draft_id_seq"])
    );
    let answer = ask(&shop.client, sql, &json!({"confirm": demand["confirm"]}));
    let done = done(&answer);
    assert_eq!(
        (&done["rows"], &done["committed"]),
        (&json!(3), &json!(true))
    );
    assert!(
        answer
            .body
            .contains(r#"{"rows":[[4,"n"],[5,"n"],[6,"n"]]}"#),
        "{answer:?}"
    );
    assert_eq!(shop.postgres.count("SELECT count(*) FROM draft"), 3);
    let again = ask(&shop.client, sql, &json!({"confirm": demand["confirm"]}));
    assert_eq!(
        (again.status, &again.json()["code"]),
        (409, &json!("confirm"))
    );
    assert_eq!(
        shop.postgres.count("SELECT count(*) FROM draft"),
        3,
        "it is used up"
    );
    let expected = [
        ["preview", "asked"],
        ["committed", "ok"],
        ["preview", "asked"],
    ];
    assert_eq!(steps(&shop.recorded()), expected);
}

#[test]
fn a_preview_alone_changes_nothing_and_has_no_seal() {
    let shop = Shop::new("mode: offer");
    let answer = ask(&shop.client, DELETE, &json!({"preview": "only"}));
    assert_eq!(answer.status, 200, "{answer:?}");
    let object = answer.json();
    assert_eq!(
        (&object["rows"], &object["confirm"]),
        (&json!(2), &Value::Null)
    );
    assert_eq!(
        ask(&shop.client, DELETE, &json!({"preview": "x"})).status,
        400
    );
    assert_eq!(shop.orders(), 2);
}

#[test]
fn a_query_that_writes_by_a_function_is_shown_like_any_other_write() {
    let shop = Shop::new("mode: require");
    done(&ask(
        &shop.client,
        "SELECT count(*) FROM orders",
        &json!({}),
    ));
    let demand = demand(&shop.client, "SELECT wipe()");
    assert_eq!(demand["preview"]["rows"], 2);
    assert_eq!(shop.orders(), 2);
    let answer = ask(
        &shop.client,
        "SELECT wipe()",
        &json!({"confirm": demand["confirm"]}),
    );
    assert_eq!(done(&answer)["committed"], true);
    assert_eq!(shop.orders(), 1);
}

#[test]
fn a_statement_without_a_preview_is_refused_or_confirmed_by_its_text() {
    let sql = "TRUNCATE draft";
    let shop = Shop::new("mode: require");
    for more in [json!({}), json!({"preview": "only"})] {
        let answer = ask(&shop.client, sql, &more);
        assert_eq!(answer.status, 422, "{answer:?}");
        let expected = json!({"code": "no_preview", "error": "The statement was not run: it empties, \
            alters or locks public.draft as a whole."});
        assert_eq!(answer.json(), expected);
    }
    let shop = Shop::new("mode: offer");
    let demand = demand(&shop.client, sql);
    let reason = "it empties, alters or locks public.draft as a whole";
    assert_eq!(
        (&demand["preview"], &demand["reason"]),
        (&Value::Null, &json!(reason))
    );
    let answer = ask(&shop.client, sql, &json!({"confirm": demand["confirm"]}));
    assert_eq!(done(&answer)["command"], "TRUNCATE TABLE");
    let answer = ask(&shop.client, sql, &json!({"confirm": demand["confirm"]}));
    assert_eq!(answer.status, 409, "it is used up");
}

#[test]
fn a_statement_that_fails_says_why_and_keeps_nothing_open() {
    let shop = Shop::new("mode: require");
    let answer = ask(
        &shop.client,
        "UPDATE orders SET id = 8 WHERE id = 7",
        &json!({}),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains(r#""sqlstate":"23505""#), "{answer:?}");
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                AND state LIKE 'idle in transaction%'";
    assert_eq!(shop.postgres.count(open), 0);
}
