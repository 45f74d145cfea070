//! Details of a table that is shown in full.

use std::fmt::Write as _;

use ziggurat_postgres::{
    metadata::{Column, Table},
    tsv,
};

use crate::{
    search_schema::{lines::STRING, name},
    table_details::{Policy, RowSecurity, TableDetails},
};

/// Limit on the items of a line: indexes, foreign keys of other tables.
const MAX_ITEMS: usize = 20;

/// Writes the lines below the columns of a table.
pub(super) fn write_sections(out: &mut String, table: Table<'_>, details: Option<&TableDetails>) {
    if let Some(details) = details {
        write_constraints(out, details);
        write_policies(out, details);
        write_line(out, "triggers", ", ", details.triggers.iter().cloned());
        let definition = details.view_definition.iter().map(|text| words(text));
        write_line(out, "view", "", definition);
        let partitions = details.partitions.iter();
        let partitions = partitions.map(|it| format!("{} by {}", it.count, it.key));
        write_line(out, "partitions", "", partitions);
        let parent = details.partition_of.iter();
        let parent = parent.map(|(parent, bounds)| format!("{parent} {bounds}"));
        write_line(out, "partition of", "", parent);
    }
    let references = table
        .referenced_by()
        .filter(|key| key.table().is_readable());
    let references = references.map(|key| {
        let columns = name::list(key.columns());
        let is_one = key.columns().nth(1).is_none();
        let columns = if is_one {
            format!(".{columns}")
        } else {
            format!(" ({columns})")
        };
        format!("{}{columns}", name::of(key.table()))
    });
    write_line(out, "referenced by", ", ", references);
    if let Some(details) = details {
        if !details.privileges.contains(&"SELECT") {
            out.push_str("  not readable: this role may not select from it\n");
        }
        let columns = details
            .unreadable_columns
            .iter()
            .map(|it| name::path([&**it]));
        write_line(out, "not readable", ", ", columns);
        if details.is_cut {
            out.push_str("  (more details are left out)\n");
        }
    }
}

fn write_constraints(out: &mut String, details: &TableDetails) {
    let several = details.uniques.iter().filter(|columns| columns.len() > 1);
    let several = several.map(|columns| {
        let columns = name::list(columns.iter().map(String::as_str));
        format!("({columns})")
    });
    write_line(out, "unique", "; ", several);
    write_line(out, "indexes", "; ", details.indexes.iter().cloned());
    // The checks of a single column are in the line of this column.
    let checks = details.checks.iter().filter(|check| check.column.is_none());
    write_line(
        out,
        "checks",
        "; ",
        checks.map(|check| check.definition.clone()),
    );
}

fn write_policies(out: &mut String, details: &TableDetails) {
    let state = match details.row_security {
        RowSecurity::Off => return,
        RowSecurity::On => "RLS on",
        RowSecurity::Forced => "RLS forced",
    };
    let policies = details.policies.iter().map(policy);
    write_line(
        out,
        "policies",
        "; ",
        [state.to_owned()].into_iter().chain(policies),
    );
}

fn policy(policy: &Policy) -> String {
    let roles = policy.roles.join(", ");
    let mut text = format!("{} {} to {roles}", policy.name, policy.command);
    if !policy.is_permissive {
        text.push_str(" restrictive");
    }
    for (word, condition) in [("using", &policy.using), ("with check", &policy.with_check)] {
        if let Some(condition) = condition {
            write!(text, " {word} ({condition})").expect(STRING);
        }
    }
    text
}

/// Writes a line of items, if there are any.
fn write_line(
    out: &mut String,
    label: &str,
    separator: &str,
    items: impl IntoIterator<Item = String>,
) {
    let items: Vec<_> = items.into_iter().collect();
    if items.is_empty() {
        return;
    }
    out.extend(["  ", label, ": "]);
    for (index, item) in items.iter().take(MAX_ITEMS).enumerate() {
        out.push_str(if index == 0 { "" } else { separator });
        tsv::write_text(out, item);
    }
    if items.len() > MAX_ITEMS {
        write!(out, "{separator}{} more", items.len() - MAX_ITEMS).expect(STRING);
    }
    out.push('\n');
}

/// Returns whether each value of a column is in one row at most.
pub(super) fn is_unique(column: Column<'_>, details: Option<&TableDetails>) -> bool {
    details.is_some_and(|details| {
        let mut uniques = details.uniques.iter();
        uniques.any(|columns| matches!(&**columns, [only] if only == column.name()))
    })
}

/// Writes the check constraints of a column.
pub(super) fn push_checks(out: &mut String, column: Column<'_>, details: &TableDetails) {
    let checks = details.checks.iter();
    for check in checks.filter(|check| check.column.as_deref() == Some(column.name())) {
        out.push_str(" [check ");
        tsv::write_text(out, &check.definition);
        out.push(']');
    }
}

/// Writes the values of a column that has few.
pub(super) fn push_values(out: &mut String, column: Column<'_>, details: &TableDetails) {
    let mut known = details.values.iter();
    let Some(known) = known.find(|known| known.column == column.name()) else {
        return;
    };
    for (index, (value, share)) in known.values.iter().enumerate() {
        out.push_str(if index == 0 { " [values: " } else { ", " });
        if value.is_empty() || value.contains([',', '\'', '[', ']']) || value.trim() != value {
            tsv::write_text(out, &format!("'{}'", value.replace('\'', "''")));
        } else {
            tsv::write_text(out, value);
        }
        let percent = share * 100.0;
        if percent < 1.0 {
            out.push_str(" <1%");
        } else {
            write!(out, " {percent:.0}%").expect(STRING);
        }
    }
    if !known.values.is_empty() {
        out.push(']');
    }
}

/// Returns a text on one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
