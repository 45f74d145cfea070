use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan::{self, Guard, MaskedColumn, Refusal, Source};

fn masked(relation: &str, column: &str, source: usize) -> MaskedColumn {
    MaskedColumn {
        schema: "public".into(),
        relation: relation.into(),
        column: column.into(),
        source,
    }
}

/// Checks a plan of a query on `person (id, name, ssn, email)` and its partition.
fn check(plan: &Value, results: &[usize], version: u32) -> Result<(), Refusal> {
    let columns = [
        masked("person", "ssn", 0),
        masked("person_1", "ssn", 0),
        masked("person", "e\"mail", 1),
    ];
    let source = |column: &str| Source {
        table: "public.person".into(),
        column: column.into(),
    };
    let guard = Guard {
        columns: &columns,
        sources: &[source("ssn"), source("e\"mail")],
        functions: &HashSet::from(["leak".to_owned()]),
        indexes: &HashMap::from([("person_ssn".to_owned(), 0)]),
        results,
        table: "public.person",
        version,
    };
    plan::check(&json!([{ "Plan": plan }]).to_string(), &guard)
}

fn scan(output: &[&str]) -> Value {
    json!({"Node Type": "Seq Scan", "Parallel Aware": false, "Relation Name": "person",
           "Schema": "public", "Alias": "p", "Output": output})
}

fn with(mut node: Value, key: &str, value: Value) -> Value {
    node[key] = value;
    node
}

fn above(kind: &str, output: &[&str], plans: &Value) -> Value {
    json!({"Node Type": kind, "Output": output, "Plans": plans})
}

#[test]
fn masked_columns_may_pass_through() {
    let both = &["p.id", "p.ssn"];
    let sorted = above("Sort", both, &json!([scan(both)]));
    let sorted = with(sorted, "Sort Key", json!(["p.id"]));
    for (plan, results) in [
        (scan(&["p.id"]), &[][..]),
        (scan(both), &[0]),
        (scan(&["p.ssn", "p.ssn", "p.\"e\"\"mail\""]), &[0, 0, 1]),
        (with(scan(both), "Filter", json!("(p.id > 3)")), &[0]),
        (sorted.clone(), &[0]),
        (above("Limit", both, &json!([sorted])), &[0]),
        (above("Aggregate", &["count(*)"], &json!([scan(both)])), &[]),
        (scan(&["p.id", "upper(p.name)", "'p.ssn'::text"]), &[]),
    ] {
        let found = check(&plan, results, 18);
        // A quote in a name is not read, so it is refused.
        let is_odd = plan.to_string().contains("\\\"e");
        assert_eq!(found.is_ok(), !is_odd, "{plan} {found:?}");
    }
}

#[test]
fn masked_columns_may_do_nothing_else() {
    let ssn = &["p.ssn"];
    let member = |node: Value| with(node, "Parent Relationship", json!("Member"));
    let part = |node: Value| with(node, "Parent Relationship", json!("InitPlan"));
    let subquery = |node: Value| with(node, "Parent Relationship", json!("Subquery"));
    let other = json!({"Node Type": "Seq Scan", "Relation Name": "note", "Schema": "public",
                       "Alias": "n", "Output": ["n.body"]});
    let append = |children: Value| json!({"Node Type": "Append", "Plans": children});
    for (plan, results) in [
        (scan(&["p.id", "p.ssn"]), &[][..]),
        (scan(&["p.id"]), &[0]),
        (scan(&["upper(p.ssn)"]), &[0]),
        (scan(&["(p.ssn)::text"]), &[0]),
        (scan(&["ROW(p.id, p.ssn)"]), &[]),
        (scan(&["ssn || 'x'::text"]), &[]),
        (
            with(scan(&["p.id"]), "Filter", json!("(p.ssn = '1'::text)")),
            &[],
        ),
        (
            with(scan(&["p.id"]), "Novel", json!([{"Deep": ["p.ssn"]}])),
            &[],
        ),
        (
            with(scan(&["p.id"]), "Filter", json!("(p.\"e\"\"mail\" = '')")),
            &[],
        ),
        (
            above(
                "Sort",
                &["p.id"],
                &json!([with(scan(ssn), "Sort Key", json!(ssn))]),
            ),
            &[],
        ),
        (above("Aggregate", ssn, &json!([scan(ssn)])), &[0]),
        (above("WindowAgg", ssn, &json!([scan(ssn)])), &[0]),
        (above("Unique", ssn, &json!([scan(ssn)])), &[0]),
        (above("SetOp", ssn, &json!([scan(ssn)])), &[0]),
        (above("ProjectSet", ssn, &json!([scan(ssn)])), &[0]),
        (
            above("Subquery Scan", &["q.a"], &json!([subquery(scan(ssn))])),
            &[],
        ),
        (above("CTE Scan", &["c.a"], &json!([part(scan(ssn))])), &[]),
        (
            append(json!([member(other.clone()), member(scan(ssn))])),
            &[],
        ),
        (append(json!([member(scan(ssn)), member(other)])), &[0]),
        (
            above("Sort", &["person.ssn"], &json!([scan(&["p.id"])])),
            &[],
        ),
    ] {
        let expected = Refusal::Column("public.person.ssn".into());
        let quoted = Refusal::Column("public.person.e\"mail".into());
        let found = check(&plan, results, 18).expect_err("refused");
        assert!(found == expected || found == quoted, "{plan} {found}");
    }
}

#[test]
fn an_alias_without_a_scan_is_the_parent_of_its_children() {
    let child = |alias: &str, relation: &str, output: &str| {
        json!({"Node Type": "Seq Scan", "Relation Name": relation, "Schema": "public",
               "Alias": alias, "Output": [output], "Parent Relationship": "Member"})
    };
    let sorted = |output: &str, key: &str, children: Value| {
        let append = json!({"Node Type": "Append", "Plans": children});
        with(
            above("Sort", &[output], &json!([append])),
            "Sort Key",
            json!([key]),
        )
    };
    let children = json!([
        child("q_1", "person", "q_1.ssn"),
        child("q_2", "person_1", "q_2.ssn")
    ]);
    assert_eq!(
        check(&sorted("q.ssn", "q.id", children.clone()), &[0], 18),
        Ok(())
    );
    assert!(check(&sorted("q.ssn", "q.ssn", children.clone()), &[0], 18).is_err());
    assert!(check(&sorted("q.ssn", "q.id", children), &[], 18).is_err());
    let others = json!([
        child("q_1", "note", "q_1.ssn"),
        child("q_2", "note_1", "q_2.ssn")
    ]);
    assert_eq!(check(&sorted("q.ssn", "q.ssn", others), &[], 18), Ok(()));
}

#[test]
fn rows_in_the_order_of_a_masked_column_are_refused() {
    let by = |name: &str, output: &[&str]| {
        let scan = with(scan(output), "Node Type", json!("Index Scan"));
        with(scan, "Index Name", json!(name))
    };
    let expected = Refusal::Column("public.person.ssn".into());
    for (plan, results, is_refused) in [
        (by("person_ssn", &["p.id", "p.ssn"]), &[0][..], true),
        (by("person_ssn", &["p.id"]), &[], true),
        (by("person_pkey", &["p.id", "p.ssn"]), &[0], false),
        // Nothing that is shown has the order.
        (by("person_ssn", &["p.ssn"]), &[0], false),
        (
            above("Aggregate", &["count(*)"], &json!([by("person_ssn", &[])])),
            &[],
            false,
        ),
    ] {
        let found = check(&plan, results, 18);
        let wanted = if is_refused {
            Err(expected.clone())
        } else {
            Ok(())
        };
        assert_eq!(found, wanted, "{plan}");
    }
}

#[test]
fn a_table_without_rows_has_no_scan() {
    let columns = [masked("person", "ssn", 0), masked("staff", "ssn", 1)];
    let sources = ["person", "staff"].map(|table| Source {
        table: format!("public.{table}"),
        column: "ssn".into(),
    });
    let check = |output: &[&str], results: &[usize]| {
        let empty = json!({"Node Type": "Result", "Output": output, "One-Time Filter": "false"});
        let guard = Guard {
            columns: &columns,
            sources: &sources,
            functions: &HashSet::new(),
            indexes: &HashMap::new(),
            results,
            table: "public.person",
            version: 18,
        };
        plan::check(&json!([{ "Plan": empty }]).to_string(), &guard)
    };
    assert_eq!(check(&["p.id", "p.ssn"], &[1]), Ok(()));
    assert_eq!(check(&["p.id", "p.ssn"], &[0]), Ok(()));
    assert!(check(&["p.id", "p.ssn"], &[]).is_err());
    assert!(check(&["p.id", "upper(p.ssn)"], &[1]).is_err());
}

#[test]
fn other_refusals_name_what_is_refused() {
    let filter = |text: &str| with(scan(&["p.id"]), "Filter", json!(text));
    let row = "a whole row of public.person cannot be used, it has masked columns";
    let form = "this form of query may not use public.person, which has masked columns";
    let leak = "leak may not be used beside masked columns";
    for (plan, version, expected) in [
        (scan(&["to_json(p.*)"]), 18, row),
        (scan(&["p.*"]), 18, row),
        (scan(&["to_json(unknown.*)"]), 18, row),
        (scan(&["leak(p.id)"]), 18, leak),
        (scan(&["public.leak(p.id)"]), 18, leak),
        (filter("(hashed SubPlan 1)"), 16, form),
        (filter("(p.name = 'open"), 18, form),
        (with(scan(&["p.id"]), "Output", json!("p.id")), 18, form),
        (with(scan(&["p.id"]), "Alias", json!(7)), 18, form),
        (with(scan(&["p.id"]), "Schema", Value::Null), 18, form),
        (
            above("ModifyTable", &[], &json!([scan(&["p.id"])])),
            18,
            form,
        ),
        (above("Values Scan", &[], &json!([])), 18, form),
        (
            above("Append", &["p.id"], &json!([scan(&["p.id"])])),
            18,
            form,
        ),
        (
            above("Recursive Union", &[], &json!([scan(&["p.id"])])),
            18,
            form,
        ),
        (json!({"Plans": []}), 18, form),
    ] {
        let found = check(&plan, &[], version).expect_err("refused");
        assert_eq!(found.to_string(), expected, "{plan}");
    }
    let hashed = filter("(ANY (p.id = (hashed SubPlan 1).col1))");
    assert_eq!(check(&hashed, &[], 17), Ok(()));
    assert_eq!(check(&scan(&["pg_catalog.leak(p.id)"]), &[], 18), Ok(()));
}

#[test]
fn a_plan_that_is_not_understood_is_refused() {
    let guard = Guard {
        columns: &[],
        sources: &[],
        functions: &HashSet::new(),
        indexes: &HashMap::new(),
        results: &[],
        table: "t",
        version: 18,
    };
    let result = "{\"Plan\": {\"Node Type\": \"Result\", \"Output\": [\"1\"]}";
    assert_eq!(plan::check(&format!("[{result}}}]"), &guard), Ok(()));
    for text in [
        String::new(),
        "[]".to_owned(),
        "{}".to_owned(),
        "[{\"Plan\": []}]".to_owned(),
        format!("[{result}}}, {result}}}]"),
        format!("[{result}, \"Novel\": 1}}]"),
        format!("[{result}}}"),
    ] {
        let found = plan::check(&text, &guard);
        assert_eq!(found, Err(Refusal::Form("t".into())), "{text}");
    }
}

proptest! {
    #[test]
    fn a_name_in_any_expression_is_found(before in "[a-z ('.,|]{0,12}", after in "[a-z )'.,|]{0,12}") {
        let text = format!("{before} p.ssn {after}");
        let is_alone = text.trim() == "p.ssn";
        let is_quoted = before.contains('\'') || before.trim_end().ends_with('.');
        prop_assume!(!is_alone && !is_quoted && !after.starts_with(['.', '(']));
        let node = with(scan(&["p.id"]), "Filter", json!(text));
        prop_assert!(check(&node, &[], 18).is_err(), "{}", text);
    }
}
