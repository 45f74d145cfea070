//! Tests of the alert rules and the dashboard against the table.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::table::{Kind, TABLE};

const RULES: &str = include_str!("../../../../docs/operations/ziggurat.rules.yaml");
const RULES_TEST: &str = include_str!("../../../../docs/operations/ziggurat.rules.test.yaml");
const DASHBOARD: &str = include_str!("../../../../docs/operations/ziggurat-dashboard.json");

/// Returns the names in a text that look like ours.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_ours = |word: &&str| word.starts_with("ziggurat_") || word.starts_with("process_");
    words.filter(is_ours).collect()
}

/// Returns the names of all samples.
fn samples() -> BTreeSet<String> {
    let names = TABLE.iter().flat_map(|metric| {
        let ends: &[&str] = match metric.kind {
            Kind::Histogram => &["_bucket", "_sum", "_count"],
            Kind::Counter | Kind::Gauge | Kind::Info => &[""],
        };
        ends.iter().map(|end| format!("{}{end}", metric.name))
    });
    names.collect()
}

/// Returns all texts under a key of a document.
fn texts<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get(key).and_then(Value::as_str));
            members.values().for_each(|value| texts(value, key, found));
        }
        Value::Array(items) => items.iter().for_each(|value| texts(value, key, found)),
        _ => {}
    }
}

#[test]
fn rules_and_dashboard_name_only_metrics_of_the_table() {
    let samples = samples();
    for text in [RULES, RULES_TEST, DASHBOARD] {
        let names = names(text);
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            assert!(samples.contains(name), "{name}");
        }
    }
}

#[test]
fn each_alert_has_a_test_that_it_fires_and_that_it_does_not() {
    let rules: Value = serde_yaml::from_str(RULES).expect("YAML");
    let tests: Value = serde_yaml::from_str(RULES_TEST).expect("YAML");
    let mut alerts = Vec::new();
    texts(&rules, "alert", &mut alerts);
    assert!(!alerts.is_empty());
    let cases = tests["tests"].as_array().expect("tests").iter();
    let cases: Vec<_> = cases
        .flat_map(|case| case["alert_rule_test"].as_array().expect("alerts"))
        .collect();
    for alert in alerts {
        let cases = cases.iter().filter(|case| case["alertname"] == alert);
        let fires = cases.map(|case| case["exp_alerts"] != json!([]));
        let fires: BTreeSet<_> = fires.collect();
        assert_eq!(fires.len(), 2, "{alert}");
    }
}

#[test]
fn each_panel_of_the_dashboard_asks_the_chosen_data_source() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let rows = panels.iter().filter(|panel| panel["type"] == "row");
    let rows: Vec<_> = rows.filter_map(|row| row["title"].as_str()).collect();
    let expected = [
        "Calls",
        "Database",
        "Pool",
        "HTTP",
        "Limits",
        "Providers",
        "Process",
    ];
    assert_eq!(rows, expected);
    let mut ids = BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64()), "{}", panel["title"]);
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}");
            let targets = panel["targets"].as_array().expect("targets");
            let has_names = |target: &Value| {
                target["expr"]
                    .as_str()
                    .is_some_and(|expr| !names(expr).is_empty())
            };
            assert!(!targets.is_empty() && targets.iter().all(has_names));
        }
    }
}
