//! The reference of all metrics, for the book.

use crate::{
    label::{Label, Values},
    table::{Metric, Program, TABLE},
};

const INTRODUCTION: &str = "\
# Metrics reference

The page `/metrics` of each program has these metrics. This chapter is generated from the table that
the programs record by; [Metrics and traces](metrics.md) describes how to use them.

A label that does not apply is absent. A value that is not listed below, such as a tool that is not
configured, is counted as `other`, so that clients cannot make series. Callers are never labels, only
their kind. Names that a reload removes keep their series until the program ends.

Counters with one or two labels are there from the start with the value 0, others from the first
event. The buckets of all histograms end at 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
0.25, 0.5, 1, 2.5, 5, 10, 30 and 60 seconds.

";

/// Returns the reference as a page of Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("| Metric | Type | Labels | Unit | Programs | Description |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- |\n");
    page.extend(TABLE.iter().map(metric_row));
    page.push_str("\n## Values of labels\n\n");
    page.push_str("| Metric | Label | Values |\n| --- | --- | --- |\n");
    for metric in &TABLE {
        let rows = metric.labels.iter().map(|label| label_row(metric, label));
        page.extend(rows);
    }
    page
}

fn metric_row(metric: &Metric) -> String {
    let labels = code(metric.labels.iter().map(|label| label.name));
    let programs = if metric.programs.len() == Program::ALL.len() {
        String::from("all")
    } else {
        code(metric.programs.iter().map(|program| program.name()))
    };
    let unit = metric.unit();
    let unit = unit.as_ref().map_or("", |unit| unit.as_str());
    let (name, kind, help) = (metric.name, metric.kind.word(), metric.help);
    format!("| `{name}` | {kind} | {labels} | {unit} | {programs} | {help} |\n")
}

fn label_row(metric: &Metric, label: &Label) -> String {
    let values = match label.values {
        Values::Fixed(values) => code(values.iter().copied()),
        Values::Known(set) => String::from(set.words()),
        Values::Build => format!("the {} that runs", label.name),
    };
    format!("| `{}` | `{}` | {values} |\n", metric.name, label.name)
}

/// Returns words as code, separated by commas.
fn code(words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<_> = words.map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use ziggurat_runtime::committed;

    use super::*;

    #[test]
    fn the_chapter_of_the_book_is_the_reference() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/src/metrics-reference.md"
        );
        committed::assert_current(path, &reference());
    }
}
