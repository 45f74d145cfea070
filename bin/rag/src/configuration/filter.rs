//! The filter of a table.

use serde::Deserialize as _;
use serde_yaml::Value as Yaml;
use ziggurat_rag_service::{
    filter::{Filter, RawFilter},
    retrieval::TableFilter,
};
use ziggurat_runtime::config::Value;

/// Known keys of a filter and of its conditions.
const KEYS: [&str; 2] = ["conditions", "logic"];
const CONDITION_KEYS: [&str; 3] = ["column", "operator", "value"];

/// Reads SQL, or conditions.
pub(super) fn read(value: &Value<'_>) -> Option<TableFilter> {
    match value.any()? {
        Yaml::String(sql) if sql.is_empty() => None,
        Yaml::String(sql) => {
            let checked = RawFilter::new(sql).map_err(|error| value.problem(error));
            checked.ok().map(TableFilter::Raw)
        }
        filter @ Yaml::Mapping(_) => structured(filter, value),
        _ => value.unreadable("filter must be a string or structured filter object"),
    }
}

fn structured(filter: Yaml, value: &Value<'_>) -> Option<TableFilter> {
    report_unknown_keys(&filter, value);
    let filter = match Filter::deserialize(filter) {
        Ok(filter) => filter,
        Err(error) => return value.unreadable(&format!("invalid filter: {error}")),
    };
    let checked = filter.check().map_err(|error| value.problem(error));
    checked.ok().flatten().map(TableFilter::Structured)
}

/// Reports unknown keys.
fn report_unknown_keys(filter: &Yaml, value: &Value<'_>) {
    report_unknown(filter, &KEYS, value, "");
    let conditions = filter.get("conditions").and_then(Yaml::as_sequence);
    for (index, condition) in conditions.into_iter().flatten().enumerate() {
        let below = format!(".conditions[{index}]");
        report_unknown(condition, &CONDITION_KEYS, value, &below);
    }
}

fn report_unknown(filter: &Yaml, known: &[&str], value: &Value<'_>, below: &str) {
    let keys = filter.as_mapping().into_iter().flat_map(|map| map.keys());
    for key in keys.filter_map(Yaml::as_str) {
        if !known.contains(&key) {
            value.unknown_key(&format!("{below}.{key}"));
        }
    }
}
