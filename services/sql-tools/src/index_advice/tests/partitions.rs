use super::*;

/// A partition of the table `shop.days` with 6,000 of its 600,000 rows.
fn partition(number: u32, indexes: &Value) -> Table {
    let columns = json!([
        {"name": "org", "type_name": "integer", "distinct": 50.0, "width": 4},
        {"name": "id", "type_name": "integer", "distinct": 6000.0, "width": 4},
    ]);
    let root = json!({"schema": "shop", "name": "days", "rows": 600_000.0});
    let name = format!("day_{number}");
    Table::new("parts".into(), name, 6_000.0, &columns, indexes, &root)
}

/// A scan of a partition under the alias that PostgreSQL gives it.
fn scan(number: u32) -> Value {
    json!({"Node Type": "Seq Scan", "Schema": "parts", "Relation Name": format!("day_{number}"),
        "Alias": format!("d_{number}"), "Total Cost": 100.0, "Filter": format!("(d_{number}.org = 2)")})
}

/// A statement on both partitions, sorted by a column of the table.
fn plan() -> Value {
    let append = &append(&[&scan(1), &scan(2)])[0]["Plan"];
    json!([{"Plan": {"Node Type": "Sort", "Sort Key": ["d.id"], "Plans": [append]}}])
}

#[test]
fn partitions_of_a_table_give_each_candidate_once_and_on_the_table() {
    let none = json!([]);
    let tables = [partition(1, &none), partition(2, &none)];
    let advice = candidates(&plan(), &tables);
    assert_eq!(
        texts(&advice),
        ["days (org, id)", "days (org)", "days (id)"]
    );
    for candidate in &advice.chosen {
        assert_eq!(candidate.helps, ["Seq Scan on partitions of days d"]);
        assert!((candidate.cost - 200.0).abs() < 1e-9);
        assert!(candidate.bytes > 600_000.0 * 16.0, "all partitions get it");
    }
    assert_eq!(
        advice.chosen[1].hypothetical(),
        [
            "CREATE INDEX ON parts.day_1 (org)",
            "CREATE INDEX ON parts.day_2 (org)"
        ]
    );
    assert_eq!(texts(&advice.guessed()), ["days (org, id)"]);
}

#[test]
fn partitions_count_together_and_one_alone_is_small() {
    let tables = [partition(1, &json!([])), partition(2, &json!([]))];
    let one = json!([{"Plan": scan(1)}]);
    assert_eq!(candidates(&one, &tables), Advice::default());
}

#[test]
fn an_index_exists_if_all_partitions_that_are_scanned_have_it() {
    let index = |columns: &[&str]| json!([{"name": "shop.by_org", "columns": columns}]);
    let both = [
        partition(1, &index(&["org", "id"])),
        partition(2, &index(&["org"])),
    ];
    let advice = candidates(&plan(), &both);
    assert_eq!(texts(&advice), ["days (org, id)", "days (id)"]);
    let reasons: Vec<_> = advice.fallen.iter().map(|it| &it.reason).collect();
    assert_eq!(reasons, [&Reason::Exists("shop.by_org".to_owned())]);
    let one = [partition(1, &index(&["org"])), partition(2, &json!([]))];
    assert!(texts(&candidates(&plan(), &one)).contains(&"days (org)".to_owned()));
}
