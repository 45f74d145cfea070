use serde_json::{Value, json};

use super::{
    Advice, Reason, Table, Trial,
    candidates::candidates,
    condition::{self, ComparisonKind},
    plan::scanned_tables,
};

mod partitions;

const PLANS: &str = include_str!("plans.json");

fn known() -> Value {
    serde_json::from_str(PLANS).expect("JSON")
}

fn tables() -> Vec<Table> {
    let known = known();
    let tables = known["tables"].as_array().expect("tables");
    tables
        .iter()
        .map(|table| {
            let text = |key: &str| table[key].as_str().expect("a name").to_owned();
            let rows = table["rows"].as_f64().expect("rows");
            let (columns, indexes) = (&table["columns"], &table["indexes"]);
            let root = &Value::Null;
            Table::new(text("schema"), text("name"), rows, columns, indexes, root)
        })
        .collect()
}

fn scan(filter: &str) -> Value {
    let mut scan = json!({"Node Type": "Seq Scan", "Schema": "shop", "Relation Name": "orders",
        "Alias": "o", "Total Cost": 100.0});
    scan["Filter"] = filter.into();
    json!([{"Plan": scan}])
}

fn append(plans: &[&Value]) -> Value {
    json!([{"Plan": {"Node Type": "Append", "Plans": plans}}])
}

fn sorted(filter: &str, keys: &[&str]) -> Value {
    let below = &scan(filter)[0]["Plan"];
    json!([{"Plan": {"Node Type": "Sort", "Sort Key": keys, "Plans": [below]}}])
}

fn advise(plan: &Value) -> Advice {
    candidates(plan, &tables())
}

fn chosen(plan: &Value) -> Vec<String> {
    texts(&advise(plan))
}

fn texts(advice: &Advice) -> Vec<String> {
    let texts = advice.chosen.iter().map(ToString::to_string);
    texts.map(|text| without_names(&text)).collect()
}

/// Leaves out all before the table.
fn without_names(text: &str) -> String {
    text.replace("CREATE INDEX ON shop.", "")
}

#[test]
fn finds_the_known_best_indexes_of_20_statements() {
    let (known, tables) = (known(), tables());
    let statements = known["statements"].as_array().expect("statements");
    assert_eq!(statements.len(), 20);
    for statement in statements {
        for version in ["14", "18"] {
            let advice = candidates(&statement["plans"][version], &tables);
            let found = texts(&advice);
            let text = &statement["statement"];
            let best = statement["best"].as_array().expect("indexes");
            let best: Vec<&str> = best.iter().filter_map(Value::as_str).collect();
            for best in &best {
                let is_found = found.iter().any(|found| found == best);
                assert!(is_found, "{version}: {text}: {best} is not in {found:?}");
            }
            assert!(found.len() <= 12, "{found:?}");
            let guessed = texts(&advice.guessed());
            assert!(!guessed.is_empty(), "{version}: {text}");
            for guess in &guessed {
                assert!(best.contains(&&**guess), "{version}: {text}: {guessed:?}");
            }
        }
    }
}

#[test]
fn lists_each_scanned_table_once() {
    let known = known();
    let statements = known["statements"].as_array().expect("statements");
    let plans: Vec<&Value> = statements
        .iter()
        .map(|statement| &statement["plans"]["18"][0]["Plan"])
        .collect();
    let names: Vec<String> = scanned_tables(&append(&plans))
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(
        names,
        ["customers", "events", "lines", "orders", "products"]
    );
}

#[test]
fn equality_stands_before_range_and_range_before_order() {
    let plan = sorted(
        "((o.placed_at > now()) AND (o.status = 'x'::text))",
        &["o.total"],
    );
    let texts = chosen(&plan);
    assert!(
        texts.contains(&"orders (status, placed_at, total)".to_owned()),
        "{texts:?}"
    );
    assert!(
        texts.contains(&"orders (status, total)".to_owned()),
        "{texts:?}"
    );
    assert!(
        texts
            .iter()
            .all(|text| !text.starts_with("orders (total, ")),
        "{texts:?}"
    );
}

#[test]
fn the_most_selective_equality_stands_first_and_no_candidate_has_four_columns() {
    let filter = "((o.status = 'x') AND (o.customer_id = 1) AND (o.org = 2) AND (o.total = 3))";
    let mut tables = tables();
    for table in &mut tables {
        table.rows = 1e9;
    }
    let advice = candidates(&scan(filter), &tables);
    assert!(
        advice
            .chosen
            .iter()
            .all(|candidate| candidate.keys.len() <= 3)
    );
    let longest = advice
        .chosen
        .iter()
        .find(|candidate| candidate.keys.len() == 3);
    let first = &longest.expect("three columns").keys[0].column;
    assert_eq!(first, "customer_id");
}

#[test]
fn a_candidate_that_begins_an_existing_index_falls() {
    let mut tables = tables();
    for table in &mut tables {
        let name = "shop.status_org".to_owned();
        let columns = ["status", "org", "total"].map(str::to_owned).to_vec();
        table.indexes.push(super::table::Index { name, columns });
    }
    let filter = "((o.org = 2) AND (o.status = 'x'::text))";
    let advice = candidates(&scan(filter), &tables);
    let fallen: Vec<String> = advice
        .fallen
        .iter()
        .map(|fallen| {
            format!(
                "{}: {}",
                without_names(&fallen.candidate.to_string()),
                fallen.reason
            )
        })
        .collect();
    let reason = "shop.status_org begins with the same columns";
    let expected = [
        format!("orders (org, status): {reason}"),
        format!("orders (status): {reason}"),
    ];
    assert_eq!(fallen, expected);
    assert_eq!(advice.chosen.len(), 1);
}

#[test]
fn a_small_table_has_no_candidates() {
    let mut tables = tables();
    for table in &mut tables {
        table.rows = 9_999.0;
    }
    assert_eq!(candidates(&scan("(o.org = 2)"), &tables), Advice::default());
    for table in &mut tables {
        table.rows = 10_000.0;
    }
    assert_eq!(candidates(&scan("(o.org = 2)"), &tables).chosen.len(), 1);
}

#[test]
fn columns_that_the_caller_leaves_out_are_in_no_candidate() {
    let mut tables = tables();
    for table in &mut tables {
        table.columns.retain(|column| column.name != "org");
    }
    let advice = candidates(&scan("((o.org = 2) AND (o.total > 1))"), &tables);
    let texts: Vec<String> = advice.chosen.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["CREATE INDEX ON shop.orders (total)"]);
    assert!(advice.fallen.is_empty());
}

#[test]
fn scans_that_share_a_candidate_are_counted_together() {
    let (first, mut second) = (scan("(o.org = 2)"), scan("(p.org = 3)"));
    second[0]["Plan"]["Alias"] = "p".into();
    let advice = advise(&append(&[&first[0]["Plan"], &second[0]["Plan"]]));
    assert_eq!(texts(&advice), ["orders (org)"]);
    let candidate = &advice.chosen[0];
    assert_eq!(
        candidate.helps,
        ["Seq Scan on orders o", "Seq Scan on orders p"]
    );
    assert!((candidate.cost - 200.0).abs() < 1e-9);
}

#[test]
fn a_column_that_finds_a_single_row_needs_no_other() {
    let filter = "((o.id = 1) AND (o.org = 2) AND (o.total > 1))";
    let advice = advise(&scan(filter));
    assert_eq!(
        texts(&advice.guessed()),
        Vec::<String>::new(),
        "the primary key serves"
    );
    let filter = "((o.placed_at = now()) AND (o.org = 2) AND (o.total > 1))";
    assert_eq!(
        texts(&advise(&scan(filter)).guessed()),
        ["orders (placed_at)"]
    );
}

#[test]
fn without_a_trial_the_best_guess_for_each_scan_is_left() {
    let (mut first, mut second) = (scan("(o.status = 'x')"), scan("(p.org = 3)"));
    first[0]["Plan"]["Plan Rows"] = 10.into();
    second[0]["Plan"]["Alias"] = "p".into();
    second[0]["Plan"]["Plan Rows"] = 1000.into();
    let join = json!([{"Plan": {"Node Type": "Hash Join", "Hash Cond": "(o.customer_id = p.customer_id)",
        "Plans": [first[0]["Plan"], second[0]["Plan"]]}}]);
    let advice = advise(&join).guessed();
    // The scan with the fewest rows comes first, the other is joined to it.
    assert_eq!(
        texts(&advice),
        ["orders (customer_id, org)", "orders (status)"]
    );
    let reasons: Vec<_> = advice.fallen.iter().map(|it| &it.reason).collect();
    assert!(
        reasons.iter().all(|it| **it == Reason::Alternative),
        "{reasons:?}"
    );
}

#[test]
fn conditions_that_an_index_cannot_answer_give_no_candidate() {
    for filter in [
        "((o.org = 1) OR (o.status = 'x'::text))",
        "(NOT (o.org = 1))",
        "(o.org <> 1)",
        "((o.org)::numeric = 1.5)",
        "(lower(o.status) = 'x'::text)",
        "((o.org + 1) = 2)",
        "(o.org = o.customer_id)",
        "(o.org > ANY ('{1,2}'::integer[]))",
        "(o.org = ALL ('{1,2}'::integer[]))",
        "(o.status ~~ '%x'::text)",
        "(o.org IS NOT NULL)",
        "(o.org IS DISTINCT FROM 1)",
        "((o.org = 1) IS TRUE)",
        "(CASE WHEN (o.org = 1) THEN true ELSE false END)",
        "(ROW(o.org, o.id) > ROW(1, 2))",
        "(o.org = 1",
        "o.org = 1)",
        "(o.status = 'x)",
        "",
    ] {
        assert_eq!(chosen(&scan(filter)), Vec::<String>::new(), "{filter}");
    }
}

#[test]
fn strings_and_quoted_names_are_read_whole() {
    let text = r#"(("o p"."a ""b""" = 'it''s (x AND '::text) AND (o.c = E'\'a\\') AND (1 < o.d))"#;
    let found = condition::comparisons(text);
    let names: Vec<(&str, &str, ComparisonKind)> = found
        .iter()
        .map(|found| {
            (
                found.column.alias.as_str(),
                found.column.name.as_str(),
                found.kind,
            )
        })
        .collect();
    let expected = [
        ("o p", r#"a "b""#, ComparisonKind::Equality),
        ("o", "c", ComparisonKind::Equality),
        ("o", "d", ComparisonKind::Range),
    ];
    assert_eq!(names, expected);
}

#[test]
fn sorts_keep_their_directions_only_where_an_index_cannot_be_read_backwards() {
    let texts = |keys: &[&str]| chosen(&sorted("", keys));
    assert_eq!(
        texts(&["o.org DESC", "o.total DESC"]),
        ["orders (org, total)"]
    );
    assert_eq!(
        texts(&["o.org DESC", "o.total"]),
        ["orders (org, total DESC)"]
    );
    let last = texts(&["o.org DESC NULLS LAST"]);
    assert_eq!(last, ["orders (org DESC NULLS LAST)"]);
    assert_eq!(texts(&["lower(o.status)", "o.org"]), Vec::<String>::new());
    assert_eq!(texts(&["o.org", "lower(o.status)"]), ["orders (org)"]);
}

#[test]
fn deep_parentheses_and_plans_end() {
    let deep = format!("{}o.org = 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(condition::comparisons(&deep).is_empty());
    let mut plan = json!({"Node Type": "Limit"});
    for _ in 0..600 {
        plan = json!({"Node Type": "Limit", "Plans": [plan]});
    }
    assert!(scanned_tables(&plan).is_empty());
}

#[test]
fn a_trial_keeps_what_saves_a_tenth_and_five_at_most() {
    // Each saves its share of the cost that is left.
    let saves = |trial: &mut Trial, shares: &[f64], cost: f64| {
        while let Some(candidate) = trial.next() {
            let kept = trial.kept().last().map_or(cost, |kept| kept.cost_after);
            trial.measured(Some(kept * (1.0 - shares[candidate])));
        }
    };
    let shares = [0.05, 0.5, 0.1, 0.2];
    let mut trial = Trial::new(&[1.0; 4], 100.0);
    saves(&mut trial, &shares, 100.0);
    let kept: Vec<usize> = trial.kept().iter().map(|kept| kept.candidate).collect();
    assert_eq!(kept, [1, 3, 2]);
    assert_eq!(trial.fallen().collect::<Vec<_>>(), [(0, Reason::TooLittle)]);

    let mut trial = Trial::new(&[1.0; 7], 100.0);
    saves(&mut trial, &[0.5; 7], 100.0);
    assert_eq!(trial.kept().len(), 5);
    let fallen: Vec<_> = trial.fallen().collect();
    assert_eq!(fallen, [(5, Reason::Enough), (6, Reason::Enough)]);
}

#[test]
fn a_trial_without_candidates_or_costs_ends() {
    assert_eq!(Trial::new(&[], 1.0).next(), None);
    let mut trial = Trial::new(&[1.0; 2], 1.0);
    trial.measured(None);
    trial.measured(None);
    assert_eq!(trial.next(), None);
    assert!(trial.kept().is_empty());
}

#[test]
fn a_trial_that_is_stopped_keeps_the_best_so_far() {
    let mut trial = Trial::new(&[1.0; 3], 100.0);
    trial.measured(Some(50.0));
    trial.stop();
    assert_eq!(trial.next(), None);
    assert_eq!(trial.kept()[0].candidate, 0);
    let fallen: Vec<_> = trial.fallen().collect();
    assert_eq!(fallen, [(1, Reason::NoTime), (2, Reason::NoTime)]);
}

#[test]
fn of_two_that_save_alike_the_smaller_is_kept() {
    for (sizes, costs, best) in [
        ([2.0, 1.0], [50.0, 50.2], 1),
        ([1.0, 2.0], [50.2, 50.0], 0),
        ([2.0, 1.0], [50.0, 60.0], 0),
        ([1.0, 2.0], [60.0, 50.0], 1),
    ] {
        let mut trial = Trial::new(&sizes, 100.0);
        trial.measured(Some(costs[0]));
        trial.measured(Some(costs[1]));
        assert_eq!(trial.kept()[0].candidate, best, "{sizes:?} {costs:?}");
    }
}
