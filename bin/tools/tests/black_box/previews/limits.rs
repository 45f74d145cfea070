//! Tests of the limits of previews.

use std::thread;

use super::*;

#[test]
fn a_write_beyond_the_limits_has_no_preview() {
    for (keys, reason) in [
        ("max_rows: 1", "it changes more than 1 rows"),
        ("max_bytes: 8", "the changed rows have more than 8 bytes"),
        ("scan_bytes: 10", "public.line is too large to be searched"),
        ("timeout: 50ms", "it takes longer than 50ms"),
    ] {
        let shop = Shop::new(&format!("mode: require, {keys}"));
        let sql = "DELETE FROM orders WHERE pg_sleep(0.1) IS NOT NULL";
        let answer = ask(&shop.client, sql, &json!({}));
        let expected = format!("The statement was not run: {reason}.");
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (422, &json!(expected))
        );
        assert_eq!(shop.orders(), 2);
    }
}

#[test]
fn the_rows_of_a_table_that_is_too_large_are_sought_by_their_keys() {
    let shop = Shop::new("mode: require, scan_bytes: 10");
    let sql = "UPDATE orders AS o SET status = 'new' WHERE id = 7 -- one";
    let asked = demand(&shop.client, sql);
    let change = &asked["preview"]["tables"][0]["changes"];
    let expected = json!([{"op": "update", "key": ["7"], "before": {"status": "open"},
        "after": {"status": "new"}}]);
    assert_eq!(*change, expected, "{asked}");
    let answer = ask(&shop.client, sql, &json!({"confirm": asked["confirm"]}));
    let columns: Value =
        serde_json::from_str(answer.body.lines().nth(1).expect("a line")).expect("JSON");
    assert_eq!(columns, json!({"columns": []}), "{answer:?}");
    let done = done(&answer);
    assert_eq!(
        (&done["rows"], &done["command"], &done["affected"]),
        (&json!(0), &json!("UPDATE 1"), &json!(1))
    );
    // All rows count. If a text returns rows itself, the server does not find the changed ones.
    let answer = ask(
        &shop.client,
        "UPDATE orders SET status = 'x' RETURNING id",
        &json!({}),
    );
    assert_eq!(answer.status, 422, "{answer:?}");
}

#[test]
fn returned_rows_beyond_the_limit_are_not_held() {
    let shop = Shop::new("mode: require, max_bytes: 1000");
    let sql = "UPDATE orders SET status = 'x' WHERE id = 7 RETURNING repeat('y', 2000)";
    let answer = ask(&shop.client, sql, &json!({}));
    let expected = "The statement was not run: the rows that it returns have more than 1000 bytes.";
    assert_eq!(
        (answer.status, &answer.json()["error"]),
        (422, &json!(expected))
    );
}

#[test]
fn callers_with_two_connections_do_not_wait_for_each_other() {
    let shop = Shop::with("mode: require", "    pool_max_conns: 2\n");
    let demands: Vec<_> = thread::scope(|scope| {
        let asking = [7, 8].map(|id| {
            let client = &shop.client;
            scope.spawn(move || demand(client, &format!("DELETE FROM orders WHERE id = {id}")))
        });
        asking
            .into_iter()
            .map(|one| one.join().expect("answered"))
            .collect()
    });
    assert!(
        demands.iter().all(|demand| demand["preview"].is_object()),
        "{demands:?}"
    );
}

#[test]
fn previews_need_writes_and_two_connections() {
    for (keys, problem) in [
        (
            "preview: {mode: offer}",
            "database 'shop': preview needs allow_writes",
        ),
        (
            "allow_writes: true\n    pool_max_conns: 1\n    preview: {mode: offer}",
            "database 'shop': preview needs pool_max_conns of 2",
        ),
    ] {
        let home = Home::new();
        home.configure(&format!(
            "databases:\n  - name: shop\n    user: app\n    {keys}\n"
        ));
        let output = home.run(&["-no-auth"], "");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(problem), "{text}");
    }
}
