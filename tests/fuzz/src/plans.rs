//! Plans of queries that use masked columns.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::{Map, Value};
use ziggurat_masking::plan::{self, Guard, MaskedColumn, Source};

/// Tables with masked columns, their columns, and the places of their sources.
const MASKED: [(&str, &str, usize); 5] = [
    ("person", "secret_a", 0),
    ("person", "secret_b", 1),
    ("part", "secret_a", 2),
    ("part_x", "secret_a", 2),
    ("part_y", "secret_a", 2),
];

/// Nodes with a list that may hold a masked column.
const PASSING: [&str; 24] = [
    "Seq Scan",
    "Sample Scan",
    "Index Scan",
    "Index Only Scan",
    "Bitmap Heap Scan",
    "Bitmap Index Scan",
    "Tid Scan",
    "Tid Range Scan",
    "CTE Scan",
    "Function Scan",
    "BitmapAnd",
    "BitmapOr",
    "Nested Loop",
    "Hash Join",
    "Merge Join",
    "Hash",
    "Sort",
    "Incremental Sort",
    "Materialize",
    "Memoize",
    "Limit",
    "Result",
    "Gather",
    "Gather Merge",
];

/// Other nodes that may occur.
const OTHERS: [&str; 9] = [
    "Subquery Scan",
    "Append",
    "Merge Append",
    "Aggregate",
    "Group",
    "Unique",
    "SetOp",
    "WindowAgg",
    "ProjectSet",
];

/// Members that hold names.
const NAMES: [&str; 19] = [
    "Alias",
    "CTE Name",
    "Cache Mode",
    "Command",
    "Function Name",
    "Index Name",
    "Join Type",
    "Node Type",
    "Params Evaluated",
    "Parent Relationship",
    "Partial Mode",
    "Relation Name",
    "Sampling Method",
    "Scan Direction",
    "Schema",
    "Strategy",
    "Subplan Name",
    "Workers Planned",
    "Planned Partitions",
];

/// Masked columns by alias.
type Secrets<'a> = HashMap<&'a str, Vec<&'static str>>;

/// A line of a file of plans.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredPlan {
    /// The query, for messages.
    pub query: String,
    /// Major version of the server that made the plan.
    pub version: u32,
    /// The source of each masked column of the result.
    pub results: Vec<usize>,
    /// True if the query may run.
    pub passes: bool,
    /// The plan.
    pub plan: Value,
}

/// Returns the plans of a file.
///
/// # Panics
/// Panics if a line is no plan.
#[must_use]
pub fn stored(lines: &str) -> Vec<StoredPlan> {
    let lines = lines.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .expect("each line is a plan")
}

/// Checks a plan, and returns whether its query may run. Then no masked column stands where it could
/// do more than pass through.
///
/// # Panics
/// Panics if one does.
#[must_use]
pub fn passes(plan: &str, results: &[usize], version: u32) -> bool {
    let columns = MASKED.map(|(relation, column, source)| MaskedColumn {
        schema: "public".to_owned(),
        relation: relation.to_owned(),
        column: column.to_owned(),
        source,
    });
    let source = |table: &str, column: &str| Source {
        table: format!("public.{table}"),
        column: column.to_owned(),
    };
    let guard = Guard {
        columns: &columns,
        sources: &[
            source("person", "secret_a"),
            source("person", "secret_b"),
            source("part", "secret_a"),
        ],
        functions: &HashSet::from(["leak".to_owned()]),
        indexes: &HashMap::from([("person_a".to_owned(), 0)]),
        results,
        table: "public.person",
        version,
    };
    let is_passed = plan::check(plan, &guard).is_ok();
    if is_passed {
        let read: Value = serde_json::from_str(plan).expect("a plan that passes is JSON");
        let top = read[0]["Plan"].as_object().expect("a node");
        let mut secrets = Secrets::new();
        find_aliases(top, &mut secrets);
        assert_safe(top, &secrets, plan);
        if let Some(Value::Array(entries)) = top.get("Output") {
            let shown = entries.iter().filter(|it| is_column(it, &secrets)).count();
            assert_eq!(shown, results.len(), "{plan}");
        }
    }
    is_passed
}

/// Finds the aliases, and the masked columns of the tables that each stands for.
fn find_aliases<'a>(node: &'a Map<String, Value>, secrets: &mut Secrets<'a>) {
    if let Some(Value::String(alias)) = node.get("Alias") {
        let is = |key: &str, name: &str| node.get(key).is_some_and(|it| it == name);
        let found = secrets.entry(alias).or_default();
        for (table, column, _) in MASKED {
            if is("Schema", "public") && is("Relation Name", table) {
                found.push(column);
            }
        }
    }
    for plan in node
        .get("Plans")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if let Value::Object(plan) = plan {
            find_aliases(plan, secrets);
        }
    }
}

fn assert_safe(node: &Map<String, Value>, secrets: &Secrets<'_>, plan: &str) {
    let kind = node["Node Type"].as_str().expect("a text");
    let is_passing = PASSING.contains(&kind);
    assert!(is_passing || OTHERS.contains(&kind), "{kind}: {plan}");
    for (key, value) in node {
        match (&**key, value) {
            ("Plans", Value::Array(plans)) => {
                for node in plans {
                    assert_safe(node.as_object().expect("a node"), secrets, plan);
                }
            }
            ("Output", Value::Array(entries)) => {
                for entry in entries {
                    let is_column = is_column(entry, secrets);
                    let may_be = is_passing || kind == "Subquery Scan";
                    assert!(!is_column || may_be, "{kind} {entry}: {plan}");
                    assert!(
                        is_column || !names_secret(entry, secrets),
                        "{entry}: {plan}"
                    );
                }
            }
            (key, _) if NAMES.contains(&key) => {}
            (key, value) => assert!(!names_secret(value, secrets), "{key}: {plan}"),
        }
    }
}

/// Returns whether an entry of a list is a masked column and nothing else.
fn is_column(entry: &Value, secrets: &Secrets<'_>) -> bool {
    let text = entry.as_str().unwrap_or_default().replace('"', "");
    let (alias, name) = text.split_once('.').unwrap_or(("", &text));
    is_secret(alias, name, secrets)
}

/// Returns whether a name is a masked column. Of a single table, PostgreSQL leaves the alias out.
fn is_secret(alias: &str, name: &str, secrets: &Secrets<'_>) -> bool {
    if !MASKED.iter().any(|(_, column, _)| *column == name) {
        return false;
    }
    if let Some(columns) = secrets.get(alias) {
        return columns.contains(&name);
    }
    // The scans of partitions have the alias of their parent and a number.
    let is_child = |child: &str| {
        let number = child
            .strip_prefix(alias)
            .and_then(|it| it.strip_prefix('_'));
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_meant = |child: &str| alias.is_empty() || is_child(child);
    let mut meant = secrets
        .iter()
        .filter(|(child, _)| is_meant(child))
        .peekable();
    meant.peek().is_none() || meant.any(|(_, columns)| columns.contains(&name))
}

/// Returns whether a value names a masked column outside of the literals in it.
fn names_secret(value: &Value, secrets: &Secrets<'_>) -> bool {
    match value {
        Value::String(text) => text_names_secret(text, secrets),
        Value::Array(values) => values.iter().any(|it| names_secret(it, secrets)),
        Value::Object(members) => members.values().any(|it| names_secret(it, secrets)),
        _ => false,
    }
}

fn text_names_secret(text: &str, secrets: &Secrets<'_>) -> bool {
    // PostgreSQL prints no comments and none of these quotes.
    let is_odd = ["--", "/*", "$", "\\", "\""]
        .iter()
        .any(|it| text.contains(it));
    if is_odd {
        return false;
    }
    // Every second part is a literal.
    let mut outside = text.split('\'').step_by(2);
    outside.any(|part| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || !c.is_ascii();
        let mut words = part.split(|c: char| !is_part(c));
        words.any(|word| {
            let (alias, name) = word.rsplit_once('.').unwrap_or(("", word));
            is_secret(alias, name, secrets)
        })
    })
}

/// Changes plans as bytes say: nodes and texts take the places of others, and members get other names.
/// The bytes choose one of the plans, then three of them each change.
#[must_use]
pub fn changed(plans: &[StoredPlan], bytes: &[u8]) -> Option<StoredPlan> {
    let [first, second, rest @ ..] = bytes else {
        return None;
    };
    let chosen = (usize::from(*first) << 8 | usize::from(*second)) % plans.len().max(1);
    let mut plan = plans.get(chosen)?.clone();
    for change in rest.chunks_exact(3).take(8) {
        let [from, to, kind] = [change[0], change[1], change[2]].map(usize::from);
        let other = &plans[(chosen + kind / 8) % plans.len()].plan;
        let source = if kind % 2 == 0 { &plan.plan } else { other };
        let pick = |value: &Value, place: usize, wanted: fn(&Value) -> bool| {
            let mut found = Vec::new();
            collect(value, wanted, String::new(), &mut found);
            let count = found.len().max(1);
            found.into_iter().nth(place % count)
        };
        let wanted: fn(&Value) -> bool = if kind % 8 < 5 {
            Value::is_string
        } else {
            Value::is_object
        };
        let value = pick(source, from, wanted).and_then(|it| source.pointer(&it).cloned());
        let place = pick(&plan.plan, to, wanted);
        if let (Some(value), Some(place)) = (value, place)
            && let Some(target) = plan.plan.pointer_mut(&place)
        {
            *target = value;
        }
    }
    Some(plan)
}

/// Collects the places of values.
fn collect(value: &Value, wanted: fn(&Value) -> bool, place: String, found: &mut Vec<String>) {
    let below = |key: &str| format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                collect(value, wanted, below(&at.to_string()), found);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                collect(value, wanted, below(key), found);
            }
        }
        _ => {}
    }
    if wanted(value) {
        found.push(place);
    }
}
